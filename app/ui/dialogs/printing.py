"""Prints the visible branch: opens the system's print dialog, then prints the pages that another process makes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QWidget

from app.conversation.controller import Controller
from app.notices import Notice
from app.ui.languages import language_tag
from worker.sentence import Sentence, SentenceError

if TYPE_CHECKING:
    from PySide6.QtPrintSupport import QPrinter

    from app.model.message import MessageId

_WORK_S = 0.010
_PAUSE_MS = 5


class Printing(QObject):
    """At most one branch is printed at a time."""

    def __init__(self, controller: Controller, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._window = window
        self._is_printing = False
        self._steps: Iterator[bool] = iter(())
        self._timer = QTimer(self, interval=_PAUSE_MS)
        self._timer.timeout.connect(self._work)
        self._printer: QPrinter | None = None

    def ask(self) -> None:
        """Open the system's print dialog; printing starts if the user accepts."""
        from PySide6.QtPrintSupport import QPrintDialog, QPrinter

        conversation, path = self._controller.shown.conversation, self._controller.shown.path
        if conversation is None or not path or self._is_printing:
            return
        printer = QPrinter(QPrinter.PrinterMode.HighResolution)
        dialog = QPrintDialog(printer, self._window)
        dialog.setWindowTitle(self.tr("Print branch"))
        dialog.setOption(QPrintDialog.PrintDialogOption.PrintPageRange)
        place = conversation.id, path[-1].id
        dialog.accepted.connect(lambda: self._print(printer, *place))
        dialog.finished.connect(dialog.deleteLater)
        dialog.setWindowModality(Qt.WindowModality.WindowModal)
        dialog.show()

    def _print(self, printer: QPrinter, conversation_id: int, leaf_id: MessageId) -> None:
        from app.export.page_maker import PageMaker
        from app.export.printing import paper_of, print_pages, print_to_file
        from app.model.exports.excerpt import branch

        program = self._controller.program
        with program.notices.report_store_errors():
            try:
                excerpt = branch(program.store, conversation_id, leaf_id)
            except KeyError:
                return
            if excerpt.gaps is not None:
                program.notices.post(Notice(excerpt.gaps, "warning"))
            paper, pages, file = paper_of(printer), PageMaker(), printer.outputFileName()
            self._is_printing = True
            if file:
                task = program.archive.run(lambda: print_to_file(excerpt, paper, Path(file), pages, language_tag()))
                task.done.connect(self._on_printed)
                task.failed.connect(self._on_failed)
            else:
                self._printer = printer
                self._steps = print_pages(excerpt, paper, printer, pages)
                self._timer.start()

    def _work(self) -> None:
        end = time.monotonic() + _WORK_S
        try:
            for has_worked in self._steps:
                if not has_worked or time.monotonic() >= end:
                    return
        except SentenceError as error:
            self._on_failed(error.sentence)
        except OSError as error:
            self._on_failed(Sentence("The branch could not be printed: {error}.", error=error.strerror or str(error)))
        else:
            self._on_printed()
        self._timer.stop()
        # The printer gets the end of the document when it is deleted.
        self._steps, self._printer = iter(()), None

    def _on_printed(self) -> None:
        self._is_printing = False
        self._controller.program.notices.post(Notice(Sentence("The branch was sent to the printer.")))

    def _on_failed(self, why: Sentence) -> None:
        self._is_printing = False
        self._controller.program.notices.post(Notice(why, "warning"))
