simulate @ --unfold ranks --decompose
