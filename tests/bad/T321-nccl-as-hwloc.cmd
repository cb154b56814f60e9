import hwloc-xml @
