"""Bough's front end: conversations, their store and the windows. Models run in the worker process."""
