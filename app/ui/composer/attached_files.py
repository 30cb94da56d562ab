"""The files that go with the message that is being written: chosen, pasted or dropped, measured, taken away again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import structs
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QFileDialog, QMenu, QWidget

from app.conversation.controller import Controller
from app.costs.questions import TokenCount
from app.model.attachments import NotAttachedError, read_attachment
from app.model.imports import SUFFIXES
from app.model.unsent import Attachment
from app.notices import Notice
from app.numbers import counted
from app.ui.composer.composer import Composer

_FRAME_TOKENS = 12
"""What a file's name and its fence are, about."""
_MAY_BE_BOTH = {*SUFFIXES, ".zip", ".md"}


class AttachedFiles(QObject):
    """Puts files into what lies ready in the conversation, and shows them in the composer."""

    import_asked = Signal(object)
    """Files, as paths, that are to be imported as conversations."""
    measured = Signal()
    """How many tokens they are is known, or another number."""

    def __init__(self, controller: Controller, composer: Composer, window: QWidget) -> None:
        super().__init__(window)
        self._preparation = controller.preparation
        self._notices = controller.program.notices
        self._session = controller.program.session
        self._composer = composer
        self._window = window
        self._sizes: dict[Attachment, int] = {}
        """In tokens of the model that is loaded."""
        self._model = ""
        self._counted: Attachment | None = None
        self._count = TokenCount(self._session, self)
        self._count.counted.connect(self._on_counted)
        self._session.changed.connect(self._on_session_changed)
        composer.files_given.connect(self.take)
        composer.removed.connect(self._remove)

    @property
    def num_tokens(self) -> int:
        """As far as is known."""
        attached = self._preparation.unsent.attachments
        return sum(self._sizes.get(one, 0) + _FRAME_TOKENS for one in attached)

    def choose(self) -> None:
        """Ask for files."""
        names, _ = QFileDialog.getOpenFileNames(self._window, self.tr("Attach text files"))
        self.attach([Path(name) for name in names])

    def take(self, files: Sequence[Path]) -> None:
        """Attach files that were pasted or dropped; what may be conversations is asked about."""
        if any(file.suffix.lower() in _MAY_BE_BOTH for file in files):
            menu = QMenu(self._window)
            self.offer(menu, files)
            menu.popup(QCursor.pos())
        else:
            self.attach(files)

    def offer(self, menu: QMenu, files: Sequence[Path]) -> None:
        """Let be chosen what is to be done with files that may be conversations."""
        menu.addAction(self.tr("Attach to the message"), _with(self.attach, files))
        menu.addAction(self.tr("Import as conversations…"), _with(self.import_asked.emit, files))
        menu.aboutToHide.connect(menu.deleteLater)

    def attach(self, files: Sequence[Path]) -> None:
        """Let these go with the message; a notice says of those that can't why."""
        attached = list(self._preparation.unsent.attachments)
        refused: list[str] = []
        for file in files:
            try:
                attachment = read_attachment(file, attached)
            except NotAttachedError as error:
                refused.append(str(error))
            else:
                if attachment not in attached:
                    attached.append(attachment)
        if refused:
            self._notices.post(Notice(" ".join(refused), "warning"))
        self._put(attached)
        self._composer.text.setFocus()

    def show(self) -> None:
        """Show those that lie ready now."""
        self._composer.show_attachments([self._said(one) for one in self._preparation.unsent.attachments])
        self._count_next()

    def _remove(self, number: int) -> None:
        attached = list(self._preparation.unsent.attachments)
        del attached[number]
        self._put(attached)
        if not attached:
            self._composer.text.setFocus()

    def _put(self, attached: Sequence[Attachment]) -> None:
        self._preparation.keep(structs.replace(self._preparation.unsent, attachments=tuple(attached)))
        self.show()
        self.measured.emit()

    def _said(self, attachment: Attachment) -> str:
        size = self._sizes.get(attachment)
        if size is None:
            return attachment.name
        tokens = self.tr("1 token") if size == 1 else self.tr("{num} tokens").format(num=counted(size))
        return f"{attachment.name} · {tokens}"

    # --- how large they are --------------------------------------------------------------------------------

    def _count_next(self) -> None:
        unknown = (one for one in self._preparation.unsent.attachments if one not in self._sizes)
        self._counted = next(unknown, None)
        if self._counted is None:
            self._count.forget()
        elif self._counted.text:
            self._count.count(self._counted.text)
        else:
            # Of nothing nobody is asked.
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
