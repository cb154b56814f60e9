estimate --model toy-4l --cluster dgx-a100:1 --task decode --prompt-length 0 --output-length 8 --concurrency 8
