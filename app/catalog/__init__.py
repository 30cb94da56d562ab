"""Models on this machine and on the hub: finds and downloads them, and estimates their memory. No Qt, no MLX."""
