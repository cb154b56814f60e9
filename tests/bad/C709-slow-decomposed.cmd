simulate @ --slow 0=2 --decompose
