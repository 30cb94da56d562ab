"""Conversations from files: Bough's own files and those of other programs. Independent of Qt."""

SUFFIXES = (".bough", ".json", ".jsonl", ".ndjson", ".md", ".markdown", ".zip", ".db", ".sqlite", ".sqlite3")
"""The suffixes of files that may hold conversations."""
