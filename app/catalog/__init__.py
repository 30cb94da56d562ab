"""Models on this machine and on the hub: found, fetched, and estimated. Independent of Qt and MLX."""
