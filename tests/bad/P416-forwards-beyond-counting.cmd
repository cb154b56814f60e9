check --model toy-4l --cluster dgx-a100:1 --seq-length 128 --task zo --global-batch-size 2147483648 --micro-batch-size 1 --tp 8 --dp 1 --pp 1
exit 1
