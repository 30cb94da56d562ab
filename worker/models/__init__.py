"""Models as files: finding and checking them. No MLX here, so the app may use it too."""
