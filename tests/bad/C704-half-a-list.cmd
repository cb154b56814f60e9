collective all-reduce --cluster dgx-a100:1 --bytes 1MiB,
