"""The tree of an HTML export: its messages with their versions, and an inline SVG picture in which each is a link.

The picture has the places, distances and colours of the tree in Bough's window (`app/ui/tree`); nothing is folded.
"""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

import msgspec

from app.model.exports.captions import first_words, heading, marks
from app.model.exports.excerpt import Section
from app.model.message import Message, MessageId
from app.model.text import as_title
from app.model.tree import Tree
from app.model.tree_layout import Spot, TreeLayout

_MARGIN_PX, _LANE_PX, _ROW_PX = 24, 24, 28
_BEND_PX, _CORNER_PX = 14, 6
_GAP_PX = 18
"""The distance between the centre of a dot and its text."""
_BASE_PX = 4
"""The distance between the middle of a text and its base line."""
_MAX_COLUMNS = 28
"""The length of texts, in columns of `_COLUMN_PX`. Wide letters take two."""
_COLUMN_PX = 7
_MAX_TEXT_LANES = 4
"""Texts begin right of this many lanes even in rows with fewer, so that they form a column."""
_ROOT = Message(id=0, parent_id=None, role="root", text="")
"""The parent of all messages at the top. No message of the store has this id."""


class Version(NamedTuple):
    """The position of a message among its siblings, which are ordered by age."""

    number: int
    """1 for the oldest one."""
    num_siblings: int
    """The number of siblings, including this message."""
    before: MessageId | None
    after: MessageId | None


class PageTree:
    """The messages of an export, each below its parent in the export.

    `sections[0]` is the branch that the page shows first. Any other section has its parent in one before it, or None.
    """

    def __init__(self, sections: Sequence[Section]) -> None:
        self._tree = Tree([_ROOT, *_linked(sections)], _ROOT.id)
        self._versions = dict(_versions(self._tree))
        self._shown = [message.id for message in sections[0].messages] if sections else []

    @property
    def has_branches(self) -> bool:
        return any(version.num_siblings > 1 for version in self._versions.values())

    def parent(self, message_id: MessageId) -> MessageId | None:
        """Return the id of a message's parent; None at the top."""
        return self._tree[message_id].parent_id or None

    def version(self, message_id: MessageId) -> Version:
        return self._versions[message_id]

    def picture(self) -> Iterator[str]:
        """Yield the SVG element in pieces.

        In the path of the class `lines`, the n-th subpath is the line to the n-th message from the one above.
        """
        layout = TreeLayout(
            self._tree,
            dict(itertools.pairwise([_ROOT.id, *self._shown])),
            unfolded={message.id for message in self._tree.messages},
        )
        spots = list(itertools.chain.from_iterable(layout.rows))
        width = _x(max(layout.num_lanes, _MAX_TEXT_LANES) - 1) + _GAP_PX + _MAX_COLUMNS * _COLUMN_PX
        yield f'<svg width="{width}" height="{_y(len(layout.rows))}" role="group" aria-label="Messages">\n'
        yield f'<path class="lines" d="{"".join(map(_line, spots))}"/>\n'
        yield f'<path class="trunk" d="{"".join(_line(spot) for spot in spots if layout.is_on_path(spot))}"/>\n'
        for row in layout.rows:
            yield from self._row(row, layout)
        yield "</svg>\n"

    def _row(self, row: Sequence[Spot], layout: TreeLayout) -> Iterator[str]:
        names = [_short(as_title(self._tree[spot.id].name)) for spot in row]
        for index, (spot, following) in enumerate(itertools.pairwise(row)):
            # There may be no room for a name between two dots.
            if names[index] and _after_text(_x(spot.lane) + _GAP_PX, names[index]) > _x(following.lane):
                names[index] = ""
        text_left = _x(max(row[-1].lane, min(layout.num_lanes, _MAX_TEXT_LANES) - 1)) + _GAP_PX
        if names[-1]:
            text_left = max(text_left, _after_text(_x(row[-1].lane) + _GAP_PX, names[-1]))
        for spot, name in zip(row, names, strict=True):
            message = self._tree[spot.id]
            x, y = _x(spot.lane), _y(spot.row)
            drawn = _text("name", x + _GAP_PX, y, name) if name else ""
            drawn += _text("star", x + 3, y - 6, "★") if message.starred_ms is not None else ""
            words = _text("words", text_left, y, _short(first_words(message)))
            if message.name and not name:
                short_name = _short(as_title(message.name))
                words = _text("words name", text_left, y, short_name)
                words += _text("words", _after_text(text_left, short_name), y, _short(first_words(message)))
            state = ' class="on"' if layout.is_on_path(spot) else ""
            state += ' aria-current="true"' if spot == layout.leaf else ""
            yield (
                f'<a href="#m{spot.id}"{state}><title>{escape(self._title(message))}</title>'
                f'<circle cx="{x}" cy="{y}"/>{drawn}{words}</a>\n'
            )

    def _title(self, message: Message) -> str:
        """Return the text for a tool tip and for screen readers."""
        version = self.version(message.id)
        parts = [
            heading(message),
            f"version {version.number} of {version.num_siblings}" if version.num_siblings > 1 else "",
            marks(message),
        ]
        return f"{', '.join(part for part in parts if part)}: {first_words(message)}"


def _linked(sections: Sequence[Section]) -> Iterator[Message]:
    for section in sections:
        above = section.parent_id or _ROOT.id
        for message in section.messages:
            yield msgspec.structs.replace(message, parent_id=above)
            above = message.id


def _versions(tree: Tree) -> Iterator[tuple[MessageId, Version]]:
    for parent in tree.messages:
        children = tree.children(parent.id)
        following = zip(children, [None, *children], [*children[1:], None], strict=False)
        for number, (child, before, after) in enumerate(following, 1):
            yield child, Version(number, len(children), before, after)


def _x(lane: int) -> int:
    return _MARGIN_PX + lane * _LANE_PX


def _y(row: int) -> int:
    return _MARGIN_PX + row * _ROW_PX


def _line(spot: Spot) -> str:
    """Return the line from the spot above; only its beginning if there is none."""
    x, y = _x(spot.lane), _y(spot.row)
    if spot.from_lane < 0:
        return f"M{x} {y}"
    above_x, above_y = _x(spot.from_lane), max(y - _ROW_PX, 0)
    if above_x == x:
        return f"M{x} {above_y}V{y}"
    bend_y = y - _BEND_PX
    return f"M{above_x} {above_y}V{bend_y}H{x - _CORNER_PX}Q{x} {bend_y} {x} {bend_y + _CORNER_PX}V{y}"


def _text(kind: str, x: int, y: int, text: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y + _BASE_PX}">{escape(text)}</text>'


def _short(text: str) -> str:
    """Return the beginning of a text, so that it fits beside the dots."""
    columns = itertools.accumulate(map(_columns, text))
    fitting = sum(1 for end in columns if end <= _MAX_COLUMNS)
    return text if fitting == len(text) else f"{text[: fitting - 1].rstrip()}…"


def _after_text(left: int, text: str) -> int:
    """Return where another mark may begin after a text."""
    return left + _COLUMN_PX * sum(map(_columns, text)) + _GAP_PX


def _columns(letter: str) -> int:
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1
