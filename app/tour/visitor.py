"""Who goes on the tour: hands for keys and buttons, eyes for what comes of it, a camera. It knows no step."""

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
from app.tour.picture import photograph
from app.ui.message.message_view import MessageView

_W = TypeVar("_W", bound=QWidget)
_PATIENCE_S = 120
_SETTLED_MS = 80


class UnexpectedError(Exception):
    """A step found something else than it should."""


def expect(holds: bool, otherwise: str) -> None:
    """Raise `UnexpectedError` where something does not hold."""
    if not holds:
        raise UnexpectedError(otherwise)


class Visitor:
    """Works one window as a person does."""

    def __init__(self, application: Application, out: Path, folder: Path) -> None:
        """`out`: the folder for the pictures; `folder`: for what nobody looks at later."""
        self.out = out
        self.folder = folder
        self.application = application
        self.controller = application.controller
        self.window = application.window
        self.why_not_loaded = ""
        application.session.load_failed.connect(self._on_load_failed)

    def _on_load_failed(self, why: str) -> None:
        self.why_not_loaded = why

    # --- hands ---------------------------------------------------------------------------------------------

    def press_key_of(self, action: str) -> None:
        """Press the key that the menus show beside an action."""
        # Where another window was closed, nobody but a window manager says that this one is meant again.
        self.window.activateWindow()
        self.wait("the window's turn", self.window.isActiveWindow)
        QTest.keySequence(self.window.focusWidget() or self.window, self.window.action(action).shortcut())

    def press(self, view: MessageView, key: str) -> None:
        """Put the focus on a message and press a letter."""
        view.text.setFocus(Qt.FocusReason.TabFocusReason)
        QTest.keyClicks(view.text, key)

    def type_over(self, field: QWidget, text: str) -> None:
        """Write in a field in place of what stands there."""
        QTest.keySequence(field, QKeySequence(QKeySequence.StandardKey.SelectAll))
        QTest.keyClicks(field, text)

    def ask(self, text: str) -> None:
        """Write a question and send it."""
        field = self.window.composer.text
        field.setFocus()
        QTest.keyClicks(field, text)
        QTest.keyClick(field, Qt.Key.Key_Return)

    def click(self, widget: QWidget, place: QPoint | None = None) -> None:
        """Click in the middle of something, or at a place of it."""
        QTest.mouseClick(
            widget, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place or widget.rect().center()
        )

    def choose(self, menu: QMenu, text: str) -> None:
        """Go down a menu by keys and take an entry."""
        for _ in menu.actions():
            QTest.keyClick(menu, Qt.Key.Key_Down)
            active: QAction | None = menu.activeAction()
            if active is not None and active.text() == text:
                QTest.keyClick(menu, Qt.Key.Key_Return)
                return
        raise UnexpectedError(f"the menu has no {text!r}")

    # --- eyes ----------------------------------------------------------------------------------------------

    def wait(self, what: str, is_there: Callable[[], bool]) -> None:
        """Let the program go on until something is there."""
        deadline = time.monotonic() + _PATIENCE_S
        while not is_there():
            if time.monotonic() > deadline:
                raise UnexpectedError(f"{what} did not come within {_PATIENCE_S} s")
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)

    def settle(self) -> None:
        """Let what has been asked for be laid out and painted."""
        loop = QEventLoop()
        QTimer.singleShot(_SETTLED_MS, loop.quit)
        loop.exec()

    def find(self, kind: type[_W], name: str) -> _W:
        """Return what is seen of a kind by its accessible name."""
        shown = (widget for widget in self.window.findChildren(kind) if widget.isVisible())
        found = next((widget for widget in shown if widget.accessibleName() == name), None)
        if found is None:
            raise UnexpectedError(f"there is no {kind.__name__} called {name!r}")
        return found

    def opened(self, kind: type[_W]) -> _W:
        """Wait for a window or a panel of a kind, and return it."""

        def seen() -> list[_W]:
            return [widget for widget in self.window.findChildren(kind) if widget.isVisible()]

        self.wait(f"the {kind.__name__}", lambda: bool(seen()))
        # Its keys work once it is active.
        self.settle()
        return seen()[-1]

    def view_of(self, message: Message) -> MessageView:
        """Bring a message into sight."""
        view = self.window.transcript.reveal(message.id)
        if view is None:
            raise UnexpectedError(f"{message.text[:40]!r} is not on the page")
        return view

    def finished_answer(self) -> Message:
        """Wait until the last message is an answer that is over, and shown."""
        self.wait("the answer", lambda: self.controller.streaming_message is None)
        answer = self.controller.path[-1]
        expect(answer.role == "assistant" and answer.state == "complete", f"the answer ended as {answer.state}")
        expect(bool(answer.text.strip()), "the answer is empty")
        self.settle()
        expect(self.view_of(answer).text.content == answer.text, "the page does not show the answer")
        return answer

    # --- the camera ----------------------------------------------------------------------------------------

    def picture(self, name: str, of: QWidget | None = None) -> None:
        """Photograph the window, or another one, under the next number."""
        self.settle()
        number = len(list(self.out.glob("[0-9][0-9]-*.png"))) + 1
        photograph(of or self.window).save(str(self.out / f"{number:02}-{name.replace(' ', '-')}.png"))


def figures_of(answer: Message) -> dict[str, Any]:
    """Return what an answer has cost."""
    if answer.record is None:
        raise UnexpectedError("The answer has no record")
    return msgspec.structs.asdict(answer.record.figures)
