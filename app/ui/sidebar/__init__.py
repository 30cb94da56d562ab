"""The sidebar with the list of conversations."""
