"""What another answer may differ by: how many, how they are drawn, which model writes it."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QLabel, QMenu, QWidget, QWidgetAction

from app.conversation.controller import Controller
from app.model.message import MessageId
from app.model.presets import OURS, Preset
from app.ui.composer.display_names import preset_name
from app.ui.header import model_label
from app.ui.parts.labels import as_label, as_tool_tip

_NUMBERS = (2, 3, 4)
_HEADING_MARGINS_PX = (12, 8, 12, 4)


class RegenerateMenu(QMenu):
    """Opens on one message, and is gone once it closes. What is chosen holds for these answers alone."""

    def __init__(self, controller: Controller, message_id: MessageId, parent: QWidget) -> None:
        super().__init__(parent)
        self._controller = controller
        self._message_id = message_id
        self.setAccessibleName(self.tr("Regenerate with"))
        self.setToolTipsVisible(True)
        self._add_heading(self.tr("Side by side"))
        for number in _NUMBERS:
            self.addAction(self.tr("%n answer(s)", "", number), partial(controller.regenerate, message_id, number))
        self._add_heading(self.tr("Drawn otherwise"))
        settings = controller.program.settings
        for preset in (*OURS, *settings.presets):
            self.addAction(as_label(preset_name(preset)), partial(self._ask_by, preset))
        others = [name for name in ("guide", *settings.recent_models) if name != controller.program.session.name]
        if others:
            self._add_heading(self.tr("By another model"))
        for name in others:
            action = self.addAction(as_label(model_label(name)), partial(controller.regenerate_by, message_id, name))
            action.setToolTip(as_tool_tip(name))

    def _add_heading(self, text: str) -> None:
        # A section's own text is not painted where a style sheet is.
        heading = QLabel(text)
        heading.setObjectName("quiet")
        heading.setContentsMargins(*_HEADING_MARGINS_PX)
        action = QWidgetAction(self)
        action.setDefaultWidget(heading)
        action.setEnabled(False)
        self.addAction(action)

    def _ask_by(self, preset: Preset) -> None:
        asking = preset.onto(self._controller.preparation.asking)
        self._controller.regenerate(self._message_id, asking=asking)
