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
        """`report` gets a sentence about settings that can't be read."""
        super().__init__()
        self._store = store
        self._notices = notices
        self._report = report

    def get(self, folder: str) -> Project | None:
        """Return a project; None for an ordinary folder, and for no folder."""
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
        """Let a folder be an ordinary one, and post a notice. Its conversations stay as they are."""
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
        """Rename a folder, with its conversations and its project; empty takes the conversations out of it."""
        with self._notices.report_store_errors():
            self._store.projects.rename(folder, name_of(name))
        self.changed.emit()


def name_of(text: str) -> str:
    """Return what the user typed as the name of a folder."""
    return " ".join(clean(text).split())
