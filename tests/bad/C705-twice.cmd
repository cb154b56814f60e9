show model toy-4l --seq-length 128 --seq-length 256
