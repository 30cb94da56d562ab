"""The shell commands `bough import`, `export`, `search`, `list` and `replay`. Independent of the window."""
