simulate none.json --save-time 60s
