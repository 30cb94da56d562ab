"""The project of the conversation that a window shows, or of the empty page."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from app.model.project import Project
from app.projects import Projects


class ProjectInUse(QObject):
    """Follows the folder that is shown, and the user's changes to its project."""

    changed = Signal()
    """It is another project, or it changed."""
    revised = Signal()
    """The same conversation has another project, or its project changed."""

    def __init__(self, projects: Projects) -> None:
        super().__init__()
        self._projects = projects
        self._folder = ""
        self._project: Project | None = None
        projects.changed.connect(self._read)

    @property
    def folder(self) -> str:
        """The folder that is shown; empty for none."""
        return self._folder

    @property
    def project(self) -> Project | None:
        """Its project; None for an ordinary folder, and for no folder."""
        return self._project

    def show(self, folder: str) -> None:
        """Switch to the folder of another conversation, or of an empty page; empty for none."""
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
