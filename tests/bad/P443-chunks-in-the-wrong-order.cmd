schedule --file @
