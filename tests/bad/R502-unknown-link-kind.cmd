estimate --model toy-4l --cluster @ --global-batch-size 8 --seq-length 1024
