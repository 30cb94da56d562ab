"""States of text, and the generators that continue them. `worker.library` is the public page."""
