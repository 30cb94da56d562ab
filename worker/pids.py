"""Process ids."""

from __future__ import annotations

import os


def is_alive(pid: int) -> bool:
    """Return whether a process with this id is running, of any user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        # A process of another user.
        return True
    return True
