"""The projects that all windows share, and the user's changes to them."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.model.database import StoreError
from app.model.project import Project
from app.model.store import Store
from app.model.text import clean
from app.notices import Notice, Notices, UndoDeleteProject
from worker.sentence import Sentence


class Projects(QObject):
    """The projects of the store. No method raises `StoreError`: problems become notices."""

    changed = Signal()
    """The projects or their names changed."""

    def __init__(self, store: Store, notices: Notices, report: Callable[[Sentence], object]) -> None:
        """`report` is called with a sentence about settings that can't be read."""
        super().__init__()
        self._store = store
        self._notices = notices
        self._report = report

    def get(self, folder: str) -> Project | None:
        """Return the project of a folder; None if the folder is empty text, or is not a project."""
        if not folder:
            return None
        try:
            return self._store.projects.get(folder, self._report)
        except StoreError:
            # A store of an older version that can only be read has none.
            return None

    @property
    def names(self) -> list[str]:
        try:
            return self._store.projects.names()
        except StoreError:
            return []

    def put(self, folder: str, project: Project) -> bool:
        """Make a folder a project, or change its project. Return whether it was stored."""
        is_done = False
        with self._notices.report_store_errors():
            self._store.projects.put(folder, project.cleaned)
            is_done = True
        self.changed.emit()
        return is_done

    def remove(self, folder: str) -> None:
        """Make a project an ordinary folder again, and post a notice. Its conversations are not changed."""
        project = self.get(folder)
        if project is None:
            return
        with self._notices.report_store_errors():
            self._store.projects.remove(folder)
            self._notices.post(
                Notice(
                    Sentence("The project “{name}” was deleted. Its conversations stay as they are.", name=folder),
                    action=UndoDeleteProject(folder, project),
                )
            )
        self.changed.emit()

    def rename(self, folder: str, name: str) -> None:
        """Rename a folder with its conversations and project. An empty `name` takes the conversations out of it."""
        with self._notices.report_store_errors():
            self._store.projects.rename(folder, name_of(name))
        self.changed.emit()


def name_of(text: str) -> str:
    """Return a valid folder name made from the text that the user typed."""
    return " ".join(clean(text).split())
