"""Finds the models that can't be draft models of the loaded model, in the background, from their files."""

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
"""The names of a draft model and of its main model."""


class DraftModels(QObject):
    """The draft models that are known not to fit. Others may be chosen; loading them shows whether they fit."""

    changed = Signal()
    """More models are known not to fit."""

    def __init__(
        self, session: ModelSession, preferences: Preferences, run: Callable[[Callable[[], Steps]], Task]
    ) -> None:
        """`run` starts a background task."""
        super().__init__()
        self._session = session
        self._preferences = preferences
        self._run = run
        self._known: dict[_Pair, Misfit | None] = {}
        self._task: Task | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The models to offer as draft models."""
        return self._preferences.settings.possible_drafts(self._session.name)

    def misfit(self, name: str) -> Misfit | None:
        """Return why a model can't be a draft model of the loaded one; None if no reason is known."""
        return None if name == self._session.draft else self._known.get((name, self._session.name))

    def check(self) -> None:
        """Check all models again, because their files may have changed. Called when the user is about to choose."""
        names, model = self.names, self._session.name
        if self._task is None and names:
            self._task = self._run(lambda: _steps([(name, model) for name in names]))
            self._task.done.connect(self._on_done)
            self._task.ended.connect(self._on_ended)

    def _on_done(self, known: dict[_Pair, Misfit | None]) -> None:
        if any(self._known.get(pair) != found for pair, found in known.items()):
            self._known.update(known)
            self.changed.emit()

    def _on_ended(self) -> None:
        self._task = None


def _steps(pairs: list[_Pair]) -> Steps:
    # Most starts do not need this import.
    from worker.models.draft_check import misfit

    known: dict[_Pair, Misfit | None] = {}
    for draft, model in pairs:
        known[draft, model] = misfit(draft, model)
        yield len(known)
    return known
