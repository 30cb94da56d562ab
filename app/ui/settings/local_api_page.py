"""The settings page for the local API: its switch, its address and key, and what requests may do."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit, QPushButton, QSpinBox, QWidget
from typing_extensions import override

from app.program import Program
from app.sentences import translated
from app.ui.parts.buttons import WrappingButton
from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import FlowLayout
from app.ui.parts.radio_group import RadioGroup
from app.ui.settings.last_requests import last_requests_list, show_requests
from app.ui.settings.local_api_advanced import AdvancedPart
from app.ui.settings.settings_page import SettingsPage, card
from app.ui.theme import chosen_theme, scaled

_TEXT_PX = 272
_PORT_PX = 112
_FIELD_INSET_PX = 8
_MAX_PORT = 65535
_HIDDEN_KEY = "•" * 16


class LocalApiPage(SettingsPage):
    """Changes apply at once. The other settings are hidden while the switch is off."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program
        self._api = program.local_api
        settings = program.settings.local_api
        self.switch = RadioGroup(self.tr("Local API"))
        self.switch.add(self.tr("Off"))
        self.switch.add(self.tr("On"))
        self.switch.choose(1 if settings.is_on else 0)
        self.state = quiet_label("")
        self.guide = WrappingButton(self.tr("How programs connect"))
        self.guide.clicked.connect(self._show_guide)
        self.cards.addWidget(
            card(
                self.switch.accessibleName(),
                self.tr(
                    "Editors, coding agents and scripts can use the model that is loaded in Bough, through the APIs of "
                    "OpenAI and Anthropic."
                ),
                self.switch,
                self.state,
                _row(self.guide),
            )
        )
        self.address = _TextToCopy(self.tr("Address"))
        self.copy_address = QPushButton(self.tr("Copy"))
        self.copy_address.setAccessibleName(self.tr("Copy the address"))
        self._network_label = quiet_label(self.tr("For other computers:"))
        self.network_address = _TextToCopy(self.tr("Address for other computers"))
        self.copy_network_address = QPushButton(self.tr("Copy"))
        self.copy_network_address.setAccessibleName(self.tr("Copy the address for other computers"))
        self._network_row = _row(self.network_address, self.copy_network_address)
        self._address_card = card(
            self.tr("Address"),
            self.tr("Programs that use Anthropic's API take it without “/v1”."),
            _row(self.address, self.copy_address),
            self._network_label,
            self._network_row,
        )
        self.key = _TextToCopy(self.tr("Key"))
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
        self.port = _port_field(self.tr("Port"), settings.port)
        self._port_card = card(self.tr("Port"), "", _row(self.port))
        self.models = RadioGroup(self.tr("Models for requests"))
        self.models.add(self.tr("Only the loaded model"), self.tr("Requests for other models get an error."))
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
        self.advanced = AdvancedPart(program)
        self.requests = last_requests_list()
        self._requests_card = card(self.requests.accessibleName(), "", self.requests)
        for one in (
            self._address_card,
            self._key_card,
            self._port_card,
            self._models_card,
            self._keeping_card,
            self.advanced,
            self._requests_card,
        ):
            self.cards.addWidget(one)
        self._connect()
        self._show()

    def _connect(self) -> None:
        api = self._api
        self.switch.changed.connect(self._set_on)
        self.models.changed.connect(self._set_models)
        self.keeping.changed.connect(self._set_keeping)
        self.port.editingFinished.connect(self._set_port)
        self.show_key.toggled.connect(self._show)
        self.copy_address.clicked.connect(lambda: _copy(api.address))
        self.copy_network_address.clicked.connect(lambda: _copy(api.network_address))
        self.copy_key.clicked.connect(self._copy_key)
        self.new_key.clicked.connect(api.make_key)
        api.changed.connect(self._show)
        api.logged.connect(self._show_requests)

    @override
    def refresh(self) -> None:
        self._show()
        self._show_requests()

    def _show_guide(self) -> None:
        # Imported here because only this window needs it.
        from app.ui.dialogs.docs_window import DocsWindow

        DocsWindow("serving.md", self.tr("A model for other programs"), chosen_theme(self._program.settings), self)

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
        # While the server restarts, the button that was pressed stays visible.
        self._key_card.setVisible(api.state in {"on", "starting"} and api.key is not None)
        self._port_card.setVisible(is_on)
        self._models_card.setVisible(is_on)
        self._keeping_card.setVisible(is_on)
        self.advanced.setVisible(is_on)
        self.address.setText(api.address)
        self.network_address.setText(api.network_address)
        for one in (self._network_label, self._network_row):
            one.setVisible(bool(api.network_address))
        self.switch.explain(1, self._who_may())
        self.state.setText(self._state_text())
        self.state.setVisible(bool(self.state.text()))
        if api.key is not None:
            self.key.setText(api.key.text if self.show_key.isChecked() else _HIDDEN_KEY)
            self.show_key.setText(self.tr("Hide") if self.show_key.isChecked() else self.tr("Show"))
            self.new_key.setVisible(api.key.source != "environment")
            self._key_source.setText(self._source_text(api.key.source))

    def _show_requests(self) -> None:
        if self.isVisible():
            show_requests(self.requests, self._api.log.requests)
            self._requests_card.setVisible(self.requests.count() > 0)

    def _who_may(self) -> str:
        if self._program.settings.local_api.allows_network:
            return self.tr("Only programs that have the key can send requests, also from other computers.")
        return self.tr("Only programs on this computer that have the key can send requests.")

    def _state_text(self) -> str:
        match self._api.state:
            case "starting":
                return self.tr("The local API is starting.")
            case "failed":
                return "" if self._api.problem is None else translated(self._api.problem)
            case "on" | "off":
                return ""

    def _source_text(self, source: str) -> str:
        match source:
            case "environment":
                return self.tr("The key comes from the environment variable BOUGH_API_KEY.")
            case "keyring":
                return self.tr("The key is stored in your system's keyring. A new key makes it invalid.")
            case _:
                return self.tr(
                    "Your system's keyring can't be used, so Bough makes another key at each start. "
                    "To choose one, set BOUGH_API_KEY."
                )


class _TextToCopy(QLineEdit):
    """A text that can be selected; a long one scrolls."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName("field")
        self.setReadOnly(True)
        self.setAccessibleName(name)

    @override
    def sizeHint(self) -> QSize:
        return QSize(scaled(_TEXT_PX), super().sizeHint().height())

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)


def _port_field(name: str, value: int) -> QSpinBox:
    field = QSpinBox()
    field.setAccessibleName(name)
    field.setRange(1, _MAX_PORT)
    field.setGroupSeparatorShown(False)
    field.lineEdit().setTextMargins(_FIELD_INSET_PX, 0, _FIELD_INSET_PX, 0)
    field.setFixedWidth(scaled(_PORT_PX))
    field.setValue(value)
    return field


def _row(*widgets: QWidget) -> QWidget:
    """Return a row of widgets that wraps if there is not enough width."""
    row = QWidget()
    flow = FlowLayout(row)
    flow.setSpacing(8)
    for widget in widgets:
        flow.addWidget(widget)
    return row
