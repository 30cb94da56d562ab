"""Widgets. They call the controller, never the worker or the store."""
