"""What a model has read and keeps, in memory and on disk; `prompt_cache.py` is its face."""
