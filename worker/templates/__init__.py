"""Turns messages into prompt ids with the model's own chat template."""
