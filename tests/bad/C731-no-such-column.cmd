validate @ --where teir=A
