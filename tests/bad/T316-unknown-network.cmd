show cluster dgx-a100:2,dgx-h100:2 --fabric ib-hdrr
