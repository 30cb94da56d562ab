"""One message on the page, and what can be done with it."""
