"""The shell commands `bough import`, `export`, `search`, `list`, `replay`, `models` and `serve`, without a window."""
