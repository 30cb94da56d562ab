"""GGUF files become model folders. Plain Python and numpy, so that it runs in any process."""
