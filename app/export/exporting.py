"""Exports one conversation, several in one file, or a folder of files, and makes the preview.

A file is written completely or not at all. When the export of a folder is cancelled or fails, the files made so far are
removed. The export of a folder never replaces an existing file.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from app.export.training_folder import TrainingFolder
from app.model.database import StoreError
from app.model.exports import files
from app.model.exports.bough_file import bough_file
from app.model.exports.captions import is_shown, title
from app.model.exports.excerpt import Excerpt, Options, branch, selection, whole_tree
from app.model.exports.files import (
    NEEDS_QT,
    ONE_FILE,
    FileFormat,
    Format,
    Piece,
    Trainer,
    file_name,
    is_readable,
    is_trainer,
    new_folder,
    suffix,
    whole_file,
    written,
)
from app.model.exports.html import html
from app.model.exports.losses import Losses, add_readable
from app.model.exports.markdown import markdown
from app.model.exports.plain_text import plain_text
from app.model.exports.training_records import kind_of, training_records
from app.model.message import MessageId
from app.model.store import Store
from worker.sentence import Sentence, SentenceError, joined

if TYPE_CHECKING:
    from app.export.page_maker import PageMaker
    from app.export.pages import FirstPage

_PREVIEW_CHARACTERS, _PREVIEW_LINES = 20_000, 500
_PREVIEW_CHARACTERS_PER_LINE = 2_000
_MAX_NAMES = 5
"""The maximum number of conversations that a sentence names as left out."""


class NothingToExportError(SentenceError):
    """An export would be empty; nothing was written. The sentence says what is missing."""


class Scope(Struct, frozen=True, kw_only=True):
    """The messages to export: whole trees, or a branch or selected messages of one conversation."""

    conversation_ids: tuple[int, ...]
    leaf_id: MessageId | None = None
    """The end of the branch to export. None means all branches."""
    message_ids: frozenset[MessageId] | None = None
    """The selected messages. None means all messages."""

    @property
    def is_one(self) -> bool:
        return len(self.conversation_ids) == 1


class ExportRequest(Struct, frozen=True, kw_only=True):
    """An export request: messages, format and options."""

    scope: Scope
    format: Format
    options: Options = Options()

    @property
    def is_folder(self) -> bool:
        """Whether the export makes several files."""
        return self.is_for_training or (not self.scope.is_one and self.format not in ONE_FILE)

    @property
    def is_for_training(self) -> bool:
        """Whether the export is a folder for a trainer."""
        return is_trainer(self.format)


class ExportProgress(NamedTuple):
    """The progress of an export: messages of a single conversation, or conversations."""

    done: int
    total: int
    is_of_messages: bool


class ExportResult(Struct, frozen=True):
    """The file that was written, or the folder and the number of files in it."""

    path: Path
    num_files: int
    problems: tuple[Sentence, ...] = ()


class Preview(Struct, frozen=True):
    """The beginning of the file: text, or its first page."""

    text: str = ""
    page: FirstPage | None = None
    is_all: bool = True
    nothing: Sentence | None = None
    """Why there is nothing to export; None if there is something."""


def export(
    excerpt: Excerpt,
    format_: FileFormat,
    path: Path,
    options: Options,
    losses: Losses,
    pages: PageMaker | None = None,
) -> Generator[files.Progress]:
    """Write one conversation to a file and yield the progress. `losses` gets what the format leaves out.

    Closing the generator early leaves `path` as it was. `pages` makes PDF and DOCX in another process; None means in
    this one, which then needs a `QGuiApplication`. Raises `NothingToExportError`, `OSError`, and `PagesError` with
    `pages`.
    """
    if (nothing := _nothing_in(excerpt, format_, options, Losses())) is not None:
        raise NothingToExportError(nothing)
    if format_ in NEEDS_QT:
        yield from _export_pages(excerpt, format_, path, options, pages)
    else:
        yield from written(path, _texts(excerpt, format_, options, losses), len(excerpt.messages))
    if is_readable(format_):
        add_readable(losses, excerpt, format_)


def _export_pages(
    excerpt: Excerpt, format_: FileFormat, path: Path, options: Options, pages: PageMaker | None
) -> Generator[files.Progress]:
    if pages is None:
        from app.export.page_jobs import made_file

        pieces = [(yield from made_file(excerpt, format_, options))]
    else:
        pieces = yield from pages.make_file(excerpt, format_, options)
    with whole_file(path) as file:
        file.writelines(pieces)


def export_together(
    excerpts: Iterable[Excerpt],
    num_excerpts: int,
    format_: FileFormat,
    path: Path,
    options: Options,
    remarks: list[Sentence],
) -> Generator[files.Progress]:
    """Write many conversations to one file and yield how many are done. `remarks` gets what is left out.

    Each conversation is read just before it is written. Raises `NothingToExportError` if none of them has anything for
    the format, `OSError`, and `ValueError` for a format that holds one conversation per file.
    """
    if format_ not in ONE_FILE:
        raise ValueError(f"{format_} holds one conversation a file")
    num_done = 0
    empty: list[str] = []
    losses = Losses()

    def counted() -> Iterator[Excerpt]:
        nonlocal num_done
        for excerpt in excerpts:
            yield excerpt
            num_done += 1

    for _ in written(path, _pieces(counted(), format_, options, empty, losses), 0):
        yield files.Progress(num_done, num_excerpts)
    yield files.Progress(num_excerpts, num_excerpts)
    remarks += _remarks(losses, empty)


def proposed_name(name: str, request: ExportRequest) -> str:
    """Return a name for the file or the folder."""
    return file_name(name, "" if request.is_folder else suffix(request.format), set())


def run_export(
    store: Store, request: ExportRequest, path: Path, pages: PageMaker | None = None
) -> Generator[ExportProgress, None, ExportResult]:
    """Write what is requested to `path` and yield the progress; for `pages` see `export`.

    Raises `NothingToExportError`, `StoreError`, `OSError` and `PagesError`.
    """
    format_ = request.format
    if is_trainer(format_):
        return (yield from _export_for_training(store, request, format_, path))
    if request.is_folder:
        return (yield from _export_folder(store, request, format_, path, pages))
    ids = request.scope.conversation_ids
    if request.scope.is_one:
        try:
            excerpt = _excerpt(store, request.scope, ids[0])
        except KeyError:
            raise StoreError(
                Sentence("The conversation was moved to the trash in the meantime. Nothing was exported.")
            ) from None
        num_messages, losses = len(excerpt.messages), Losses()
        with contextlib.closing(export(excerpt, format_, path, request.options, losses, pages)) as steps:
            for step in steps:
                # The steps of a PDF also count layout and painting.
                yield ExportProgress(step.done * num_messages // max(step.total, 1), num_messages, is_of_messages=True)
        gaps = () if excerpt.gaps is None else (excerpt.gaps,)
        return ExportResult(path, 1, (*gaps, *losses.sentences()))
    problems: list[Sentence] = []
    excerpts = _excerpts(store, request.scope, problems)
    work = export_together(excerpts, len(ids), format_, path, request.options, problems)
    with contextlib.closing(work) as steps:
        for step in steps:
            yield ExportProgress(step.done, step.total, is_of_messages=False)
    return ExportResult(path, 1, tuple(problems))


def export_for_training(
    excerpts: Iterable[Excerpt], trainer: Trainer, folder: Path, options: Options, remarks: list[Sentence]
) -> Generator[int, None, list[Path]]:
    """Write a folder for a trainer, yield the number of conversations done, and return the files.

    `remarks` gets what was joined or left out. For files that exist see `TrainingFolder.write`. Raises
    `NothingToExportError` and `OSError`.
    """
    made = TrainingFolder(folder, trainer, options)
    yield from made.write(excerpts)
    if not made.paths:
        raise NothingToExportError(_nothing(trainer, options, made.lost))
    remarks += made.remarks
    remarks += _remarks(made.losses, made.empty)
    return made.paths


def _export_for_training(
    store: Store, request: ExportRequest, trainer: Trainer, folder: Path
) -> Generator[ExportProgress, None, ExportResult]:
    problems: list[Sentence] = []
    excerpts = _excerpts(store, request.scope, problems)
    total = len(request.scope.conversation_ids)
    with contextlib.closing(export_for_training(excerpts, trainer, folder, request.options, problems)) as steps:
        while True:
            try:
                done = next(steps)
            except StopIteration as end:
                return ExportResult(folder, len(end.value), tuple(problems))
            yield ExportProgress(done, total, is_of_messages=False)


def _export_folder(
    store: Store, request: ExportRequest, format_: FileFormat, folder: Path, pages: PageMaker | None
) -> Generator[ExportProgress, None, ExportResult]:
    made: list[Path] = []
    problems: list[Sentence] = []
    empty: list[str] = []
    losses, lost = Losses(), Losses()
    with new_folder(folder):
        taken = {file.name.casefold() for file in folder.iterdir()}
        try:
            for excerpt in _excerpts(store, request.scope, problems):
                if _nothing_in(excerpt, format_, request.options, lost) is not None:
                    empty.append(title(excerpt))
                    continue
                path = folder / file_name(excerpt.conversation.name, suffix(format_), taken)
                with contextlib.closing(export(excerpt, format_, path, request.options, losses, pages)) as steps:
                    for _ in steps:
                        yield ExportProgress(len(made), len(request.scope.conversation_ids), is_of_messages=False)
                made.append(path)
        except BaseException:
            for path in made:
                path.unlink(missing_ok=True)
            raise
        if not made:
            raise NothingToExportError(_nothing(format_, request.options, lost))
    return ExportResult(folder, len(made), (*problems, *_remarks(losses, empty)))


def make_preview(
    store: Store, request: ExportRequest, pixels_per_px: float, pages: PageMaker
) -> Generator[None, None, Preview]:
    """Return the beginning of the file. Yields in between, so that the caller can cancel. Raises `PagesError`."""
    lost = Losses()
    for excerpt in _excerpts(store, request.scope, []):
        yield
        # The first conversation that has something is shown.
        if _nothing_in(excerpt, request.format, request.options, lost) is None:
            break
    else:
        return Preview(nothing=_nothing(request.format, request.options, lost))
    if request.format in NEEDS_QT or request.format == "html":
        has_footer = request.format == "pdf"
        page = yield from pages.make_first_page(excerpt, request.options, pixels_per_px, has_footer=has_footer)
        return Preview(page=page, is_all=page.is_all and request.scope.is_one)
    text, is_all = _beginning(excerpt, request.format, request.options)
    most = _PREVIEW_CHARACTERS_PER_LINE
    lines = text[:_PREVIEW_CHARACTERS].split("\n", _PREVIEW_LINES)
    is_all = is_all and len(text) <= _PREVIEW_CHARACTERS and len(lines) <= _PREVIEW_LINES
    shown = [line if len(line) <= most else f"{line[:most]}…" for line in lines[:_PREVIEW_LINES]]
    return Preview(text="\n".join(shown), is_all=is_all and request.scope.is_one)


def _beginning(excerpt: Excerpt, format_: Format, options: Options) -> tuple[str, bool]:
    """Return the beginning of a text file, and whether it is the whole file."""
    text = ""
    for piece in _texts(excerpt, format_, options, Losses()):
        if len(text) >= _PREVIEW_CHARACTERS:
            return text, False
        text += piece.text
    return text, True


def _pieces(
    excerpts: Iterable[Excerpt], format_: FileFormat, options: Options, empty: list[str], losses: Losses
) -> Iterator[Piece]:
    """Yield the pieces of a file of several conversations; add the names of those without any to `empty`.

    Raises `NothingToExportError` at the end if there are none at all.
    """
    num_full, lost = 0, Losses()

    def counted() -> Iterator[Excerpt]:
        nonlocal num_full
        for excerpt in excerpts:
            num_full += 1
            yield excerpt

    if format_ == "bough":
        yield from bough_file(counted())
    else:
        for excerpt in excerpts:
            has_text, own = False, Losses()
            for piece in _texts(excerpt, format_, options, own):
                has_text = has_text or bool(piece.text)
                yield piece
            num_full += has_text
            if has_text:
                losses.add_all(own)
            else:
                lost.add_all(own)
                empty.append(title(excerpt))
    if not num_full:
        raise NothingToExportError(_nothing(format_, options, lost))


def _texts(excerpt: Excerpt, format_: Format, options: Options, losses: Losses) -> Iterator[Piece]:
    """Return the pieces of a text file. Raises `ValueError` for PDF and DOCX, which are no texts."""
    match format_:
        case "md":
            return markdown(excerpt, options)
        case "html":
            return html(excerpt, options)
        case "txt":
            return plain_text(excerpt, options)
        case "bough":
            return bough_file([excerpt])
        case "pdf" | "docx":
            raise ValueError(f"{format_} is no text")
        case _:
            return training_records(excerpt, format_, options, losses)


def _nothing_in(excerpt: Excerpt, format_: Format, options: Options, losses: Losses) -> Sentence | None:
    """Return why a conversation has nothing for a format; None if it has something. `losses` gets what is left out."""
    if format_ == "bough":
        return None
    if is_readable(format_):
        has_any = any(is_shown(message, options) for message in excerpt.messages)
    else:
        has_any = any(piece.text for piece in _texts(excerpt, format_, options, losses))
    if has_any:
        return None
    nothing = _nothing(format_, options, losses)
    # A damaged conversation may have lost all of its messages.
    return nothing if excerpt.gaps is None else joined([nothing, excerpt.gaps])


def _nothing(format_: Format, options: Options, losses: Losses) -> Sentence:
    """Return why there is nothing for a format. `losses` are those of the conversations."""
    if is_readable(format_) or format_ == "bough":
        return Sentence("There is nothing to export: no message here matches these choices.")
    kind = kind_of(format_, options)
    if "with_tools" in losses:
        return Sentence(
            "There is nothing to export: the answers to compare call tools, or follow calls, for which Axolotl's "
            "pairs have no field. Choose branches as lines, or the folder for TRL."
        )
    if kind == "preference":
        return Sentence(
            "There is nothing to export: no question here has two finished answers to compare. "
            "Export the whole tree, or regenerate an answer first."
        )
    if format_ == "mlx-lm" and kind == "completion":
        return Sentence(
            "There is nothing to export: no branch here consists of one question and a finished answer. Choose "
            "branches as lines."
        )
    return Sentence("There is nothing to export: there is no finished answer to a question here.")


def _remarks(losses: Losses, empty: Sequence[str]) -> Iterator[Sentence]:
    """Yield a sentence for each kind of loss, and one about conversations that have nothing for a format."""
    yield from losses.sentences()
    if empty:
        yield _left_out(empty)


def _left_out(names: Sequence[str]) -> Sentence:
    """Return a sentence about conversations that have nothing for a format."""
    shown = ", ".join(f"“{name}”" for name in names[:_MAX_NAMES]) + (", …" if len(names) > _MAX_NAMES else "")
    return Sentence(
        "Conversations left out, because they have nothing for this format: {num} ({names}).",
        num=len(names),
        names=shown,
    )


def _excerpts(store: Store, scope: Scope, problems: list[Sentence]) -> Iterator[Excerpt]:
    """Yield each conversation, read just before. Conversations that were moved to the trash meanwhile are left out."""
    for conversation_id in scope.conversation_ids:
        try:
            excerpt = _excerpt(store, scope, conversation_id)
        except KeyError:
            problems.append(
                Sentence("One conversation was moved to the trash in the meantime, so it was not exported.")
            )
        else:
            if excerpt.gaps is not None:
                problems.append(excerpt.gaps)
            yield excerpt


def _excerpt(store: Store, scope: Scope, conversation_id: int) -> Excerpt:
    if scope.message_ids is not None:
        return selection(store, conversation_id, scope.message_ids)
    if scope.leaf_id is not None:
        return branch(store, conversation_id, scope.leaf_id)
    return whole_tree(store, conversation_id)
