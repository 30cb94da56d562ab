"""Finds and checks the files of models. The app uses this package, too, so it does not import MLX."""
