show cluster dgx-h100 --device A100
