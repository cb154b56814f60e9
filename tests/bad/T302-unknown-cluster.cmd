show cluster dgx-h1000
