export @ --to megatron
