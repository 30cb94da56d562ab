"""The project of the conversation that a window shows, or of the empty page."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.model.project import Project
from app.projects import Projects


class ProjectInUse(QObject):
    """Follows the folder that is shown, and the user's changes to its project."""

    changed = Signal()
    """Another project is shown, or the shown project was changed."""
    revised = Signal()
    """The conversation is the same, but it has another project now, or the project was changed."""

    def __init__(self, projects: Projects) -> None:
        super().__init__()
        self._projects = projects
        self._folder = ""
        self._project: Project | None = None
        projects.changed.connect(self._read)

    @property
    def folder(self) -> str:
        """The folder of the shown conversation; empty if it is in none."""
        return self._folder

    @property
    def project(self) -> Project | None:
        """The project of the folder; None if there is no folder, or if the folder is not a project."""
        return self._project

    def show(self, folder: str) -> None:
        """Switch to the folder of another conversation or of an empty page. An empty `folder` means none."""
        if folder != self._folder:
            self._folder = folder
            self._project = self._projects.get(folder)
            self.changed.emit()

    def move(self, folder: str) -> None:
        """Follow a conversation that was moved to another folder."""
        if folder != self._folder:
            self.show(folder)
            self.revised.emit()

    def _read(self) -> None:
        project = self._projects.get(self._folder)
        if project != self._project:
            self._project = project
            self.changed.emit()
            self.revised.emit()
