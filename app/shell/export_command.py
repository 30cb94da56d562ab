"""`bough export`: one file per conversation, or one file for all."""

from __future__ import annotations

import argparse
import contextlib
import locale
import os
import re
from collections.abc import Generator, Iterable, Sequence
from pathlib import Path

from app.export.exporting import NothingToExportError, export, export_for_training, export_together
from app.model.database import StoreError
from app.model.exports.excerpt import Excerpt, Options, branch, whole_tree
from app.model.exports.files import (
    NEEDS_QT,
    ONE_FILE,
    FileFormat,
    Format,
    Progress,
    Trainer,
    file_name,
    is_trainer,
    new_folder,
    suffix,
)
from app.model.exports.losses import Losses
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
    if is_trainer(format_) and chosen.lines not in KINDS[format_]:
        kinds = ", ".join(f"“{kind}”" for kind in KINDS[format_])
        raise FailedError(f"{format_} can't be trained with “{chosen.lines}”. Nothing was exported. Use {kinds}.")
    conversations, missing = conversations_named(store, None if chosen.all else chosen.conversation)
    for name in missing:
        print_error(f"There is no conversation “{name}”.")
    if missing and not conversations:
        return 1
    if format_ in NEEDS_QT:
        _make_qt_application()
    work = _Export(store, conversations, options, is_branch=chosen.branch)
    out: Path = chosen.out
    try:
        if is_trainer(format_):
            num_failed = work.write_for_training(format_, out)
        else:
            with new_folder(out):
                num_failed = work.write_files(format_, out)
    except OSError as error:
        raise FailedError(f"{out} can't be created ({error.strerror}). Name another folder.") from error
    for remark in work.remarks:
        print_error(remark)
    return 1 if missing or num_failed or work.gaps else 0


class _Export:
    """One export of several conversations."""

    def __init__(
        self, store: Store, conversations: Sequence[Conversation], options: Options, *, is_branch: bool
    ) -> None:
        self._store, self._conversations, self._options, self._is_branch = store, conversations, options, is_branch
        self._losses = Losses()
        self._left_out: list[Sentence] = []
        self.gaps: list[Sentence] = []
        """Sentences about conversations that are damaged."""

    @property
    def remarks(self) -> Iterable[Sentence]:
        """Sentences about all that was left out, joined or damaged."""
        return (*self._left_out, *self._losses.sentences(), *self.gaps)

    def write_files(self, format_: FileFormat, folder: Path) -> int:
        """Write a file for each conversation or one for all; return how many could not be written."""
        taken: set[str] = set()
        if format_ in ONE_FILE:
            name = "Conversations" if len(self._conversations) != 1 else self._conversations[0].name
            path = folder / file_name(name, suffix(format_), taken)
            work = export_together(
                map(self._excerpt, self._conversations),
                len(self._conversations),
                format_,
                path,
                self._options,
                self._left_out,
            )
            return int(not _is_written(path, work, "conversations", ""))
        num_failed = 0
        for conversation in self._conversations:
            path = folder / file_name(conversation.name, suffix(format_), taken)
            work = self._one(conversation, format_, path)
            num_failed += not _is_written(path, work, "messages", conversation.name)
        return num_failed

    def write_for_training(self, trainer: Trainer, folder: Path) -> int:
        """Write a folder for a trainer; return 1 if it could not be written, else 0."""
        files: list[Path] = []

        def steps() -> Generator[Progress]:
            excerpts = map(self._excerpt, self._conversations)
            work = export_for_training(excerpts, trainer, folder, self._options, self._left_out)
            while True:
                try:
                    yield Progress(next(work), len(self._conversations))
                except StopIteration as end:
                    files.extend(end.value)
                    return

        return int(not _is_written(folder, steps(), "conversations", "", files))

    def _one(self, conversation: Conversation, format_: FileFormat, path: Path) -> Generator[Progress]:
        # Reading the conversation is part of the work that may fail.
        yield from export(self._excerpt(conversation), format_, path, self._options, self._losses)

    def _excerpt(self, conversation: Conversation) -> Excerpt:
        read = branch if self._is_branch else whole_tree
        found = read(self._store, conversation.id)
        if found.gaps is not None:
            self.gaps.append(found.gaps)
        return found


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
