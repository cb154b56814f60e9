simulate @ --unfold stages
