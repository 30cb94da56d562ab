"""Calls of tools and reasoning, the parts of a turn: how models write them. No model and no large imports."""
