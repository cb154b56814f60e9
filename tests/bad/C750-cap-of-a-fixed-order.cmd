schedule 1f1b --stages 4 --microbatches 8 --in-flight 2
