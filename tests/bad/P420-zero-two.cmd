plan --model toy-4l --cluster dgx-a100:1 --global-batch-size 16 --seq-length 512 --runtime megatron --zero 2
