"""Which models can't guess for the one that is loaded, as far as their files tell; found out beside the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from app.answers.model_session import ModelSession
from app.archive.archive import Steps, Task
from app.preferences import Preferences

if TYPE_CHECKING:
    from worker.models.draft_check import Misfit

_Pair = tuple[str, str]
"""The names of a draft model and of the model that it would guess for."""


class DraftModels(QObject):
    """What is not known may be chosen: whether it can guess is told when it is loaded."""

    changed = Signal()
    """More is known."""

    def __init__(
        self, session: ModelSession, preferences: Preferences, run: Callable[[Callable[[], Steps]], Task]
    ) -> None:
        """`run`: begins work that needs no window."""
        super().__init__()
        self._session = session
        self._preferences = preferences
        self._run = run
        self._known: dict[_Pair, Misfit | None] = {}
        self._work: Task | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Those that may be offered."""
        return self._preferences.settings.possible_drafts(self._session.name)

    def misfit(self, name: str) -> Misfit | None:
        """Return why a model can't guess for the one that is loaded; None where nothing is known against it."""
        return None if name == self._session.draft else self._known.get((name, self._session.name))

    def look(self) -> None:
        """Find out anew, as files may have changed: somebody is about to choose."""
        names, model = self.names, self._session.name
        if self._work is None and names:
            self._work = self._run(lambda: _steps([(name, model) for name in names]))
            self._work.done.connect(self._on_done)
            self._work.ended.connect(self._on_ended)

    def _on_done(self, known: dict[_Pair, Misfit | None]) -> None:
        if any(self._known.get(pair) != found for pair, found in known.items()):
            self._known.update(known)
            self.changed.emit()

    def _on_ended(self) -> None:
        self._work = None


def _steps(pairs: list[_Pair]) -> Steps:
    # Imported when somebody wants it: not every start does.
    from worker.models.draft_check import misfit

    known: dict[_Pair, Misfit | None] = {}
    for draft, model in pairs:
        known[draft, model] = misfit(draft, model)
        yield len(known)
    return known
