"""What a person asks to be exported, written as one file or as a folder of files, and shown before; it knows no window.

A file is written whole or not at all. Of a folder that is cancelled or fails, the files that were made are taken away
again; one that was there before is never replaced by any of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from app.export.formats import begun_text, export, export_together
from app.export.pages import FirstPage, first_page
from app.model.database import StoreError
from app.model.exports.format_names import NEEDS_QT, ONE_FILE, Format, suffix
from app.model.exports.names import file_name
from app.model.exports.part import Options, Part, branch, selection, whole_tree
from app.model.message import MessageId
from app.model.store import Store

_SHOWN_CHARACTERS = 20_000
_SHOWN_OF_A_LINE = 2_000


class Scope(Struct, frozen=True, kw_only=True):
    """Which messages: whole trees, or a part of the one conversation that is named."""

    conversation_ids: tuple[int, ...]
    leaf_id: MessageId | None = None
    """Of the branch that is meant."""
    message_ids: frozenset[MessageId] | None = None
    """Those that were selected."""

    @property
    def is_one(self) -> bool:
        return len(self.conversation_ids) == 1


class Order(Struct, frozen=True, kw_only=True):
    """What, and how."""

    scope: Scope
    format: Format
    options: Options = Options()

    @property
    def is_folder(self) -> bool:
        """Whether it becomes several files."""
        return not self.scope.is_one and self.format not in ONE_FILE


class Progress(NamedTuple):
    """How much is written, in messages of one conversation or in conversations."""

    done: int
    total: int
    is_of_messages: bool


class Written(Struct, frozen=True):
    """What lies there now: one file, or a folder with so many."""

    path: Path
    num_files: int
    problems: tuple[str, ...] = ()


class Preview(Struct, frozen=True):
    """How the file begins: text, or its first page."""

    text: str = ""
    page: FirstPage | None = None
    is_all: bool = True


def proposed_name(name: str, order: Order) -> str:
    """Return what the file, or the folder, may be called."""
    return file_name(name, "" if order.is_folder else suffix(order.format), set())


def exported(store: Store, order: Order, path: Path) -> Generator[Progress, None, Written]:
    """Write what is asked for to `path`; yield how far that is. Raises `StoreError`, `OSError`."""
    ids = order.scope.conversation_ids
    if order.is_folder:
        return (yield from _exported_each(store, order, path))
    if order.scope.is_one:
        try:
            part = _part(store, order.scope, ids[0])
        except KeyError:
            raise StoreError("That conversation was thrown away meanwhile. Nothing was written.") from None
        num_messages = len(part.messages)
        with contextlib.closing(export(part, order.format, path, order.options)) as steps:
            for step in steps:
                # Laying out and painting are counted, too.
                yield Progress(step.done * num_messages // max(step.total, 1), num_messages, is_of_messages=True)
        return Written(path, 1)
    problems: list[str] = []
    parts = _parts(store, order.scope, problems)
    with contextlib.closing(export_together(parts, len(ids), order.format, path, order.options)) as shares:
        for share in shares:
            yield Progress(share.conversations, share.of, is_of_messages=False)
    return Written(path, 1, tuple(problems))


def _exported_each(store: Store, order: Order, folder: Path) -> Generator[Progress, None, Written]:
    is_made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    taken = {file.name.casefold() for file in folder.iterdir()}
    made: list[Path] = []
    problems: list[str] = []
    try:
        for part in _parts(store, order.scope, problems):
            path = folder / file_name(part.conversation.name, suffix(order.format), taken)
            with contextlib.closing(export(part, order.format, path, order.options)) as steps:
                for _ in steps:
                    yield Progress(len(made), len(order.scope.conversation_ids), is_of_messages=False)
            made.append(path)
    except BaseException:
        for path in made:
            path.unlink(missing_ok=True)
        if is_made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    return Written(folder, len(made), tuple(problems))


def previewed(store: Store, order: Order, pixels_per_px: float) -> Generator[None, None, Preview]:
    """Return how the file will begin; yield in between, so that this can be given up."""
    problems: list[str] = []
    part = next(_parts(store, order.scope, problems), None)
    yield
    if part is None:
        return Preview()
    if order.format in NEEDS_QT or order.format == "html":
        page = yield from first_page(part, order.options, pixels_per_px, has_footer=order.format == "pdf")
        return Preview(page=page, is_all=page.is_all and order.scope.is_one)
    text, is_all = begun_text(part, order.format, order.options, _SHOWN_CHARACTERS)
    lines = [line if len(line) <= _SHOWN_OF_A_LINE else f"{line[:_SHOWN_OF_A_LINE]}…" for line in text.split("\n")]
    return Preview(text="\n".join(lines), is_all=is_all and order.scope.is_one)


def _parts(store: Store, scope: Scope, problems: list[str]) -> Iterator[Part]:
    """Yield each conversation when its turn comes; one that was thrown away meanwhile is left out."""
    for conversation_id in scope.conversation_ids:
        try:
            part = _part(store, scope, conversation_id)
        except KeyError:
            problems.append("A conversation was thrown away meanwhile; it was left out.")
        else:
            yield part


def _part(store: Store, scope: Scope, conversation_id: int) -> Part:
    if scope.message_ids is not None:
        return selection(store, conversation_id, scope.message_ids)
    if scope.leaf_id is not None:
        return branch(store, conversation_id, scope.leaf_id)
    return whole_tree(store, conversation_id)
