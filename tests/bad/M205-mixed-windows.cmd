show model @
