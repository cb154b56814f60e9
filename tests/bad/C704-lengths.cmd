estimate --model toy-4l --cluster dgx-h100:1 --global-batch-size 8 --seq-length 128 --lengths 64:0.5;128:0.5
