"""Searches the hub and requests details of its models, in threads. Only the newest search is answered."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, QTimer, Signal

from app.catalog.entry import RemoteModel
from worker.sentence import Sentence, SentenceError

if TYPE_CHECKING:
    from app.catalog.hub import Hits, Hub

_log = logging.getLogger(__name__)

SETTLED_MS = 300
"""A search begins when nothing was typed for this time."""


class HubSearch(QObject):
    """Searches while the user types. If a newer search has begun, the results of older ones are dropped."""

    changed = Signal()
    """The hits, the failure or `is_searching` changed."""
    details_changed = Signal(str)
    """A repository: its details are available now, or the reason why they can't be requested."""
    token_answered = Signal(object, bool)
    """Whether an entered token is used now, preceded by a `Sentence` if it is refused or not kept, else by None."""
    _answered = Signal(str, int, object)
    """The only signal from the threads to the window's thread: the kind of the request, its number, the result."""

    def __init__(self, hub: Hub, settled_ms: int = SETTLED_MS) -> None:
        super().__init__()
        self._hub = hub
        self._number = 0
        """The number of the newest search."""
        self._words: str | None = None
        self._hits: Hits | None = None
        self.failure: SentenceError | None = None
        """Why the newest search failed; None if it has not failed."""
        self.is_searching = False
        self._details: dict[str, Sequence[RemoteModel] | SentenceError | None] = {}
        """The details by repository; None while they are being requested."""
        self._timer = QTimer(self, singleShot=True, interval=settled_ms)
        self._timer.timeout.connect(self._begin)
        self._answered.connect(self._on_answered)

    def page_of(self, repo: str) -> str:
        """Return the address of a repository's page."""
        return f"{self._hub.endpoint}/{repo}"

    @property
    def hits(self) -> Sequence[RemoteModel]:
        """The models found. Until the newest search is answered, those of the search before."""
        return () if self._hits is None else self._hits.models

    @property
    def has_more(self) -> bool:
        return self._hits is not None and bool(self._hits.more)

    @property
    def words(self) -> str:
        return self._words or ""

    def search(self, words: str) -> None:
        """After a short pause, search for models whose names contain all words. Without words, nothing is searched."""
        words = " ".join(words.split())
        if words == self._words:
            return
        self._words = words
        self._number += 1
        self.failure = None
        if not words:
            self._timer.stop()
            self._hits, self.is_searching = None, False
        else:
            self.is_searching = True
            self._timer.start()
        self.changed.emit()

    def search_again(self) -> None:
        """Repeat a search that failed."""
        words, self._words = self.words, None
        self.search(words)

    def search_more(self) -> None:
        """Add the next page of hits."""
        hits = self._hits
        if hits is not None and hits.more and not self.is_searching:
            self.is_searching = True
            self._number += 1
            self._run("more", self._number, lambda hub: hub.search_more(hits))
            self.changed.emit()

    def known_details(self, repo: str) -> Sequence[RemoteModel] | SentenceError | None:
        """Return the models in a repository, or the error of the request; None until the hub has answered."""
        return self._details.get(repo)

    def details(self, repo: str) -> None:
        """Request the details of a repository, unless they are known or have been requested."""
        if repo not in self._details:
            self.ask_details(repo)

    def ask_details(self, repo: str) -> None:
        """Request the details of a repository, even if they are known."""
        self._details[repo] = None
        self._run(repo, 0, lambda hub: hub.details(repo))

    def enter_token(self, text: str) -> None:
        """Store an access token that the user typed, and use it for all requests from now on."""
        self._run("token", 0, lambda hub: hub.tokens.enter(text))

    def _begin(self) -> None:
        words = self.words
        self._run("search", self._number, lambda hub: hub.search(words))

    # --- in threads ----------------------------------------------------------------------------------------

    def _run(self, what: str, number: int, ask: Callable[[Hub], Any]) -> None:
        def run() -> None:
            try:
                answer = ask(self._hub)
            except SentenceError as error:
                answer = error
            except Exception as error:  # noqa: BLE001 (the user waits for an answer, whatever the error)
                _log.error("The hub was asked in vain", exc_info=error)
                answer = SentenceError(
                    Sentence("An error in Bough stopped this ({kind}). Try again.", kind=type(error).__name__)
                )
            try:
                self._answered.emit(what, number, answer)
            except RuntimeError:
                # Bough has been closed meanwhile.
                return

        threading.Thread(target=run, name="hub", daemon=True).start()

    # --- in the window's thread ----------------------------------------------------------------------------

    def _on_answered(self, what: str, number: int, answer: Any) -> None:
        match what:
            case "search" | "more":
                if number == self._number:
                    self._take_hits(what, answer)
            case "token":
                self._on_token(answer)
            case _:
                self._details[what] = answer
                self.details_changed.emit(what)

    def _take_hits(self, what: str, answer: Hits | SentenceError) -> None:
        self.is_searching = False
        if isinstance(answer, SentenceError):
            self.failure = answer
            if what == "search":
                self._hits = None
        elif what == "more" and self._hits is not None:
            known = {model.key for model in self._hits.models}
            new = tuple(model for model in answer.models if model.key not in known)
            self._hits = type(answer)((*self._hits.models, *new), answer.more)
        else:
            self._hits = answer
        self.changed.emit()

    def _on_token(self, answer: Sentence | SentenceError | None) -> None:
        is_used = not isinstance(answer, SentenceError)
        if is_used:
            # Repositories that refused the old token may accept this one.
            for repo in [repo for repo, found in self._details.items() if isinstance(found, SentenceError)]:
                self.ask_details(repo)
        self.token_answered.emit(answer.sentence if isinstance(answer, SentenceError) else answer, is_used)
