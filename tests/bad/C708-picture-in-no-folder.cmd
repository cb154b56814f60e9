plot validation @ -o /no/such/folder/x.svg
