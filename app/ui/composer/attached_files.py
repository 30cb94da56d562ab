"""The files attached to the message in the composer."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Sequence
from functools import partial
from pathlib import Path

from msgspec import structs
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.conversation.controller import Controller
from app.files.reading import FileReader, Job, NotAttachedError, is_document, left_out, read_text_file
from app.model.attachment import MAX_CHARS, Attachment, unsent_files
from app.model.imports import SUFFIXES
from app.model.message import Message
from app.notices import Notice
from app.numbers import counted
from app.ui.composer.composer import Composer
from worker.sentence import Sentence, joined

_IMPORT_SUFFIXES = {*SUFFIXES, ".zip", ".md"}


class AttachedFiles(QObject):
    """Attaches files to the unsent message of the conversation, counts their tokens and shows them in the composer."""

    import_asked = Signal(object)
    """Paths of files to import as conversations."""
    measured = Signal()
    """The number of tokens may have changed."""

    def __init__(
        self, controller: Controller, composer: Composer, window: QWidget, num_free: Callable[[], int | None]
    ) -> None:
        """`num_free` returns how many more tokens fit into the context; None if that is not known."""
        super().__init__(window)
        self._preparation = controller.preparation
        self._notices = controller.program.notices
        self._composer = composer
        self._window = window
        self._num_free = num_free
        self._sizes = controller.file_sizes
        self._sizes.changed.connect(self._on_sizes)
        self._reader = FileReader(self)
        self._reader.read.connect(self._on_read)
        composer.files_given.connect(self.take)
        composer.removed.connect(self._remove)
        composer.attachments.opened.connect(self._open_parts)

    @property
    def messages(self) -> list[Message]:
        """The files as messages that are not stored yet."""
        return unsent_files(self._preparation.unsent.attachments)

    @property
    def num_tokens(self) -> int:
        """Number of tokens in all files that have been counted."""
        return sum(self._sizes.num_tokens(file) or 0 for file in self.messages)

    def choose(self) -> None:
        """Let the user choose files, and attach them."""
        names, _ = QFileDialog.getOpenFileNames(self._window, self.tr("Attach files"))
        self.attach([Path(name) for name in names])

    def take(self, files: Sequence[Path]) -> None:
        """Attach pasted or dropped files; if they may be conversations, ask the user whether to import them."""
        if any(file.suffix.lower() in _IMPORT_SUFFIXES for file in files):
            menu = QMenu(self._window)
            self.fill_menu(menu, files)
            menu.popup(QCursor.pos())
        else:
            self.attach(files)

    def fill_menu(self, menu: QMenu, files: Sequence[Path]) -> None:
        """Add the choice to attach or import files that may be conversations."""
        menu.addAction(self.tr("Attach to the message"), partial(self.attach, files))
        menu.addAction(self.tr("Import as conversations…"), partial(self.import_asked.emit, files))
        menu.aboutToHide.connect(menu.deleteLater)

    def attach(self, files: Sequence[Path]) -> None:
        """Attach files to the message; a notice says which files were refused, and why.

        Documents are read in the background.
        """
        refused: list[Sentence] = []
        for file in files:
            if is_document(file):
                self._reader.start(file, self._preparation.conversation_id)
            else:
                with _collected(refused):
                    self._add(read_text_file(file), self._preparation.conversation_id)
        self._say(refused)
        self.show()
        self.measured.emit()
        self._composer.text.setFocus()

    def show(self) -> None:
        """Show the files of the unsent message, and those that are being read."""
        attached = self._preparation.unsent.attachments
        texts = [self._label(*pair) for pair in zip(attached, self.messages, strict=True)]
        jobs = self._reader.jobs_of(self._preparation.conversation_id)
        texts += [self.tr("{name} · reading…").format(name=job.path.name) for job in jobs]
        openable = tuple(index for index, one in enumerate(attached) if one.parts)
        self._composer.show_attachments(texts, openable, are_read=not jobs)

    def _on_read(self, job: Job, found: Attachment | Sentence) -> None:
        refused = [found] if isinstance(found, Sentence) else []
        with _collected(refused):
            if isinstance(found, Attachment):
                self._add(found, job.conversation_id)
        self._say(refused)
        self.show()
        self.measured.emit()

    def _say(self, refused: Sequence[Sentence]) -> None:
        if refused:
            self._notices.post(Notice(joined(refused), "warning"))

    def _add(self, found: Attachment, conversation_id: int | None) -> None:
        """Attach a file that was read. Raises `NotAttachedError`."""
        attached = self._preparation.unsent_of(conversation_id).attachments
        room = MAX_CHARS - sum(one.num_chars for one in attached)
        if found.num_chars > room:
            raise NotAttachedError(
                Sentence(
                    "“{name}” has {num_chars} characters, but a message can hold only {max_chars} of files. "
                    "Attach a part of it.",
                    name=found.name,
                    num_chars=found.num_chars,
                    max_chars=MAX_CHARS,
                )
            )
        if found not in attached:
            self._preparation.attach([*attached, found], conversation_id)
        cut = left_out(found)
        if cut is not None:
            self._notices.post(Notice(cut, "warning"))

    def _remove(self, number: int) -> None:
        attached = list(self._preparation.unsent.attachments)
        if number < len(attached):
            del attached[number]
            self._preparation.attach(attached, self._preparation.conversation_id)
        else:
            self._reader.stop(self._reader.jobs_of(self._preparation.conversation_id)[number - len(attached)])
        self.show()
        self.measured.emit()
        if not attached:
            self._composer.text.setFocus()

    def _label(self, attachment: Attachment, file: Message) -> str:
        words = [attachment.name]
        if attachment.left_out:
            num_chosen = len(attachment.parts) - len(attachment.left_out)
            words.append(
                self.tr("{num} of {total} parts").format(num=counted(num_chosen), total=counted(attachment.num_parts))
            )
        size = self._sizes.num_tokens(file)
        if size is not None:
            words.append(self.tr("1 token") if size == 1 else self.tr("{num} tokens").format(num=counted(size)))
        return " · ".join(words)

    def _on_sizes(self) -> None:
        self.show()
        self.measured.emit()

    # --- parts ---------------------------------------------------------------------------------------------

    def _open_parts(self, number: int) -> None:
        from app.ui.composer.parts_popover import PartsPopover

        attachment = self._preparation.unsent.attachments[number]
        size = self._sizes.num_tokens(self.messages[number])
        popover = PartsPopover(attachment, size, self._num_free(), self._window)
        popover.chosen.connect(partial(self._choose_parts, attachment))
        popover.show_above(self._composer.attachments, popover.parts)

    def _choose_parts(self, before: Attachment, left_out: Sequence[int]) -> None:
        attached = self._preparation.unsent.attachments
        for index, one in enumerate(attached):
            if (one.name, one.parts) == (before.name, before.parts):
                changed = structs.replace(one, left_out=tuple(left_out))
                after = [*attached[:index], changed, *attached[index + 1 :]]
                self._preparation.attach(after, self._preparation.conversation_id)
                break
        self.show()
        self.measured.emit()


@contextlib.contextmanager
def _collected(refused: list[Sentence]) -> Generator[None]:
    """In the `with` block, catch `NotAttachedError` and add its reason to `refused`."""
    try:
        yield
    except NotAttachedError as error:
        refused.append(error.sentence)
