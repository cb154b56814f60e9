check --config @
