"""Checks that the window's background work is done, for tests that wait for it."""

from __future__ import annotations

from PySide6.QtCore import QEventLoop, QTimer

from app.model.settings import Settings
from app.ui.message.message_view import MessageView
from app.ui.text.formulas import formulas
from app.ui.text.markdown_document import MarkdownDocument
from app.ui.text.message_text import MessageText
from app.ui.theme import chosen_theme
from app.ui.transcript.message_list import MessageList
from app.ui.window import MainWindow
from tests.waiting import PATIENCE_MS


def are_formulas_rendered() -> bool:
    return not (formulas()._pending or formulas()._teller.isActive())  # pyright: ignore[reportPrivateUsage]


def is_highlighted(document: MarkdownDocument) -> bool:
    timer = document.highlighter.findChild(QTimer)
    return timer is not None and not timer.isActive()


def is_idle(text: MessageText | MarkdownDocument) -> bool:
    """Return whether nothing is left to do except to wait for pictures of formulas."""
    if isinstance(text, MarkdownDocument):
        return not text._timer.isActive()  # pyright: ignore[reportPrivateUsage]
    return text._ahead is None and is_idle(text._markdown)  # pyright: ignore[reportPrivateUsage]


def has_chosen_look(window: MainWindow, settings: Settings) -> bool:
    """Return whether the window has the theme and the text size of these settings, and paints."""
    return window.updatesEnabled() and window.styleSheet() == chosen_theme(settings).style_sheet()


def is_at_rest(messages: MessageList) -> bool:
    """Return whether nothing is moving, all texts are written and fitted, and no view is about to be created."""
    timers = (messages._idle_timer, messages._fit_timer)  # pyright: ignore[reportPrivateUsage]
    is_moving = messages._animation.is_moving or any(timer.isActive() for timer in timers)  # pyright: ignore[reportPrivateUsage]
    return not is_moving and all(is_idle(view.text) and _is_fitted(view) for view in messages.views)


def _is_fitted(view: MessageView) -> bool:
    """Return whether a view has got the height of its text, for which it asks by a posted event."""
    return view.text.isHidden() or view.height() >= view.text.height()


def wait_for_text(document: MarkdownDocument) -> None:
    """Wait until the part of the text that should be shown is written."""
    loop = QEventLoop()
    document.completed.connect(loop.quit)
    if not document.is_complete:
        QTimer.singleShot(PATIENCE_MS, loop, loop.quit)
        loop.exec()
    document.completed.disconnect(loop.quit)
    assert document.is_complete
