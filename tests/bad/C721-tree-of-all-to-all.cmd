collective all-to-all --cluster dgx-a100:1 --algorithm double-tree
