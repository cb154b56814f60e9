plan --model llama-3.1-8b --cluster dgx-h100:1 --global-batch-size 7 --seq-length 4096 --dp 8
