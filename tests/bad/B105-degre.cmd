show cluster @
