"""The visible branch on the page."""
