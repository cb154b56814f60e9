check --plan @
exit 1
