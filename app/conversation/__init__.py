"""A conversation that a window shows: what is visible of it, what a person does with it, what lies ready in it."""
