"""The lists that an OpenDocument text is in where it is told; it knows no Markdown."""

from __future__ import annotations

from msgspec import Struct

from app.model.exports.open_styles import STEP_MM

_LONG_NUMBER = 100


class _List(Struct):
    """A list that is being told. Its elements are opened when something stands in them, and again behind a table."""

    style: str
    start: int | None
    name: str = ""
    """Of the part of it that was told last; empty: none was."""
    is_open: bool = False
    item: str = ""
    """The element of its item that is open."""
    number: int = 0
    """Of its present item."""
    is_labelled: bool = True
    """Whether its present item has its bullet or number."""


class OpenLists:
    """Lists in lists. They are elements of the text only where something stands in them."""

    def __init__(self, parts: list[str]) -> None:
        """`parts`: the text as it is told."""
        self._parts = parts
        self._lists: list[_List] = []
        self._num_told = 0

    @property
    def depth(self) -> int:
        return len(self._lists)

    @property
    def is_item_empty(self) -> bool:
        """Whether the present item has nothing in it."""
        return not self._lists[-1].is_labelled

    @property
    def hangs_mm(self) -> float:
        """How far before its text an item begins: there is room for its number."""
        found = self._lists[-1]
        return (
            STEP_MM - 2 if found.style == "Bullets" or found.number < _LONG_NUMBER else 2 * len(str(found.number)) + 4
        )

    def begin(self, style: str, start: int | None = None) -> None:
        self._lists.append(_List(style, start, number=0 if start is None else start - 1))

    def end(self) -> None:
        self._parts.append("</text:list>" if self._lists.pop().is_open else "")

    def begin_item(self) -> None:
        self._lists[-1].is_labelled = False
        self._lists[-1].number += 1

    def end_item(self) -> None:
        found = self._lists[-1]
        self._parts.append(f"</{found.item}>" if found.item else "")
        found.item = ""

    def enter(self) -> bool:
        """Open the elements that are not; return whether the present item gets its bullet or number by that."""
        is_labelled = False
        for found in self._lists:
            if not found.is_open:
                self._num_told += 1
                goes_on = f' text:continue-list="{found.name}"' if found.name else ""
                found.name, found.is_open = f"list{self._num_told}", True
                self._parts.append(f'<text:list xml:id="{found.name}"{goes_on} text:style-name="{found.style}">')
            is_labelled = not found.is_labelled
            if not found.item:
                found.item = "text:list-header" if found.is_labelled else "text:list-item"
                start = "" if found.start is None or found.is_labelled else f' text:start-value="{found.start}"'
                self._parts.append(f"<{found.item}{start}>")
            if is_labelled:
                found.is_labelled, found.start = True, None
        return is_labelled

    def leave(self) -> None:
        """Close their elements: what comes can't stand in a list."""
        for found in reversed(self._lists):
            self._parts.append((f"</{found.item}>" if found.item else "") + ("</text:list>" if found.is_open else ""))
            found.item, found.is_open = "", False
