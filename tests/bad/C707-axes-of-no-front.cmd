plan --model toy-4l --cluster dgx-a100:2 --global-batch-size 64 --seq-length 128 --pareto-axes time,cost
