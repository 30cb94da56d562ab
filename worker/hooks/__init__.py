"""The hooks that come with Bough. Each file is one hook, and defines a function `hook(step)` or a class `Hook`."""
