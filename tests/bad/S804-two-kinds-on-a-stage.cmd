simulate @
exit 0
