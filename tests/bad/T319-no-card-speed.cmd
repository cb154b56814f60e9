collective all-reduce --cluster @:2 --device H100
