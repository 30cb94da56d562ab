"""The advanced settings of the local API: access from other computers, aliases of the loaded model, request rules."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPlainTextEdit, QPushButton

from app.program import Program
from app.sentences import translated
from app.ui.parts.buttons import FoldedPart
from app.ui.parts.radio_group import RadioGroup
from app.ui.settings.settings_page import card
from app.ui.theme import chosen_theme, scaled

_FIELD_PX = 76


class AdvancedPart(FoldedPart):
    """Folded at first, unless one of the settings was changed."""

    def __init__(self, program: Program) -> None:
        super().__init__(QCoreApplication.translate("AdvancedPart", "Advanced"), chosen_theme(program.settings))
        self._api = program.local_api
        self._program = program
        settings = program.settings.local_api
        self.network = RadioGroup(self.tr("Requests accepted from"))
        self.network.add(self.tr("This computer"))
        self.network.add(
            self.tr("Other computers, too"),
            self.tr(
                "Every program in your network that has the key can send requests. The connection is not encrypted: "
                "others in the network may read the key, the requests and the answers."
            ),
        )
        self.network.choose(1 if settings.allows_network else 0)
        self.aliases = _field(self.tr("Aliases for the loaded model"), settings.aliases, "claude-*")
        self.rules = _field(
            self.tr("Text to leave out of requests"), settings.drop_rules, "x-anthropic-billing-header:.*\\n"
        )
        self.problem = QLabel()
        self.problem.setObjectName("failure")
        self.problem.setWordWrap(True)
        self.problem.setVisible(False)
        self.apply = QPushButton(self.tr("Apply"))
        self.apply.setAccessibleDescription(self.tr("This cancels the requests that are being answered."))
        self.apply.setToolTip(self.apply.accessibleDescription())
        aliases = card(
            self.aliases.accessibleName(),
            self.tr("One per line, for programs that insist on their own model names; * stands for any text."),
            self.aliases,
        )
        rules = card(
            self.rules.accessibleName(),
            self.tr(
                "Regular expressions, one on each line. Text that matches is left out of system prompts and first "
                "messages, and the model does not see it. Leave out text that changes with each request, such as a "
                "date: the text after it is then not read again."
            ),
            self.rules,
            self.problem,
        )
        self.column.setSpacing(12)
        for one in (card(self.network.accessibleName(), "", self.network), aliases, rules):
            self.column.addWidget(one)
        self.column.addWidget(self.apply, 0, Qt.AlignmentFlag.AlignLeft)
        if settings.allows_network or settings.aliases or settings.drop_rules:
            self.open()
        self.network.changed.connect(self._set_network)
        for field in (self.aliases, self.rules):
            field.textChanged.connect(self._show_apply)
        self.apply.clicked.connect(self._set_patterns)
        # The theme may change while the settings are open.
        program.settings_changed.connect(self._draw_again)
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._draw_again)
        self._show_apply()

    def _draw_again(self) -> None:
        self.button.set_theme(chosen_theme(self._program.settings))

    def _set_network(self) -> None:
        self._api.set_allows_network(allows_network=self.network.chosen == 1)

    def _set_patterns(self) -> None:
        why = self._api.set_patterns(_lines(self.aliases), _lines(self.rules))
        self.problem.setText("" if why is None else translated(why))
        self.problem.setVisible(why is not None)
        self._show_apply()
        if why is not None:
            self.rules.setFocus()

    def _show_apply(self) -> None:
        """Show the Apply button while the fields hold changes that have not been applied."""
        settings = self._program.settings.local_api
        typed = (_lines(self.aliases), _lines(self.rules))
        self.apply.setVisible(typed != (settings.aliases, settings.drop_rules))


def _field(name: str, lines: tuple[str, ...], example: str) -> QPlainTextEdit:
    field = QPlainTextEdit("\n".join(lines))
    field.setObjectName("field")
    field.setAccessibleName(name)
    field.setPlaceholderText(example)
    field.setTabChangesFocus(True)
    field.setFixedHeight(scaled(_FIELD_PX))
    return field


def _lines(field: QPlainTextEdit) -> tuple[str, ...]:
    return tuple(line for line in field.toPlainText().split("\n") if line.strip())
