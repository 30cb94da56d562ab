"""What is set for good, a page each."""
