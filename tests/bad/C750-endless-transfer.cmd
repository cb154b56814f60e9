schedule 1f1b --stages 4 --microbatches 8 --send-s 1e300
