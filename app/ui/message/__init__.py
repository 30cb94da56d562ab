"""One message on the page, and the actions on it."""
