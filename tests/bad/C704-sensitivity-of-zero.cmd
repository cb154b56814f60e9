simulate none.json --sensitivity 0
