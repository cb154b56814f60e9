simulate @ --unfold messages
