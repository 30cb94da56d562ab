"""The files of a project: a chip for each, a button that adds files, and a place to drop them."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from msgspec import structs
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.costs.file_sizes import FileSizes
from app.files.reading import FileReader, Job, NotAttachedError, is_document, left_out, read_text_file
from app.model.attachment import MAX_CHARS, Attachment, unsent_files
from app.numbers import counted
from app.ui.composer.chips import Chips
from app.ui.theme import Theme
from worker.sentence import Sentence, joined


class ProjectFiles(QWidget):
    """Shows the files, adds and removes them. Documents are read in the background."""

    changed = Signal()
    refused = Signal(object)
    """A `Sentence` that says which files can't be added or which parts are left out, and why."""

    def __init__(self, files: Sequence[Attachment], sizes: FileSizes, theme: Theme) -> None:
        super().__init__()
        self.files = tuple(files)
        self._sizes = sizes
        self._reader = FileReader(self)
        self._reader.read.connect(self._on_read)
        self.chips = Chips(self.tr("Files"), theme)
        self.chips.removed.connect(self._remove)
        self.chips.opened.connect(self._open_parts)
        self.add_button = QPushButton(self.tr("Add files…"))
        self.add_button.setAutoDefault(False)
        self.add_button.setToolTip(self.tr("Or drop them here"))
        self.add_button.clicked.connect(self._choose)
        row = QHBoxLayout()
        row.addWidget(self.add_button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self.chips)
        column.addLayout(row)
        sizes.changed.connect(self._show)
        self._show()

    @property
    def are_read(self) -> bool:
        """Whether all documents have been read."""
        return not self._reader.jobs_of(None)

    def add(self, paths: Sequence[Path]) -> None:
        """Add files; `refused` says which ones can't be added."""
        problems: list[Sentence] = []
        for path in paths:
            if is_document(path):
                self._reader.start(path, None)
            else:
                try:
                    self._take(read_text_file(path))
                except NotAttachedError as error:
                    problems.append(error.sentence)
        if problems:
            self.refused.emit(joined(problems))
        self._show()
        self.changed.emit()

    def _choose(self) -> None:
        names, _ = QFileDialog.getOpenFileNames(self, self.tr("Add files"))
        self.add([Path(name) for name in names])

    def _take(self, found: Attachment) -> None:
        """Add a file that was read. Raises `NotAttachedError`."""
        if found.num_chars > MAX_CHARS - sum(one.num_chars for one in self.files):
            raise NotAttachedError(
                Sentence(
                    "“{name}” has {num_chars} characters, but a project can hold only {max_chars} of files. "
                    "Add a part of it.",
                    name=found.name,
                    num_chars=found.num_chars,
                    max_chars=MAX_CHARS,
                )
            )
        if found not in self.files:
            self.files = (*self.files, found)
        cut = left_out(found)
        if cut is not None:
            self.refused.emit(cut)

    def _on_read(self, _job: Job, found: Attachment | Sentence) -> None:
        if isinstance(found, Sentence):
            self.refused.emit(found)
        else:
            try:
                self._take(found)
            except NotAttachedError as error:
                self.refused.emit(error.sentence)
        self._show()
        self.changed.emit()

    def _remove(self, number: int) -> None:
        if number < len(self.files):
            self.files = (*self.files[:number], *self.files[number + 1 :])
        else:
            with contextlib.suppress(IndexError):
                self._reader.stop(self._reader.jobs_of(None)[number - len(self.files)])
        self._show()
        self.changed.emit()
        if not self.files:
            self.add_button.setFocus()

    def _show(self) -> None:
        texts: list[str] = []
        for file, message in zip(self.files, unsent_files(self.files), strict=True):
            size = self._sizes.num_tokens(message)
            words = [file.name]
            if file.left_out:
                num_chosen = len(file.parts) - len(file.left_out)
                chosen = self.tr("{num} of {total} parts")
                words.append(chosen.format(num=counted(num_chosen), total=counted(file.num_parts)))
            if size is not None:
                words.append(self.tr("1 token") if size == 1 else self.tr("{num} tokens").format(num=counted(size)))
            texts.append(" · ".join(words))
        texts += [self.tr("{name} · reading…").format(name=job.path.name) for job in self._reader.jobs_of(None)]
        self.chips.show_texts(texts, tuple(index for index, file in enumerate(self.files) if file.parts))

    def _open_parts(self, number: int) -> None:
        from app.ui.composer.parts_popover import PartsPopover

        file = self.files[number]
        size = self._sizes.num_tokens(unsent_files([file])[0])
        popover = PartsPopover(file, size, None, self)

        def choose(left_out: Sequence[int]) -> None:
            self.files = tuple(
                structs.replace(one, left_out=tuple(left_out)) if index == number else one
                for index, one in enumerate(self.files)
            )
            self._show()
            self.changed.emit()

        popover.chosen.connect(choose)
        popover.show_above(self.chips, popover.parts)
