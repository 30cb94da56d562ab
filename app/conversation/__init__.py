"""The conversation that a window shows: its visible branch, the user's actions on it, its drafts and settings."""
