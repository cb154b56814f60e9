schedule --file @
exit 1
