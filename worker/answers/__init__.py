"""One answer as it is written: its tokens, its text, why it ended, and hooks that change it on the way."""
