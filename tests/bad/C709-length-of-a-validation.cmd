plot validation @ --x --tp
