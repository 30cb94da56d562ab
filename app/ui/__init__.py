"""Widgets. They know the controller, never the worker or the store."""
