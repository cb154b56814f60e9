show model toy-4l --seq-length
