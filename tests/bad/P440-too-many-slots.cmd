schedule gpipe --stages 16777216 --microbatches 16777216
