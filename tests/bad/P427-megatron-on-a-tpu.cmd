plan --model toy-4l --cluster tpu-v5p:2x2x2 --global-batch-size 16 --seq-length 512 --runtime megatron --pp 1
exit 0
