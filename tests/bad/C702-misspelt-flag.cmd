estimate --modle llama-3.1-8b
