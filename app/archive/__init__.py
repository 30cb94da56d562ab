"""All conversations, read and written in threads beside the window, each with a store of its own."""
