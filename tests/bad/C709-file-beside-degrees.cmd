check ../../plan/examples/one-mesh.json --tp 4
