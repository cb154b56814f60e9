simulate @ --unfold ranks --slow-ranks 1=1.5,
