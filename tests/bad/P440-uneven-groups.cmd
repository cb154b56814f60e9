schedule interleaved --stages 4 --microbatches 6 --chunks 2
