"""The tree of a conversation beside its page."""
