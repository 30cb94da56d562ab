"""Converts GGUF files to model folders. Uses only Python and numpy, so that it runs in any process."""
