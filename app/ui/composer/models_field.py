"""The choice of the models that answer each question: a button with a menu that stays open while models are checked."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu, QPushButton
from typing_extensions import override

from app.ui.header import model_label
from app.ui.parts.labels import as_label, as_tool_tip


class ModelsField(QPushButton):
    """The user checks the models that answer. If fewer than two are checked, the conversation's model answers alone."""

    changed = Signal()

    def __init__(self, offered: Sequence[str], present: str) -> None:
        """`offered` are the models on this machine, `present` is the conversation's model."""
        super().__init__()
        self._offered = offered
        self._present = present
        self._models: tuple[str, ...] = ()
        self.choices = _StayingMenu(self)
        self.choices.setToolTipsVisible(True)
        self.choices.triggered.connect(self._on_chosen)
        self.choices.setTitle(QCoreApplication.translate("SamplingPanel", "Answered by"))
        self.setMenu(self.choices)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that answer, in the order in which they were chosen.

        Empty if only the conversation's model answers.
        """
        return self._models if len(self._models) > 1 else ()

    @property
    def has_choice(self) -> bool:
        """Whether there is more than one model to choose from."""
        return len({self._present, *self._offered, *self._models}) > 1

    def show_models(self, models: Sequence[str]) -> None:
        """Show these models as chosen, also models that are no longer on this machine."""
        self._models = tuple(models)
        self.choices.clear()
        checked = self._models or (self._present,)
        for name in dict.fromkeys((self._present, *self._offered, *self._models)):
            action = self.choices.addAction(as_label(model_label(name)))
            action.setCheckable(True)
            action.setChecked(name in checked)
            action.setData(name)
            action.setToolTip(as_tool_tip(name))
        self._show_text()

    def _on_chosen(self) -> None:
        checked = [action.data() for action in self.choices.actions() if action.isChecked()]
        # Models that were chosen before keep their order.
        before = [name for name in self._models or (self._present,) if name in checked]
        self._models = tuple(dict.fromkeys((*before, *checked)))
        self._show_text()
        self.changed.emit()

    def _show_text(self) -> None:
        models = self.models
        text = self.tr("{num} models").format(num=len(models)) if models else self.tr("This model")
        self.setText(text)
        self.setAccessibleDescription(", ".join(model_label(name) for name in models or (self._present,)))


class _StayingMenu(QMenu):
    """A click, Space or Enter checks an entry and leaves the menu open; Esc closes it."""

    @override
    def mouseReleaseEvent(self, event: QMouseEvent, /) -> None:
        action = self.actionAt(event.position().toPoint())
        if action is not None and action.isCheckable():
            action.trigger()
        else:
            super().mouseReleaseEvent(event)

    @override
    def keyPressEvent(self, event: QKeyEvent, /) -> None:
        action = self.activeAction()
        keys = {Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter}
        if event.key() in keys and action is not None and action.isCheckable():
            action.trigger()
        else:
            super().keyPressEvent(event)
