export @ --to rank-map --script
