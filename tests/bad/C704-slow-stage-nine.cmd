simulate @ --slow 9=2
