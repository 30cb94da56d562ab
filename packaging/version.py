"""Bough's version: the git tag. The build of the wheel and of the bundle ask for it.

A tag `v1.2.3` is version 1.2.3. Later commits are 1.2.4.devN, N commits after the tag. Without a tag, as in a shallow
clone, and without git, the version is the one that comes next by this file.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

NEXT = "0.1.0"
"""The version that the next tag will have."""
_DESCRIBED = re.compile(r"v(\d+)\.(\d+)\.(\d+)-(\d+)-g([0-9a-f]+)")
_EPOCH_WITHOUT_GIT = 1_735_689_600


def version(root: Path = Path(__file__).parent.parent) -> str:
    """Return the version of the checkout at `root`, as PEP 440 writes versions."""
    described = _git(root, "describe", "--tags", "--long", "--abbrev=8", "--match", "v[0-9]*.[0-9]*.[0-9]*")
    found = _DESCRIBED.fullmatch(described)
    if found is not None:
        major, minor, patch, num_commits, commit = found.groups()
        if num_commits == "0":
            return f"{major}.{minor}.{patch}"
        return f"{major}.{minor}.{int(patch) + 1}.dev{num_commits}+g{commit[:8]}"
    commit = _git(root, "rev-parse", "HEAD")
    return f"{NEXT}.dev0+g{commit[:8]}" if commit else NEXT


def commit_time_s(root: Path = Path(__file__).parent.parent) -> int:
    """Return when the commit was made, in seconds since 1970; without git, a time that never changes."""
    found = _git(root, "log", "-1", "--format=%ct")
    return int(found) if found else _EPOCH_WITHOUT_GIT


def _git(root: Path, *arguments: str) -> str:
    """Return what git prints; empty if git or the repository is missing."""
    # A folder above this one may be another program's repository.
    if not (root / ".git").exists():
        return ""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    print(version())
