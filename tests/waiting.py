"""How long tests wait for an event. They go on at the event, so only a failure takes this long."""

PATIENCE_MS = 200_000
