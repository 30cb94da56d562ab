"""Finds the models on this machine that can be draft models of another: much smaller, with the same tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal

from app.archive.archive import Steps, Task
from app.catalog.entry import LocalModel

_MIN_RATIO = 2.0
"""A draft model that is larger than this fraction of the model gains no speed."""
_GOOD_RATIO = 5.0
"""A draft model that is smaller than this fraction of the model is suggested."""


class DraftChoice(NamedTuple):
    """A model that can be the draft model of another."""

    name: str
    is_suggested: bool


class DraftChoices(QObject):
    """The possible draft models for each model. The files of models are compared in the background."""

    changed = Signal()

    def __init__(self, run: Callable[[Callable[[], Steps]], Task]) -> None:
        """`run` starts a background task."""
        super().__init__()
        self._run = run
        self._known: dict[str, Sequence[DraftChoice]] = {}
        self._task: Task | None = None
        self._next: tuple[LocalModel, Sequence[LocalModel]] | None = None

    def of(self, model: LocalModel) -> Sequence[DraftChoice]:
        """Return the draft models that can be used with `model`, the suggested one first; empty if none is known."""
        return self._known.get(model.name, ())

    def look_for(self, model: LocalModel, models: Sequence[LocalModel]) -> None:
        """Find out in the background which of `models` can be draft models of `model`."""
        self._next = (model, smaller_ones(model, models))
        if self._task is None:
            self._begin()

    def _begin(self) -> None:
        if self._next is not None:
            model, smaller = self._next
            self._next = None
            self._task = self._run(lambda: _steps(model, smaller))
            self._task.done.connect(self._on_done)
            self._task.ended.connect(self._on_ended)

    def _on_done(self, found: tuple[str, Sequence[DraftChoice]]) -> None:
        name, choices = found
        if self._known.get(name, ()) != choices:
            self._known[name] = choices
            self.changed.emit()

    def _on_ended(self) -> None:
        self._task = None
        self._begin()


def smaller_ones(model: LocalModel, models: Sequence[LocalModel]) -> list[LocalModel]:
    """Return the models that are much smaller than `model`. Those to suggest come first, the largest of them first."""
    count = model.num_parameters or 0
    others = [
        other
        for other in models
        if other.format == "mlx" and other.problem is None and other.path != model.path and other.num_parameters
    ]
    smaller = [other for other in others if (other.num_parameters or 0) * _MIN_RATIO <= count]
    return sorted(smaller, key=lambda other: (not _is_good(other, model), -(other.num_parameters or 0)))


def _is_good(draft: LocalModel, model: LocalModel) -> bool:
    return (draft.num_parameters or 0) * _GOOD_RATIO <= (model.num_parameters or 0)


def _steps(model: LocalModel, smaller: Sequence[LocalModel]) -> Steps:
    # Most starts do not need this import.
    from worker.models.draft_check import misfit

    choices: list[DraftChoice] = []
    for other in smaller:
        yield len(choices)
        # Without this file, nothing is known of the tokens.
        has_tokens = all((each.path / "tokenizer.json").is_file() for each in (other, model))
        if has_tokens and misfit(str(other.path), str(model.path)) is None:
            choices.append(DraftChoice(other.name, is_suggested=not choices and _is_good(other, model)))
    return model.name, tuple(choices)
