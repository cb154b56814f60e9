check --model toy-4l --cluster dgx-a100:1 --global-batch-size 8388608 --seq-length 128 --pp 4 --tp 2 --sequence-parallel on --dp 1 --micro-batch-size 1
exit 1
