"""Long tasks on the store, and search while typing; both run in threads beside the window."""
