ARGS=('--bf16
