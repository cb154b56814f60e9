estimate ../../plan/examples/one-mesh.json --seq-length 4096
