"""The tour's user: presses keys and buttons, waits for results and takes pictures."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from PySide6.QtCore import QCoreApplication, QEventLoop, QPoint, Qt, QTimer
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QMenu, QWidget

from app.application import Application
from app.model.message import Message
from app.tour.screen import photograph
from app.ui.message.message_view import MessageView

_W = TypeVar("_W", bound=QWidget)
_TIMEOUT_S = 120
_SETTLED_MS = 80


class UnexpectedError(Exception):
    """A step of the tour found something unexpected."""


def expect(holds: bool, problem: str) -> None:
    """Raise `UnexpectedError` with `problem` unless `holds`."""
    if not holds:
        raise UnexpectedError(problem)


class Visitor:
    """Operates one window as a user does."""

    def __init__(self, application: Application, out: Path, folder: Path) -> None:
        """`out` is the folder for the pictures, `folder` one for temporary files."""
        self.out = out
        self.folder = folder
        self.application = application
        self.controller = application.controller
        self.window = application.window
        self.why_not_loaded = ""
        application.session.load_failed.connect(self._on_load_failed)

    def _on_load_failed(self, why: str) -> None:
        self.why_not_loaded = why

    # --- keys and mouse ---------------------------------------------------------------------------------------

    def press_key_of(self, action: str) -> None:
        """Press the shortcut of a menu action."""
        # After another window is closed only a window manager would activate this one again.
        self.window.activateWindow()
        self.wait("the active window", self.window.isActiveWindow)
        QTest.keySequence(self.window.focusWidget() or self.window, self.window.action(action).shortcut())

    def press(self, view: MessageView, key: str) -> None:
        """Focus a message and press a letter."""
        view.text.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClicks(view.text, key)

    def type_over(self, field: QWidget, text: str) -> None:
        """Replace the text of a field."""
        QTest.keySequence(field, QKeySequence(QKeySequence.StandardKey.SelectAll))
        QTest.keyClicks(field, text)

    def ask(self, text: str) -> None:
        """Type a question and send it."""
        field = self.window.composer.text
        field.setFocus()
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return)

    def click(self, widget: QWidget, place: QPoint | None = None) -> None:
        """Click in the middle of a widget, or at `place`."""
        QTest.mouseClick(
            widget, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place or widget.rect().center()
        )

    def choose(self, menu: QMenu, text: str) -> None:
        """Choose a menu entry with the keyboard."""
        for _ in menu.actions():
            QTest.keyClick(menu, Qt.Key.Key_Down)
            active: QAction | None = menu.activeAction()
            if active is not None and active.text() == text:
                QTest.keyClick(menu, Qt.Key.Key_Return)
                return
        raise UnexpectedError(f"the menu has no {text!r}")

    # --- results ----------------------------------------------------------------------------------------------

    def wait(self, what: str, is_there: Callable[[], bool]) -> None:
        """Process events until `is_there` returns True; `what` names the result in an error."""
        deadline = time.monotonic() + _TIMEOUT_S
        while not is_there():
            if time.monotonic() > deadline:
                raise UnexpectedError(f"{what} did not come within {_TIMEOUT_S} s")
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)

    def settle(self) -> None:
        """Wait until pending layout and painting are done."""
        loop = QEventLoop()
        QTimer.singleShot(_SETTLED_MS, loop.quit)
        loop.exec()

    def find(self, kind: type[_W], name: str) -> _W:
        """Return the visible widget of a class with this accessible name."""
        shown = (widget for widget in self.window.findChildren(kind) if widget.isVisible())
        found = next((widget for widget in shown if widget.accessibleName() == name), None)
        if found is None:
            raise UnexpectedError(f"there is no {kind.__name__} named {name!r}")
        return found

    def opened(self, kind: type[_W]) -> _W:
        """Wait for a window or panel of a class, and return it."""

        def seen() -> list[_W]:
            return [widget for widget in self.window.findChildren(kind) if widget.isVisible()]

        self.wait(f"the {kind.__name__}", lambda: bool(seen()))
        # Its shortcuts work once it is active.
        self.settle()
        return seen()[-1]

    def view_of(self, message: Message) -> MessageView:
        """Scroll to a message and return its view."""
        view = self.window.transcript.reveal(message.id)
        if view is None:
            raise UnexpectedError(f"{message.text[:40]!r} is not on the page")
        return view

    def finished_answer(self) -> Message:
        """Wait until the last message is a complete answer and shown, and return it."""
        self.wait("the answer", lambda: self.controller.shown.streaming_message is None)
        answer = self.controller.shown.path[-1]
        expect(answer.role == "assistant" and answer.state == "complete", f"the answer ended as {answer.state}")
        expect(bool(answer.text.strip()), "the answer is empty")
        self.settle()
        expect(self.view_of(answer).text.content == answer.text, "the page does not show the answer")
        return answer

    # --- pictures ---------------------------------------------------------------------------------------------

    def picture(self, name: str, of: QWidget | None = None) -> None:
        """Save a picture of the window, or of another widget, under the next number."""
        self.settle()
        number = len(list(self.out.glob("[0-9][0-9]-*.png"))) + 1
        photograph(of or self.window).save(str(self.out / f"{number:02}-{name.replace(' ', '-')}.png"))


def figures_of(answer: Message) -> dict[str, Any]:
    """Return an answer's token counts and times."""
    if answer.record is None:
        raise UnexpectedError("The answer has no record")
    return msgspec.structs.asdict(answer.record.figures)
