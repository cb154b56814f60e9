estimate --model toy-4l --cluster dgx-h100:1 --global-batch-size 8 --seq-length 1024 --offload optimizer:1.5
