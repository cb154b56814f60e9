plan --model toy-4l --cluster a100-v100-mixed --global-batch-size 64 --seq-length 128 --pareto --pareto-axes time,memory
