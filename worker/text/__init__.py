"""Tokens and text: vocabulary, text stream, stop strings, constraints, token healing. Independent of the model."""
