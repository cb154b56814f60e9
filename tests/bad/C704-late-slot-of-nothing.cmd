schedule 1f1b --stages 4 --microbatches 8 --late F9@0=1
