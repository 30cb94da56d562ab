"""Conversations as plain Python: the tree, its store, settings and text exports; neither Qt nor a model."""
