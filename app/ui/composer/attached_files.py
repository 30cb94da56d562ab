"""The files attached to the message in the composer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import structs
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.conversation.controller import Controller
from app.costs.worker_queries import TokenCount
from app.model.imports import SUFFIXES
from app.model.unsent import Attachment, NotAttachedError, read_attachment
from app.notices import Notice
from app.numbers import counted
from app.ui.composer.composer import Composer
from worker.sentence import Sentence, joined

_FRAME_TOKENS = 12
"""Rough number of tokens of a file's name and its fence."""
_IMPORT_SUFFIXES = {*SUFFIXES, ".zip", ".md"}


class AttachedFiles(QObject):
    """Attaches files to the unsent message of the conversation, counts their tokens and shows them in the composer."""

    import_asked = Signal(object)
    """Paths of files to import as conversations."""
    measured = Signal()
    """The number of tokens may have changed."""

    def __init__(self, controller: Controller, composer: Composer, window: QWidget) -> None:
        super().__init__(window)
        self._preparation = controller.preparation
        self._notices = controller.program.notices
        self._session = controller.model
        self._composer = composer
        self._window = window
        self._sizes: dict[Attachment, int] = {}
        """In tokens of the loaded model."""
        self._model = ""
        self._counted: Attachment | None = None
        self._count = TokenCount(self._session, self)
        self._count.counted.connect(self._on_counted)
        self._session.changed.connect(self._on_session_changed)
        composer.files_given.connect(self.take)
        composer.removed.connect(self._remove)

    @property
    def num_tokens(self) -> int:
        """Number of tokens, as far as counted."""
        attached = self._preparation.unsent.attachments
        return sum(self._sizes.get(one, 0) + _FRAME_TOKENS for one in attached)

    def choose(self) -> None:
        """Let the user choose files, and attach them."""
        names, _ = QFileDialog.getOpenFileNames(self._window, self.tr("Attach text files"))
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
        menu.addAction(self.tr("Attach to the message"), _with(self.attach, files))
        menu.addAction(self.tr("Import as conversations…"), _with(self.import_asked.emit, files))
        menu.aboutToHide.connect(menu.deleteLater)

    def attach(self, files: Sequence[Path]) -> None:
        """Attach files to the message; a notice says which files were refused, and why."""
        attached = list(self._preparation.unsent.attachments)
        refused: list[Sentence] = []
        for file in files:
            try:
                attachment = read_attachment(file, attached)
            except NotAttachedError as error:
                refused.append(error.sentence)
            else:
                if attachment not in attached:
                    attached.append(attachment)
        if refused:
            self._notices.post(Notice(joined(refused), "warning"))
        self._set(attached)
        self._composer.text.setFocus()

    def show(self) -> None:
        """Show the files of the unsent message."""
        self._composer.show_attachments([self._label(one) for one in self._preparation.unsent.attachments])
        self._count_next()

    def _remove(self, number: int) -> None:
        attached = list(self._preparation.unsent.attachments)
        del attached[number]
        self._set(attached)
        if not attached:
            self._composer.text.setFocus()

    def _set(self, attached: Sequence[Attachment]) -> None:
        self._preparation.set_unsent(structs.replace(self._preparation.unsent, attachments=tuple(attached)))
        self.show()
        self.measured.emit()

    def _label(self, attachment: Attachment) -> str:
        size = self._sizes.get(attachment)
        if size is None:
            return attachment.name
        tokens = self.tr("1 token") if size == 1 else self.tr("{num} tokens").format(num=counted(size))
        return f"{attachment.name} · {tokens}"

    # --- token counts --------------------------------------------------------------------------------------

    def _count_next(self) -> None:
        unknown = (one for one in self._preparation.unsent.attachments if one not in self._sizes)
        self._counted = next(unknown, None)
        if self._counted is None:
            self._count.forget()
        elif self._counted.text:
            self._count.count(self._counted.text)
        else:
            # An empty file needs no request.
            self._on_counted(0)

    def _on_counted(self, num_tokens: int) -> None:
        if self._counted is not None:
            self._sizes[self._counted] = num_tokens
            self.show()
            self.measured.emit()

    def _on_session_changed(self) -> None:
        info = self._session.info
        if info is not None and info.model != self._model:
            self._model = info.model
            self._sizes.clear()
            self.show()


def _with(act: Callable[[Sequence[Path]], object], files: Sequence[Path]) -> Callable[[], object]:
    return lambda: act(files)
