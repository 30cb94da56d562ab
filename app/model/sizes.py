"""Amounts of memory: the units, and how much this machine has."""

from __future__ import annotations

import os

MIB = 1 << 20
GIB = 1 << 30


def memory_bytes() -> int | None:
    """Return how much memory this machine has; None where that can't be said."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None
