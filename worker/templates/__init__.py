"""Messages as prompt ids, with the model's own chat template."""
