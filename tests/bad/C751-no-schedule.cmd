schedule --stages 4 --microbatches 8
