"""The hooks that come with Bough; each file is one, as people's own are. It defines `hook(step)` or a class `Hook`."""
