"""Prompts read and tokens drawn: what a model is asked to compute, and in which steps."""
