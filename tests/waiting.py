"""How long tests wait for an event. They continue when it occurs, so only a failure takes this long."""

PATIENCE_MS = 200_000
