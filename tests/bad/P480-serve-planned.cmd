plan --model toy-4l --cluster dgx-a100:1 --task serve --global-batch-size 8 --seq-length 512
