"""The settings page for the local API: its switch, its address and key, and what requests may do."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSpinBox, QWidget
from typing_extensions import override

from app.program import Program
from app.sentences import translated
from app.ui.parts.labels import quiet_label
from app.ui.parts.radio_group import RadioGroup
from app.ui.settings.settings_page import SettingsPage, card
from app.ui.theme import scaled

_PORT_PX = 112
_FIELD_INSET_PX = 8
_MAX_PORT = 65535
_HIDDEN_KEY = "•" * 16


class LocalApiPage(SettingsPage):
    """Changes apply at once. Without the switch on, there is nothing else to set."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program
        self._api = api = program.local_api
        settings = program.settings.local_api
        self.switch = RadioGroup(self.tr("Local API"))
        self.switch.add(self.tr("Off"))
        self.switch.add(self.tr("On"), self.tr("Only programs on this computer that have the key can send requests."))
        self.switch.choose(1 if settings.is_on else 0)
        self.state = quiet_label("")
        self.cards.addWidget(
            card(
                self.switch.accessibleName(),
                self.tr(
                    "Editors, coding agents and scripts can use the model that is loaded in Bough, through the APIs of "
                    "OpenAI and Anthropic."
                ),
                self.switch,
                self.state,
            )
        )
        self.address = _text_to_copy(self.tr("Address"))
        self.copy_address = QPushButton(self.tr("Copy"))
        self.copy_address.setAccessibleName(self.tr("Copy the address"))
        self._address_card = card(
            self.tr("Address"),
            self.tr("Programs that use Anthropic's API take it without “/v1”."),
            _row(self.address, self.copy_address),
        )
        self.key = _text_to_copy(self.tr("Key"))
        self.show_key = QPushButton(self.tr("Show"))
        self.show_key.setCheckable(True)
        self.show_key.setAccessibleName(self.tr("Show the key"))
        self.copy_key = QPushButton(self.tr("Copy"))
        self.copy_key.setAccessibleName(self.tr("Copy the key"))
        self.new_key = QPushButton(self.tr("New key"))
        self._key_source = quiet_label("")
        self._key_card = card(
            self.tr("Key"), self._key_source, _row(self.key, self.show_key, self.copy_key, self.new_key)
        )
        self.port = QSpinBox()
        self.port.setAccessibleName(self.tr("Port"))
        self.port.setRange(1, _MAX_PORT)
        self.port.setGroupSeparatorShown(False)
        self.port.lineEdit().setTextMargins(_FIELD_INSET_PX, 0, _FIELD_INSET_PX, 0)
        self.port.setFixedWidth(scaled(_PORT_PX))
        self.port.setValue(settings.port)
        self._port_card = card(self.tr("Port"), "", _row(self.port))
        self.models = RadioGroup(self.tr("Models that requests name"))
        self.models.add(self.tr("Only the loaded one"), self.tr("Requests for other models get an error."))
        self.models.add(
            self.tr("All models on this computer"),
            self.tr(
                "If a request names another model, Bough loads that one in place of yours when the running answers end."
            ),
        )
        self.models.choose(1 if settings.allows_load else 0)
        self._models_card = card(self.models.accessibleName(), "", self.models)
        self.keeping = RadioGroup(self.tr("Requests as conversations"))
        self.keeping.add(self.tr("Do not keep them"))
        self.keeping.add(
            self.tr("Keep them"),
            self.tr(
                "An agent's session becomes a conversation in the folder “Local API”, with a branch wherever it went "
                "back. You can read it, and continue it here."
            ),
        )
        self.keeping.choose(1 if settings.keeps_requests else 0)
        self._keeping_card = card(self.keeping.accessibleName(), "", self.keeping)
        for one in (self._address_card, self._key_card, self._port_card, self._models_card, self._keeping_card):
            self.cards.addWidget(one)
        self.switch.changed.connect(self._set_on)
        self.models.changed.connect(self._set_models)
        self.keeping.changed.connect(self._set_keeping)
        self.port.editingFinished.connect(self._set_port)
        self.show_key.toggled.connect(self._show)
        self.copy_address.clicked.connect(lambda: _copy(api.address))
        self.copy_key.clicked.connect(self._copy_key)
        self.new_key.clicked.connect(api.make_key)
        api.changed.connect(self._show)
        self._show()

    @override
    def refresh(self) -> None:
        self._show()

    def _set_on(self) -> None:
        is_on = self.switch.chosen == 1
        if is_on != self._program.settings.local_api.is_on:
            self._api.set_on(is_on=is_on)

    def _set_models(self) -> None:
        self._api.set_allows_load(allows_load=self.models.chosen == 1)

    def _set_keeping(self) -> None:
        self._api.set_keeps_requests(keeps_requests=self.keeping.chosen == 1)

    def _set_port(self) -> None:
        self._api.set_port(self.port.value())

    def _copy_key(self) -> None:
        if self._api.key is not None:
            _copy(self._api.key.text)

    def _show(self) -> None:
        api = self._api
        is_on = self._program.settings.local_api.is_on
        self._address_card.setVisible(bool(api.address))
        # While it starts again, the button that was pressed stays.
        self._key_card.setVisible(api.state in {"on", "starting"} and api.key is not None)
        self._port_card.setVisible(is_on)
        self._models_card.setVisible(is_on)
        self._keeping_card.setVisible(is_on)
        self.address.setText(api.address)
        self.state.setText(self._state_text())
        self.state.setVisible(bool(self.state.text()))
        if api.key is not None:
            self.key.setText(api.key.text if self.show_key.isChecked() else _HIDDEN_KEY)
            self.show_key.setText(self.tr("Hide") if self.show_key.isChecked() else self.tr("Show"))
            self.new_key.setVisible(api.key.source != "environment")
            self._key_source.setText(self._source_text(api.key.source))

    def _state_text(self) -> str:
        match self._api.state:
            case "starting":
                return self.tr("It is being started.")
            case "failed":
                return "" if self._api.problem is None else translated(self._api.problem)
            case "on" | "off":
                return ""

    def _source_text(self, source: str) -> str:
        match source:
            case "environment":
                return self.tr("It comes from the environment variable BOUGH_API_KEY.")
            case "keyring":
                return self.tr("It is kept in the keyring of your system. A new key makes this one invalid.")
            case _:
                return self.tr(
                    "Your system's keyring can't be used, so Bough makes another key at each start. "
                    "To choose one, set BOUGH_API_KEY."
                )


def _text_to_copy(name: str) -> QLabel:
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setAccessibleName(name)
    label.setWordWrap(True)
    label.setTextInteractionFlags(
        Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
    )
    return label


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)


def _row(first: QWidget, *others: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setSpacing(8)
    row.addWidget(first, 0 if isinstance(first, QSpinBox) else 1)
    for other in others:
        row.addWidget(other)
    if isinstance(first, QSpinBox):
        row.addStretch(1)
    return row
