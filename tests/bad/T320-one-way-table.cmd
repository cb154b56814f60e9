import nvidia-smi-topo @
