"""The token tree and the prompt cache, in memory and on disk; `prompt_cache.py` is the entry point."""
