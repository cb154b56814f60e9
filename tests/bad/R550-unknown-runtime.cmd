check --plan @
