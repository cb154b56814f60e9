show cluster dgx-h100:many
