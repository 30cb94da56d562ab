"""What going somewhere, or sending what is typed, would cost: asked of the worker while somebody looks or types."""
