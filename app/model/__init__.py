"""Conversations as plain Python: the tree, its store, settings, imports and exports. Independent of Qt and models."""
