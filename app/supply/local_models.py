"""The models on this machine: finds them in the background and keeps the list for all windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import structs
from PySide6.QtCore import QObject, Signal

from app.archive.archive import Steps, Task
from app.catalog.entry import LocalModel
from app.preferences import Preferences
from worker.sentence import Sentence, SentenceError


class LocalModels(QObject):
    """The models that the last search found. Empty until `look` is first called; a search adds models one by one."""

    changed = Signal()

    def __init__(
        self, models_folder: Path, preferences: Preferences, run: Callable[[Callable[[], Steps]], Task]
    ) -> None:
        """`models_folder` has Bough's own models. `run` starts a background task."""
        super().__init__()
        self.models_folder = models_folder
        self._preferences = preferences
        self._run = run
        self._found: tuple[LocalModel, ...] = ()
        self._opened: dict[str, LocalModel] = {}
        """Models that the user opened in other folders, by name."""
        self._task: Task | None = None
        self._is_due = False
        """Whether a further search is needed, because files may have changed since the running search began."""
        self.failure: Sentence | None = None
        """Why the last search failed; None if it did not."""
        self.has_looked = False
        """Whether any search has ended."""

    @property
    def all(self) -> Sequence[LocalModel]:
        known = {model.name for model in self._found}
        return [*self._found, *(model for name, model in self._opened.items() if name not in known)]

    @property
    def is_looking(self) -> bool:
        return self._task is not None

    def named(self, name: str) -> LocalModel | None:
        """Return the model that `load_model` takes by this name; None if the last search did not find it."""
        return next((model for model in self.all if model.name == name), None)

    def look(self) -> None:
        """Search again, because files may have changed."""
        if self._task is not None:
            self._is_due = True
            return
        folders = tuple(Path(name) for name in self._preferences.settings.model_folders)
        models_folder = self.models_folder
        self.failure = None
        self._task = self._run(lambda: _steps(models_folder, folders))
        self._task.progressed.connect(self._on_progress)
        self._task.done.connect(self._on_done)
        self._task.failed.connect(self._on_failed)
        self._task.ended.connect(self._on_ended)
        self.changed.emit()

    def remove(self, model: LocalModel) -> Task:
        """Delete a model in the background. The task's result is the number of bytes freed."""
        task = self._run(lambda: _removal(model, self.models_folder))
        task.ended.connect(self.look)
        return task

    def add(self, models: Sequence[LocalModel]) -> None:
        """List models that the user opened, wherever they are, until Bough ends."""
        self._opened.update({model.name: model for model in models if self.named(model.name) is None})
        self.changed.emit()

    def _on_progress(self, found: tuple[LocalModel, ...]) -> None:
        if not self.has_looked:
            self._show(found)

    def _on_done(self, found: tuple[LocalModel, ...]) -> None:
        self.has_looked = True
        self._show(found)

    def _on_failed(self, why: Sentence) -> None:
        self.has_looked = True
        self.failure = why

    def _show(self, found: tuple[LocalModel, ...]) -> None:
        if found != self._found:
            self._found = found
            self.changed.emit()

    def _on_ended(self) -> None:
        self._task = None
        if self._is_due:
            self._is_due = False
            self.look()
        else:
            self.changed.emit()


def look_at(path: Path) -> Steps:
    """Find the models in a folder or GGUF file that the user opened. The result is a list of at least one model."""
    from app.catalog.on_disk import find_models, model_at
    from app.catalog.places_of_models import Root

    yield 0
    if not path.exists():
        raise SentenceError(Sentence("{path} does not exist. It may have been moved or renamed.", path=path))
    opened = model_at(path)
    models = [opened] if opened is not None else []
    if path.is_dir() and (opened is None or opened.format == "gguf"):
        models = list(find_models([Root(path, "added")]))
    if not models:
        raise SentenceError(
            Sentence(
                "There is no model in {path}. Choose a GGUF file, or a folder with config.json and safetensors files.",
                path=path,
            )
        )
    if len(models) == 1 and models[0].problem is not None:
        raise SentenceError(models[0].problem)
    return models


def _removal(model: LocalModel, models_folder: Path) -> Steps:
    from app.catalog.places_of_models import hub_cache
    from app.catalog.removal import remove

    yield 0
    return remove(model, models=models_folder, cache=hub_cache())


def _steps(models_folder: Path, added: Sequence[Path]) -> Steps:
    # Most starts do not need this import.
    from app.catalog.on_disk import find_models
    from app.catalog.places_of_models import Root, usual_roots
    from worker.models.folder import GUIDE, guide_path

    guides = find_models([Root(guide_path(), "bough")])
    found = [structs.replace(guide, name=GUIDE, title="Guide") for guide in guides]
    for model in find_models(usual_roots(models_folder, added)):
        found.append(model)
        yield tuple(found)
    return tuple(found)
