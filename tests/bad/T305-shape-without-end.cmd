show cluster tpu-v5e:4x
