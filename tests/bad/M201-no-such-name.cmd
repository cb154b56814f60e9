show model llama-3.1-8bb
