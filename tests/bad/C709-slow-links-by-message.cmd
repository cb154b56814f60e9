simulate @ --unfold messages --slow-links 1=2
