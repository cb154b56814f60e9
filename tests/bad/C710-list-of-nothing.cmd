list modls
