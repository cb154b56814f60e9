plan --model toy-4l --cluster dgx-h100 --global-batch-size 8 --seq-length 512 --tp 3
