"""Conversations from files: Bough's own and those of other programs; no window."""
