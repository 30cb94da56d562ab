"""The engine: models, token streams and the prompt cache; it knows no window and no store."""
