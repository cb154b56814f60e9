show cluster dgx-h100:0
