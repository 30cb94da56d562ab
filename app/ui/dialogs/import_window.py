"""The import window: shows what the files contain and what can't be imported, then imports it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from app.archive.archive import Archive
from app.model.imports.importing import Progress, Summary, import_files, plan_import
from app.numbers import counted
from app.sentences import translated
from app.ui.parts.buttons import WrappingCheckBox, WrappingToolButton
from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import scrolled
from app.ui.parts.sheet import Sheet, filled_by
from app.ui.theme import icon

_SIZE_PX = (600, 560)
_INSET_PX = 30
_MAX_LINES = 200
"""The maximum number of lines in each folded list."""


class ImportWindow(Sheet):
    """Makes one import. Nothing is written before the user presses Import."""

    imported = Signal(object)
    """The `Summary` of what was imported."""

    def __init__(self, archive: Archive, files: Sequence[Path], parent: QWidget) -> None:
        super().__init__(self.tr("Import"), parent)
        self._archive = archive
        self._files = list(files)
        self._has_news = False
        """Whether the files have anything that Bough does not have."""
        self.headline = QLabel()
        self.headline.setObjectName("heading")
        self.headline.setWordWrap(True)
        self.details = quiet_label("")
        self.updates = Folded()
        self.twins = Folded()
        self.copies = WrappingCheckBox(self.tr("Import these again, as copies"))
        self.problems = Folded()
        self.remarks = Folded()
        self._build()
        self.open_at(*_SIZE_PX, filling=filled_by(self._area))
        self._plan()

    def _build(self) -> None:
        names = quiet_label(_names(self._files))
        names.setToolTip("\n".join(str(file) for file in self._files[:_MAX_LINES]))
        card = QFrame()
        card.setObjectName("card")
        column = QVBoxLayout(card)
        column.setContentsMargins(16, 12, 16, 12)
        column.setSpacing(4)
        column.addWidget(self.headline)
        column.addWidget(self.details)
        page = QWidget()
        whole = QVBoxLayout(page)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(12)
        whole.addWidget(names)
        whole.addWidget(card)
        for part in (self.problems, self.updates, self.twins, self.copies, self.remarks):
            part.setVisible(False)
            whole.addWidget(part)
        self.copies.toggled.connect(self._show_whether_possible)
        whole.addStretch(1)
        self._area = scrolled(page)
        self.body.addWidget(self._area, 1)
        self.cancel_button = self.add_button(self.tr("Cancel"), self.reject, key=self.tr("Esc"))
        self.import_button = self.add_button(self.tr("Import"), self._import, is_primary=True)
        self.import_button.setEnabled(False)

    # --- the plan ----------------------------------------------------------------------------

    def _plan(self) -> None:
        self.headline.setText(self.tr("Reading the files…"))
        task = self._archive.read(partial(plan_import, paths=self._files))
        task.progressed.connect(self._on_progress)
        task.done.connect(self._on_planned)
        task.failed.connect(self._on_failed)
        # Before an import has begun, Cancel closes the window.
        task.cancelled.connect(self.accept)
        self.follow(task, self.tr("Nothing is imported yet."))

    def _on_planned(self, summary: Summary) -> None:
        self._has_news = bool(summary.num_conversations or summary.updates)
        self.show_summary(summary)
        self.copies.setVisible(bool(summary.twins))
        self._show_whether_possible()
        first = self.import_button if self.import_button.isEnabled() else self.cancel_button
        first.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show_whether_possible(self) -> None:
        can_import = self._has_news or self.copies.isChecked()
        self.import_button.setEnabled(can_import)
        self.show_message(self.tr("Nothing is imported yet.") if can_import else "")

    def show_summary(self, summary: Summary) -> None:
        """Show what would be imported and what would not."""
        if summary.num_conversations:
            self.headline.setText(
                self.tr("{conversations} with {messages} in {branches}").format(
                    conversations=self.tr("%n conversation(s)", "", summary.num_conversations),
                    messages=self.tr("%n message(s)", "", summary.num_messages),
                    branches=self.tr("%n branch(es)", "", summary.num_branches),
                )
            )
            programs = (
                f"{translated(program)}: {counted(number)}" for program, number in summary.programs.most_common()
            )
            self.details.setText(" · ".join(programs))
        elif summary.updates:
            num_messages = sum(one.num_messages for one in summary.updates)
            self.headline.setText(self.tr("%n message(s) for conversations in Bough", "", num_messages))
            self.details.setText("")
        else:
            self.headline.setText(self.tr("There is nothing to import"))
            self.details.setText(
                self.tr(
                    "Bough reads .bough files, conversations of ChatGPT, Claude, Claude Code, Gemini CLI, "
                    "Google AI Studio, LibreChat, llama.cpp, LM Studio, Open WebUI and SillyTavern, JSON Lines of "
                    "OpenAI and ShareGPT, and its own Markdown."
                )
                if not summary.twins
                else self.tr("All of it is already in Bough.")
            )
        num_problems = len(summary.problems) + summary.num_more_problems
        self.problems.show_lines(
            self.tr("%n can't be imported", "", num_problems),
            [
                f"{self._shortened(translated(one.where))}: {translated(one.why)}"
                for one in summary.problems[:_MAX_LINES]
            ],
            num_problems,
            is_open=num_problems <= 3,
        )
        self.updates.show_lines(
            self.tr("%n conversation(s) in Bough will be updated from the file", "", len(summary.updates)),
            [
                self.tr("{name}: {messages}").format(
                    name=one.name, messages=self.tr("%n message(s)", "", one.num_messages)
                )
                for one in summary.updates[:_MAX_LINES]
            ],
            len(summary.updates),
        )
        self.twins.show_lines(
            self.tr("%n conversation(s) already in Bough, left out", "", len(summary.twins)),
            [
                twin.name
                if twin.name == twin.there
                else self.tr("{name}, named “{there}” in Bough").format(**twin._asdict())
                for twin in summary.twins[:_MAX_LINES]
            ],
            len(summary.twins),
        )
        self.remarks.show_lines(
            self.tr("Changes"),
            [f"{counted(number)} {translated(remark)}" for remark, number in summary.remarks.most_common(_MAX_LINES)],
            len(summary.remarks),
            is_open=True,
        )

    def _shortened(self, where: str) -> str:
        """Return `where` with the path of a file shortened to its name. The tool tip has the whole path."""
        for file in self._files:
            if where.startswith(str(file)):
                return f"{file.name}{where.removeprefix(str(file))}"
        return where

    # --- the import --------------------------------------------------------------------------------------

    def _import(self) -> None:
        if self.is_working:
            return
        self.import_button.setEnabled(False)
        task = self._archive.write(partial(import_files, paths=self._files, with_twins=self.copies.isChecked()))
        task.progressed.connect(self._on_progress)
        task.done.connect(self._on_imported)
        task.failed.connect(self._on_failed)
        task.cancelled.connect(self._on_cancelled)
        self.follow(task, self.tr("Importing…"))

    def _on_progress(self, progress: Progress) -> None:
        text = self.tr("{conversations} conversations, {messages} messages").format(
            conversations=counted(progress.num_conversations), messages=counted(progress.num_messages)
        )
        self.show_progress(text, progress.done_bytes, progress.total_bytes)

    def _on_imported(self, summary: Summary) -> None:
        self.imported.emit(summary)
        self.accept()

    def _on_failed(self, why: str) -> None:
        self.headline.setText(
            self.tr("The files could not be read") if not self.details.text() else self.headline.text()
        )
        self.fail(why)

    def _on_cancelled(self) -> None:
        self.import_button.setEnabled(True)
        self.show_message(self.tr("Cancelled. Nothing was imported."))


class Folded(QFrame):
    """A list under a heading that opens and closes it. It is hidden while it is empty."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("card")
        self.heading = WrappingToolButton()
        self.heading.setCheckable(True)
        self.heading.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.heading.setObjectName("fold")
        self.heading.toggled.connect(self._on_toggled)
        self.lines = QLabel()
        self.lines.setWordWrap(True)
        self.lines.setTextFormat(Qt.TextFormat.PlainText)
        self.lines.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.lines.setContentsMargins(_INSET_PX, 0, 0, 4)
        column = QVBoxLayout(self)
        column.setContentsMargins(10, 6, 16, 6)
        column.setSpacing(4)
        column.addWidget(self.heading)
        column.addWidget(self.lines)
        self._on_toggled(False)

    def show_lines(self, heading: str, lines: Sequence[str], num_lines: int, *, is_open: bool = False) -> None:
        """Show lines; `num_lines` may be larger than the number of lines given."""
        more = num_lines - len(lines)
        self.heading.show_text(heading)
        shown = [f"· {line}" for line in lines]
        if more > 0:
            shown.append(self.tr("… and %n more", "", more))
        self.lines.setText("\n".join(shown))
        self.heading.setChecked(is_open)
        self.setVisible(num_lines > 0)

    def _on_toggled(self, is_open: bool) -> None:
        self.lines.setVisible(is_open)
        quiet = self.palette().color(QPalette.ColorRole.PlaceholderText).name()
        self.heading.setIcon(icon("down" if is_open else "right", quiet))
        self.heading.setToolTip(self.tr("Collapse") if is_open else self.tr("Show details"))


def _names(files: Sequence[Path]) -> str:
    shown = ", ".join(file.name for file in files[:3])
    if len(files) > 3:
        more = QCoreApplication.translate("Import", "{files} and {count} more")
        return more.format(files=shown, count=counted(len(files) - 3))
    return shown
