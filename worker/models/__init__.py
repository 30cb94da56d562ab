"""Models as files: finds and checks them. The app uses it, too, so it does not import MLX."""
