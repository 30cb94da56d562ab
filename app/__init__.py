"""Bough's front end: the conversation tree, its store and its window; no model runs here."""
