"""Exports conversations to files, one format in each module. Independent of Qt."""
