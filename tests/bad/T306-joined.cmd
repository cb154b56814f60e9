show cluster dgx-a100:4,dgx-v100:8
