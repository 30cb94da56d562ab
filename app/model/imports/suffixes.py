"""How the files end that may hold conversations."""

from __future__ import annotations

SUFFIXES = (".bough", ".json", ".jsonl", ".ndjson", ".md", ".markdown", ".zip")
