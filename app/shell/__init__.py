"""Conversations from the shell: `bough import`, `export`, `search`, `list`, `replay`; no window."""
