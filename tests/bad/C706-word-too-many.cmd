list models clusters
