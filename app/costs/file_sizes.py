"""Counts the tokens of attached files for the model in use."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.costs.worker_queries import AskedModel, TokenCount
from app.model.attachment import text_read
from app.model.message import Message


class FileSizes(QObject):
    """Counts the tokens of files, one after another, and remembers them as long as the model stays the same."""

    changed = Signal()
    """Another file has been counted, or another model is in use."""

    def __init__(self, session: AskedModel) -> None:
        super().__init__()
        self._session = session
        self._model = ""
        """The identity of the loaded model; empty if there is none."""
        self._counted_by = ""
        """The identity of the model that counted the tokens."""
        self._sizes: dict[str, int | None] = {}
        """The number of tokens for each message's text. None means that the model can't count them."""
        self._wanted: dict[str, Message] = {}
        """The files that have not been counted yet, oldest first."""
        self._count = TokenCount(session, self)
        self._count.counted.connect(self._on_counted)
        self._count.failed.connect(self._on_failed)
        session.changed.connect(self._on_session_changed)

    def num_tokens(self, file: Message) -> int | None:
        """Return the number of tokens in a message of the role `file`, including the file's name.

        None means that it is not known yet; usually `changed` follows.
        """
        if file.text not in self._sizes and file.text not in self._wanted:
            self._wanted[file.text] = file
            if len(self._wanted) == 1:
                self._count_next()
        return self._sizes.get(file.text)

    def _count_next(self) -> None:
        if self._wanted and self._model:
            self._count.count(text_read(next(iter(self._wanted.values()))))

    def _on_counted(self, num_tokens: int) -> None:
        self._set(num_tokens)

    def _on_failed(self) -> None:
        self._set(None)

    def _set(self, num_tokens: int | None) -> None:
        if self._wanted:
            text = next(iter(self._wanted))
            del self._wanted[text]
            self._sizes[text] = num_tokens
            self._count_next()
            self.changed.emit()

    def _on_session_changed(self) -> None:
        info = self._session.info
        model = "" if info is None else f"{info.model} {info.identity}"
        if model == self._model:
            return
        self._model = model
        self._wanted.clear()
        self._count.forget()
        if model:
            if model != self._counted_by:
                self._counted_by = model
                self._sizes.clear()
            self.changed.emit()
