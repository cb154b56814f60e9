show cluster @ --device H100
