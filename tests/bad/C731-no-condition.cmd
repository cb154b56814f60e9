validate @ --where A
