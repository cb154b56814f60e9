show cluster dgx-a100:2,T306-one-level.json --fabric ib-hdr
