show plan @
