import nccl-xml @
