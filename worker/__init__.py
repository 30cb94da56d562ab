"""The engine: models, token streams and the prompt cache. Independent of the app."""
