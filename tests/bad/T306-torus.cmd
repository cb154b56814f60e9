show cluster tpu-v5e:4x4:1,dgx-h100:1 --fabric ethernet-100
