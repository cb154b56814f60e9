show cluster dgx-h100:4x4
