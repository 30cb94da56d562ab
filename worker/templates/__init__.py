"""Messages as prompt ids, by the model's own chat template."""
