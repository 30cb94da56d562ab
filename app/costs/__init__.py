"""The costs of going to a message or sending a draft, and other queries to the worker while the user types."""
