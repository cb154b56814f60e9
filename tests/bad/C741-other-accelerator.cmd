calibrate @ --accelerator V100
