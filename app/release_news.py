"""Asks for news of releases once a day, if the user said so, and posts a notice about a newer version."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal

from app.notices import Notice, Notices, OpenPage
from app.preferences import Preferences
from worker.sentence import Sentence
from worker.surroundings import program_version

_log = logging.getLogger(__name__)

DAY_MS = 24 * 3600 * 1000
_LOOK_MS = 3600 * 1000


class ReleaseNews(QObject):
    """Asks in a thread. A failure is a line in the log, because it concerns nothing that the user does."""

    _answered = Signal(object)
    """A `Release`, None, or why there is no answer, as a `FeedError`. Emitted in the thread."""
    asked = Signal()
    """An answer or a failure has come."""

    def __init__(
        self, preferences: Preferences, notices: Notices, address: str, now_ms: Callable[[], int] | None = None
    ) -> None:
        """`address`: that of the feed; empty: this build has none. `now_ms`: the time; None asks the system."""
        super().__init__()
        self._preferences, self._notices, self.address = preferences, notices, address
        self._now_ms = now_ms or (lambda: int(time.time() * 1000))
        self._is_asking = False
        self._answered.connect(self._on_answered)
        preferences.changed.connect(self.look)
        self._timer = QTimer(self, interval=_LOOK_MS)
        self._timer.timeout.connect(self.look)
        if address and not preferences.is_safe:
            self._timer.start()
            self.look()

    def look(self) -> None:
        """Ask the feed if the user wants that, and the last time was more than a day ago."""
        settings = self._preferences.settings
        since_ms = self._now_ms() - settings.releases_asked_ms
        if not self.address or self._preferences.is_safe or self._is_asking or not settings.asks_for_releases:
            return
        # A clock that was wrong must not stop this for years.
        if 0 <= since_ms < DAY_MS:
            return
        self._is_asking = True
        self._preferences.change(releases_asked_ms=self._now_ms())
        threading.Thread(target=self._ask, name="release feed", daemon=True).start()

    def _ask(self) -> None:
        from app.care.releases import FeedError, newest

        try:
            found: object = newest(self.address)
        except FeedError as error:
            found = error
        except Exception as error:  # noqa: BLE001 (news are no reason to disturb anybody)
            _log.error("The release feed was asked in vain", exc_info=error)
            found = None
        # Bough may have ended meanwhile.
        with contextlib.suppress(RuntimeError):
            self._answered.emit(found)

    def _on_answered(self, found: object) -> None:
        from app.care.releases import FeedError, Release, is_newer

        self._is_asking = False
        match found:
            case FeedError(sentence=why):
                _log.info("No news of releases: %s", why)
            case Release(version=version, page=page) if is_newer(version, program_version()):
                text = Sentence(
                    "Bough {version} is there. This is {present}.", version=version, present=program_version()
                )
                self._notices.post(Notice(text, action=OpenPage(page)))
            case _:
                _log.info("There is no newer release")
        self.asked.emit()
