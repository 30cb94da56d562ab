"""Prints the visible branch: opens the system's print dialog, then prints the pages, a few at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QWidget

from app.conversation.controller import Controller
from app.notices import Notice
from worker.sentence import Sentence

if TYPE_CHECKING:
    from PySide6.QtPrintSupport import QPrinter

    from app.model.message import MessageId

_WORK_S = 0.010


class Printing(QObject):
    """At most one branch is printed at a time."""

    def __init__(self, controller: Controller, window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._window = window
        self._steps: Iterator[object] = iter(())
        self._timer = QTimer(self, interval=0)
        self._timer.timeout.connect(self._work)
        self._printer: QPrinter | None = None

    def ask(self) -> None:
        """Open the system's print dialog; printing starts if the user accepts."""
        from PySide6.QtPrintSupport import QPrintDialog, QPrinter

        conversation, path = self._controller.shown.conversation, self._controller.shown.path
        if conversation is None or not path or self._timer.isActive():
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
        from app.export.printing import print_pages
        from app.model.exports.excerpt import Options, branch

        program = self._controller.program
        with program.notices.report_store_errors():
            try:
                excerpt = branch(program.store, conversation_id, leaf_id)
            except KeyError:
                return
            if excerpt.gaps is not None:
                program.notices.post(Notice(excerpt.gaps, "warning"))
            self._printer = printer
            self._steps = print_pages(excerpt, Options(), printer)
            self._timer.start()

    def _work(self) -> None:
        end = time.monotonic() + _WORK_S
        try:
            for _ in self._steps:
                if time.monotonic() >= end:
                    return
        except OSError as error:
            why = Sentence("The branch could not be printed: {error}.", error=error.strerror or str(error))
            self._controller.program.notices.post(Notice(why, "warning"))
        else:
            self._controller.program.notices.post(Notice(Sentence("The branch was sent to the printer.")))
        self._timer.stop()
        # The printer gets the end of the document when it is deleted.
        self._steps, self._printer = iter(()), None
