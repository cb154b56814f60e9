list models --json=yes
