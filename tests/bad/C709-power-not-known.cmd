plan --model toy-4l --cluster tpu-v5e:2 --global-batch-size 64 --seq-length 128 --objective energy --spares 256
