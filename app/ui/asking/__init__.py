"""Where messages are typed, and how answers are asked for."""
