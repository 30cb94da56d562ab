"""Reads documents as text, in a separate process; each format has a function."""
