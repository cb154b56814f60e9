show cluster tpu-v4:4x4
