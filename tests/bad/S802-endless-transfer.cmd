simulate --flows @ --cluster dgx-h100:1
