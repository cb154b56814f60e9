simulate @ --unfold ranks --slow-ranks 90=2
