"""The table of projects, by the path of their folder."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from app.model.database import Database, StoreError
from app.model.project import Project
from app.model.settings import write_atomically
from app.model.valid_parts import decoded
from worker.sentence import Sentence

_PUT = (
    "INSERT INTO project (folder, settings) VALUES (?, ?) "
    "ON CONFLICT (folder) DO UPDATE SET settings = excluded.settings"
)


class Projects:
    """The projects of one store. A folder without one is an ordinary folder. Methods raise `StoreError`."""

    def __init__(self, database: Database, folder: Path) -> None:
        """`folder`: where stored texts with invalid parts are kept."""
        self._database = database
        self._folder = folder

    def names(self) -> list[str]:
        """Return the folders that are projects."""
        rows = self._database.rows("SELECT folder FROM project ORDER BY folder")
        return [row[0] for row in rows if isinstance(row[0], str)]

    def get(self, folder: str, report: Callable[[Sentence], object] = lambda _: None) -> Project | None:
        """Return a project without its invalid parts; None if the folder is not a project.

        If parts are invalid, the stored text is kept in a file beside the store, and `report` gets a sentence about it.
        """
        rows = self._database.rows("SELECT settings FROM project WHERE folder = ?", (folder,))
        for (stored,) in rows:
            left_out: list[str] = []
            project = decoded(str(stored), Project, "project", left_out) or Project()
            if left_out:
                report(self._set_aside(folder, str(stored), project, ", ".join(left_out)))
            return project
        return None

    def put(self, folder: str, project: Project) -> None:
        """Make a folder a project, or change its project."""
        with self._database.durably():
            self._database.write(_PUT, (folder, _encoded(project)))

    def add(self, folder: str, project: Project) -> bool:
        """Make a folder a project unless it is one. Return whether it became one."""
        with self._database.durably():
            return add_project(self._database, folder, project)

    def remove(self, folder: str) -> None:
        """Make a project an ordinary folder again. Its conversations are not changed."""
        with self._database.durably():
            self._database.write("DELETE FROM project WHERE folder = ?", (folder,))

    def rename(self, folder: str, name: str) -> None:
        """Rename a folder, with its conversations and its project. An empty name takes the conversations out of it.

        If a project has that name already, it is not changed, and gets the conversations.
        """
        if folder == name:
            return
        with self._database.durably():
            self._database.write("UPDATE conversation SET folder = ? WHERE folder = ?", (name, folder))
            if name:
                self._database.write("UPDATE OR IGNORE project SET folder = ? WHERE folder = ?", (name, folder))
            self._database.write("DELETE FROM project WHERE folder = ?", (folder,))

    def _set_aside(self, folder: str, stored: str, valid: Project, names: str) -> Sentence:
        """Write the stored text to a file, and store the valid part instead. Return a sentence about it."""
        file = self._folder / f"project-{time.time_ns()}.damaged"
        if self._database.why_read_only:
            return Sentence(
                "Settings of the project “{name}” are invalid and not used: {names}.", name=folder, names=names
            )
        try:
            write_atomically(file, stored.encode(errors="replace"), is_own=True)
            self.put(folder, valid)
        except (OSError, StoreError) as error:
            return Sentence(
                "Settings of the project “{name}” are invalid and not used: {names}. They could not be copied to a "
                "file ({error}), so they stay in the database until you change the project.",
                name=folder,
                names=names,
                error=error,
            )
        return Sentence(
            "Settings of the project “{name}” are invalid and were set aside: {names}. The others are used. "
            "The stored text is kept as {file}.",
            name=folder,
            names=names,
            file=file,
        )


def add_project(database: Database, folder: str, project: Project) -> bool:
    """Make a folder a project unless it is one. Return whether it became one. To be called in a transaction."""
    if database.rows("SELECT 1 FROM project WHERE folder = ?", (folder,)):
        return False
    database.write(_PUT, (folder, _encoded(project)))
    return True


def _encoded(project: Project) -> str:
    return msgspec.json.encode(project).decode()
