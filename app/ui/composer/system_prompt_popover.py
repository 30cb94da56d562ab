"""The panel for the system prompt, with the cost of a change."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QBoxLayout, QLabel, QWidget
from typing_extensions import override

from app.costs.worker_queries import Cost
from app.ui.composer.writing_field import WritingField
from app.ui.parts.buttons import WrappingButton
from app.ui.parts.cost_text import cost_text
from app.ui.parts.labels import quiet_label
from app.ui.parts.popover import Popover
from app.ui.theme import scaled, text_font

translate = QCoreApplication.translate

_WIDTH_PX = 520
_EDITOR_PX = 170


class SystemPromptPopover(Popover):
    """A panel with the text of the system prompt.

    Before the first message, changes apply at once; later, a button saves them in a new branch.
    """

    written = Signal(str)
    """The text in the field."""
    branch_asked = Signal(str)
    """The system prompt for the new branch."""

    def __init__(self, text: str, parent: QWidget, *, has_begun: bool) -> None:
        super().__init__(translate("SystemPromptPopover", "System prompt"), _WIDTH_PX, parent)
        self._has_begun = has_begun
        self._old = text
        explanation = (
            self.tr("A new system prompt starts a new branch, in which your first question is asked again.")
            if has_begun
            else self.tr("A role or rules that the model reads before your first message.")
        )
        self.column.addWidget(quiet_label(explanation))
        self.editor = WritingField(text)
        self.editor.setObjectName("field")
        self.editor.setFont(text_font())
        self.editor.setTabChangesFocus(True)
        self.editor.setFixedHeight(_EDITOR_PX)
        self.editor.setAccessibleName(self.tr("System prompt"))
        self.editor.setPlaceholderText(self.tr("You answer briefly, and say when you are not sure."))
        self.editor.textChanged.connect(self._on_text)
        self.editor.refused.connect(self._on_refused)
        self.editor.installEventFilter(self)
        self.column.addWidget(self.editor)
        self.cost = QLabel()
        self.cost.setObjectName("quiet")
        self.cost.setWordWrap(True)
        is_narrow = self.screen().availableGeometry().width() < scaled(_WIDTH_PX)
        foot = QBoxLayout(QBoxLayout.Direction.TopToBottom if is_narrow else QBoxLayout.Direction.LeftToRight)
        foot.setSpacing(8)
        foot.addWidget(self.cost, 1)
        self.save_button = WrappingButton(self.tr("Save as new branch"))
        self.save_button.setObjectName("primary")
        self.save_button.setToolTip(self.tr("The current branch is kept (Ctrl+Enter)"))
        self.save_button.clicked.connect(self._save)
        self.save_button.setEnabled(False)
        foot.addWidget(self.save_button)
        self.column.addLayout(foot)
        self.save_button.setVisible(has_begun)

    def show_cost(self, cost: Cost) -> None:
        """Show what processing the new prompt would cost."""
        self.cost.setText(cost_text(cost))

    def _on_text(self) -> None:
        text = self.editor.content
        self.save_button.setEnabled(text != self._old)
        self.written.emit(text)

    def _on_refused(self, why: str) -> None:
        self.cost.setText(why)

    def _save(self) -> None:
        if self._has_begun and self.save_button.isEnabled():
            self.branch_asked.emit(self.editor.content)
        self.close()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.editor and isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            is_enter = event.key() in {Qt.Key.Key_Return, Qt.Key.Key_Enter}
            if is_enter and event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                self._save()
                return True
        return super().eventFilter(watched, event)
