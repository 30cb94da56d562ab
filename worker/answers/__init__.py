"""One answer while it is written: its tokens, its text, why it ended, and the hooks that change it."""
