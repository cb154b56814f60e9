show cluster ../bad/
