"""Widgets and texts that several parts of the window share."""
