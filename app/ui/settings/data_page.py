"""The settings of what is kept: where it lies, its backups, the trash, and how it comes in and out."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QPushButton

from app.ui.menus import Menus, label
from app.ui.settings.settings_page import SettingsPage, card

_GROUPS = (("import", "export", "export_many"), ("backups", "trash", "empty_trash"), ("data",))


class DataPage(SettingsPage):
    """Leads to what the menus' actions do."""

    def __init__(self, menus: Menus) -> None:
        super().__init__()
        titles = (
            (
                self.tr("In and out"),
                self.tr("Conversations come in from other programs, and go out as files that others can read."),
            ),
            (
                self.tr("Backups and trash"),
                self.tr("A backup is made once a day. What you delete lies in the trash for thirty days."),
            ),
            (
                self.tr("Where it is kept"),
                self.tr("Everything you write stays on this computer, in one folder."),
            ),
        )
        actions = dict(iter(menus))
        for (title, explanation), names in zip(titles, _GROUPS, strict=True):
            row = QHBoxLayout()
            row.setSpacing(8)
            for name in names:
                if name in actions:
                    action = actions[name]
                    button = QPushButton(label(action))
                    button.clicked.connect(action.trigger)
                    row.addWidget(button)
            row.addStretch(1)
            self.cards.addWidget(card(title, explanation, row))
