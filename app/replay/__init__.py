"""Replay: an answer generated again from its record, and the comparison with the stored answer."""
