simulate @
