pln --model llama-3.1-8b
