schedule chimera --stages 4 --microbatches 8 --chunks 2 --csv
