simulate --flows @ --cluster dgx-a100:1
