"""Documents as text: read in a process of their own, one format a function."""
