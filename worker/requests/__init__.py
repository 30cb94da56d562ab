"""Answers several requests at once; `engine.py` is the entry point."""
