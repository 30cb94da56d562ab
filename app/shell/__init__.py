"""The shell commands `bough import`, `export`, `search`, `list`, `replay` and `models`. Independent of the window."""
