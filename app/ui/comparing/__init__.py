"""Versions beside each other."""
