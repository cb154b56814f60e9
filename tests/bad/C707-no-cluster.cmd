collective all-reduce
