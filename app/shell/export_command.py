"""`bough export`: a file a conversation, or one for all."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypeVar

from app.export.exporting import export, export_together
from app.model.database import StoreError
from app.model.exports import files
from app.model.exports.excerpt import Excerpt, Options, branch, whole_tree
from app.model.exports.files import NEEDS_QT, ONE_FILE, Format, file_name, suffix
from app.model.message import Conversation
from app.model.store import Store
from app.shell.named import named
from app.shell.terminal import FailedError, complain, finished, say

_P = TypeVar("_P")


def export_conversations(store: Store, chosen: argparse.Namespace) -> int:
    """Export what was chosen; return the exit code."""
    format_: Format = chosen.format
    options = Options(
        reasoning=not chosen.no_reasoning,
        system_prompts=not chosen.no_system_prompts,
        statistics=chosen.statistics,
        scheme=chosen.colours,
    )
    conversations, missing = named(store, None if chosen.all else chosen.conversation)
    for name in missing:
        complain(f"There is no conversation “{name}”.")
    if missing and not conversations:
        return 1
    out: Path = chosen.out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FailedError(f"{out} can't be made ({error.strerror}). Name another folder.") from error
    if format_ in NEEDS_QT:
        _make_qt_application()
    num_failed = len(missing)
    taken: set[str] = set()
    if format_ in ONE_FILE:
        name = "Conversations" if len(conversations) != 1 else conversations[0].name
        path = out / file_name(name, suffix(format_), taken)
        excerpts = (_excerpt(store, conversation, only_branch=chosen.branch) for conversation in conversations)
        work = export_together(excerpts, len(conversations), format_, path, options)
        num_failed += _written(path, work, lambda progress: f"{progress.done:,} of {progress.total:,} conversations")
    else:
        for conversation in conversations:
            path = out / file_name(conversation.name, suffix(format_), taken)
            work = _exported(store, conversation, path, format_, options, only_branch=chosen.branch)
            num_failed += _written(path, work, _export_line)
    return 1 if num_failed else 0


def _exported(
    store: Store, conversation: Conversation, path: Path, format_: Format, options: Options, *, only_branch: bool
) -> Generator[files.Progress]:
    yield from export(_excerpt(store, conversation, only_branch=only_branch), format_, path, options)


def _export_line(progress: files.Progress) -> str:
    return f"{progress.done:,} of {progress.total:,} messages"


def _written(path: Path, work: Generator[_P], line: Callable[[_P], str]) -> int:
    """Write a file and say so; return how many could not be written."""
    try:
        finished(work, line)
    except OSError as error:
        complain(f"{path} could not be written ({error.strerror or error}). What was there is as it was.")
        return 1
    except Exception as error:  # noqa: BLE001 (whatever it is, the other conversations must go out)
        why = str(error) if isinstance(error, StoreError) else f"{type(error).__name__}: {error}"
        complain(f"{path} could not be written ({why}). What was there is as it was.")
        return 1
    say(str(path))
    return 0


def _excerpt(store: Store, conversation: Conversation, *, only_branch: bool) -> Excerpt:
    return branch(store, conversation.id) if only_branch else whole_tree(store, conversation.id)


def _make_qt_application() -> None:
    # No window is opened, so no display is needed.
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    # Which fonts lack which scripts is no trouble of anybody's.
    os.environ.setdefault("QT_LOGGING_RULES", "qt.text.font.db=false")
    from PySide6.QtGui import QGuiApplication

    if QGuiApplication.instance() is None:
        _kept.append(QGuiApplication([]))


_kept: list[object] = []
"""Qt's application lives as long as the program."""
