"""Windows that open over the main one: export, import, search, trash, backups, replay, keyboard shortcuts."""
