"""An answer run again from its record, and what came of it."""
