"""In and out, found and taken back."""
