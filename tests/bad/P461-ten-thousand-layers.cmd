plan --model @ --cluster dgx-h100:2 --global-batch-size 8 --seq-length 512
