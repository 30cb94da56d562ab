"""Several requests at once: what waits, what is read, what is answered; `engine.py` is its face."""
