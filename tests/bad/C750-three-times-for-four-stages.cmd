schedule 1f1b --stages 4 --microbatches 8 --forward-s 1,2,3
