"""`bough export`: one file per conversation, or one file for all."""

from __future__ import annotations

import argparse
import contextlib
import locale
import os
import re
from collections.abc import Generator, Sequence
from pathlib import Path

from app.export.exporting import NothingToExportError, export, export_for_training, export_together
from app.model.database import StoreError
from app.model.exports.excerpt import Excerpt, Options, branch, whole_tree
from app.model.exports.files import NEEDS_QT, ONE_FILE, TRAINERS, Format, Progress, file_name, suffix
from app.model.exports.training_records import KINDS
from app.model.imports.blocks import object_of
from app.model.message import Conversation
from app.model.store import Store
from app.model.valid_parts import parsed
from app.places import Places
from app.shell.find_commands import conversations_named
from app.shell.terminal import FailedError, print_error, print_line, run_to_end
from worker.regular_file import read_regular
from worker.sentence import Sentence

_MAX_SETTINGS_BYTES = 16 << 20
_TAG = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def export_conversations(store: Store, chosen: argparse.Namespace, places: Places) -> int:
    """Export the chosen conversations; return the exit code."""
    format_: Format = chosen.format
    options = Options(
        reasoning=not chosen.no_reasoning,
        system_prompts=not chosen.no_system_prompts,
        statistics=chosen.statistics,
        scheme=chosen.colours,
        records=chosen.lines,
        language=_language(places),
    )
    if format_ in TRAINERS and chosen.lines not in KINDS[format_]:
        kinds = ", ".join(f"“{kind}”" for kind in KINDS[format_])
        raise FailedError(f"{format_} can't be trained with “{chosen.lines}”. Nothing was exported. Use {kinds}.")
    conversations, missing = conversations_named(store, None if chosen.all else chosen.conversation)
    for name in missing:
        print_error(f"There is no conversation “{name}”.")
    if missing and not conversations:
        return 1
    out: Path = chosen.out
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FailedError(f"{out} can't be created ({error.strerror}). Name another folder.") from error
    if format_ in NEEDS_QT:
        _make_qt_application()

    gaps: list[Sentence] = []
    left_out: list[Sentence] = []

    def excerpt(conversation: Conversation) -> Excerpt:
        found = branch(store, conversation.id) if chosen.branch else whole_tree(store, conversation.id)
        if found.gaps is not None:
            gaps.append(found.gaps)
        return found

    def export_one(conversation: Conversation, path: Path) -> Generator[Progress]:
        # Reading the conversation is part of the work that may fail.
        yield from export(excerpt(conversation), format_, path, options)

    num_failed = len(missing)
    taken: set[str] = set()
    if format_ in TRAINERS:
        files: list[Path] = []

        def folder() -> Generator[Progress]:
            steps = export_for_training(map(excerpt, conversations), format_, out, options, left_out)
            while True:
                try:
                    yield Progress(next(steps), len(conversations))
                except StopIteration as end:
                    files.extend(end.value)
                    return

        num_failed += not _is_written(out, folder(), "conversations", "", files)
    elif format_ in ONE_FILE:
        name = "Conversations" if len(conversations) != 1 else conversations[0].name
        path = out / file_name(name, suffix(format_), taken)
        work = export_together(map(excerpt, conversations), len(conversations), format_, path, options, left_out)
        num_failed += not _is_written(path, work, "conversations", "")
    else:
        for conversation in conversations:
            path = out / file_name(conversation.name, suffix(format_), taken)
            num_failed += not _is_written(path, export_one(conversation, path), "messages", conversation.name)
    for remark in (*left_out, *gaps):
        print_error(remark)
    return 1 if num_failed or gaps else 0


def _language(places: Places) -> str:
    """Return the language that the user chose in Bough, else that of the environment; empty if there is none."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        settings = parsed(read_regular(places.config / "settings.json", _MAX_SETTINGS_BYTES))
        chosen = object_of(settings).get("language")
        if isinstance(chosen, str) and _TAG.fullmatch(chosen):
            return chosen
    found = (locale.getlocale()[0] or "").replace("_", "-")
    return found if _TAG.fullmatch(found) else ""


def _is_written(
    path: Path, work: Generator[Progress], unit: str, name: str, files: Sequence[Path] | None = None
) -> bool:
    """Write a file, and print its path or the reason why it could not be written. Return whether it was written.

    `name` is that of its only conversation; empty if it has several. `files` are those in a folder, once it is written.
    """
    try:
        run_to_end(work, lambda progress: f"{progress.done:,} of {progress.total:,} {unit}")
    except NothingToExportError as error:
        print_error(f"“{name}” was not exported. {error}" if name else str(error))
        return False
    except Exception as error:  # noqa: BLE001 (the other conversations must be exported, whatever the error)
        why = f"{type(error).__name__}: {error}"
        if isinstance(error, OSError):
            why = error.strerror or str(error)
        elif isinstance(error, StoreError):
            why = str(error)
        print_error(f"{path} could not be written ({why}). Nothing was changed there.")
        return False
    for file in [path] if files is None else files:
        print_line(str(file))
    return True


def _make_qt_application() -> None:
    # No window is opened, so no display is needed.
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    # Qt warns about fonts that lack a script; the user can't do anything about it.
    os.environ.setdefault("QT_LOGGING_RULES", "qt.text.font.db=false")
    from PySide6.QtGui import QGuiApplication

    if QGuiApplication.instance() is None:
        _qt_applications.append(QGuiApplication([]))


_qt_applications: list[object] = []
"""A reference that keeps Qt's application alive as long as the program."""
