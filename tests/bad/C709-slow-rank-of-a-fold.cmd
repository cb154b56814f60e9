simulate @ --slow-ranks 1=2
