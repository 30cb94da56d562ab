"""Amounts of memory: what this machine has, and how they are said."""

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


def size_in_words(num_bytes: int) -> str:
    """Say an amount in the unit that suits it."""
    # What would be rounded up to a whole unit is said in that one.
    if num_bytes >= 1023.5 * MIB:
        size = num_bytes / GIB
        return f"{size:,.0f} GiB" if size >= 99.95 or size == int(size) else f"{size:.1f} GiB"
    if num_bytes >= 1023.5 * 1024:
        return f"{num_bytes / MIB:.0f} MiB"
    return f"{num_bytes / 1024:.0f} KiB" if num_bytes >= 1024 else f"{num_bytes:,} bytes"
