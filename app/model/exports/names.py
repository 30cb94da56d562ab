"""What the files of exports are called: as their conversations are, in letters that every file system takes."""

from __future__ import annotations

import re

_MAX_BYTES = 120
_BAD = re.compile(r'[\x00-\x1f\x7f<>:"/\\|?*\u2028\u2029]+')
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def file_name(name: str, suffix: str, taken: set[str]) -> str:
    """Return a name for a conversation's file that is not in `taken`, whatever the case of its letters; add it."""
    stem = " ".join(_BAD.sub(" ", name).split()).strip(". ") or "Conversation"
    while len(stem.encode("utf-8", "replace")) > _MAX_BYTES:
        stem = stem[:-1].rstrip()
    if _RESERVED.fullmatch(stem):
        stem += " (conversation)"
    chosen, number = stem, 1
    while f"{chosen}{suffix}".casefold() in taken:
        number += 1
        chosen = f"{stem} ({number})"
    taken.add(f"{chosen}{suffix}".casefold())
    return f"{chosen}{suffix}"
