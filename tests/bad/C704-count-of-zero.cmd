estimate --model toy-4l --cluster dgx-a100:1 --global-batch-size 0 --seq-length 128
