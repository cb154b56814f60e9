plan --model toy-4l --cluster dgx-h100:1 --global-batch-size 8 --seq-length 4611686018427387904
