check --config @ --model llama-3.1-8b --cluster dgx-h100:1 --set seq_length=4096
