"""The local API: a server process that answers other programs with the worker's model. Independent of Qt."""
