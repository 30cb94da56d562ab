"""What a person reads as one character may arrive in several; the page waits for the rest where it can tell.

The text stream gives whole code points, as soon as they are certain. Of those, a joiner at the end (a family of
emoji, a conjunct) and the first half of a flag say by themselves that something belongs to them: they, and what they
join to, are shown with what comes next, or when the answer ends. Marks that follow a finished letter can't be
foreseen: they are added to it when they come.
"""

from __future__ import annotations

from PySide6.QtCore import QTextBoundaryFinder

_JOINER = "\u200d"
_REGIONAL = range(0x1F1E6, 0x1F200)


def split_open_cluster(text: str) -> tuple[str, str]:
    """Return `text` without the cluster at its end that is certainly not finished, and that cluster."""
    if not text or (text[-1] != _JOINER and ord(text[-1]) not in _REGIONAL):
        return text, ""
    # From the last break on is enough to look at: clusters do not reach over line breaks and spaces.
    start = max(text.rfind(" "), text.rfind("\n")) + 1
    tail = text[start:]
    finder = QTextBoundaryFinder(QTextBoundaryFinder.BoundaryType.Grapheme, tail)
    finder.toEnd()
    units_before = finder.toPreviousBoundary()
    # Qt counts UTF-16 units.
    first = len(tail.encode("utf-16-le")[: 2 * units_before].decode("utf-16-le"))
    cluster = tail[first:]
    if cluster[-1] == _JOINER or len(cluster) == 1:
        return text[: start + first], cluster
    return text, ""
