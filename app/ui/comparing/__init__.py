"""Versions side by side, and two texts compared."""
