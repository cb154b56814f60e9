estimate --model toy-t5-4l --cluster dgx-h100:1 --global-batch-size 8 --seq-length 1024 --task decode --dp 8
