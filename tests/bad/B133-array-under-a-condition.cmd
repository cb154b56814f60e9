check --config @ --cluster dgx-h100:1
