"""The program of a bundle. It is `bough`, and under the name `bough-worker` the worker without the window."""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> int:
    """Run the program that was asked for; return the exit code."""
    # Processes that Bough starts run this file, too, so both mains first look at what they were started for.
    if Path(sys.argv[0]).stem == "bough-worker":
        from worker.__main__ import main as run
    else:
        from app.__main__ import main as run
    return run()


if __name__ == "__main__":
    sys.exit(main())
