show cluster dgx-a100:2,,p4d:2 --fabric ib-hdr
