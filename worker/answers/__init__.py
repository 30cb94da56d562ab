"""One answer while it is generated: its tokens, its text, why it ended, and the hooks that change it."""
