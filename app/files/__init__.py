"""Documents as text, read in a process of their own; each format has a function."""
