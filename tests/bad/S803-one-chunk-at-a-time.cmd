schedule hanayo --stages 4 --microbatches 8 --chunks 4 --dispatch ready --in-flight 1
exit 1
