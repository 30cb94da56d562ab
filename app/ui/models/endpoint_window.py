"""The window in which the user adds a server, or changes it. The server is checked before it is kept."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QFormLayout, QGridLayout, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from app.model.endpoints import Endpoint, Prices, prices_of
from app.numbers import shortened
from app.supply.endpoints import Added, Endpoints, Entered
from app.ui.dialogs.docs_window import DocsWindow
from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import scrolled
from app.ui.parts.sheet import Sheet, filled_by
from app.ui.theme import Theme, scaled
from worker.sentence import Sentence, SentenceError

_SIZE_PX = (560, 520)
_MIN_PRICE_PX = 44


class EndpointWindow(Sheet):
    """Fields for the address, the key, the name and the prices of one server."""

    added = Signal(object)
    """The server that was checked and kept, as an `Added`."""

    def __init__(self, endpoints: Endpoints, theme: Theme, parent: QWidget, endpoint: Endpoint | None = None) -> None:
        """`endpoint` is the server that is changed; None adds one."""
        super().__init__(self.tr("Add an endpoint") if endpoint is None else self.tr("Edit endpoint"), parent)
        self._endpoints = endpoints
        self._endpoint = endpoint
        self._theme = theme
        has_key = endpoint is not None and endpoints.has_key(endpoint)
        self.address = QLineEdit("" if endpoint is None else endpoint.url)
        self.address.setPlaceholderText("http://localhost:8080/v1")
        self._key_before = "" if endpoint is None or not endpoint.variable else f"${endpoint.variable}"
        self.key = QLineEdit()
        self.key.textChanged.connect(self._on_key)
        self.key.setText(self._key_before)
        self.key.setPlaceholderText(self.tr("unchanged") if has_key else self.tr("none, or $OPENAI_API_KEY"))
        self.without_key = QCheckBox(self.tr("Remove the key"))
        self.without_key.setVisible(has_key)
        self.without_key.toggled.connect(self.key.setDisabled)
        self.name = QLineEdit("" if endpoint is None else endpoint.name)
        self.name.setPlaceholderText(self.tr("the address's host"))
        self._add_prices(None if endpoint is None else endpoint.prices)
        area = self._lay_out()
        self.add_button_ = self.add_button(
            self.tr("Add") if endpoint is None else self.tr("Save"), self.check, is_primary=True
        )
        self.add_button(self.tr("Cancel"), self.reject, key=self.tr("Esc"))
        self.help_button = self.add_button(self.tr("Help"), self._open_help)
        self.open_at(*_SIZE_PX, filling=filled_by(area))
        self.address.setFocus()

    def _add_prices(self, prices: Prices | None) -> None:
        self.prompt_price, self.kept_price, self.answer_price, self.currency = fields = [QLineEdit() for _ in range(4)]
        names = (
            (self.tr("prompt"), self.tr("Price per million prompt tokens")),
            (self.tr("kept"), self.tr("Price per million prompt tokens that the server kept from earlier requests")),
            (self.tr("answer"), self.tr("Price per million answer tokens")),
            (self.tr("€"), self.tr("Currency")),
        )
        for field, (short, name) in zip(fields, names, strict=True):
            field.setPlaceholderText(short)
            field.setAccessibleName(name)
            field.setToolTip(name)
            field.setMinimumWidth(scaled(_MIN_PRICE_PX))
        if prices is not None:
            self.prompt_price.setText(shortened(prices.prompt))
            self.kept_price.setText("" if prices.kept is None else shortened(prices.kept))
            self.answer_price.setText(shortened(prices.answer))
            self.currency.setText(prices.currency)

    def _lay_out(self) -> QScrollArea:
        """Return the fields on a page that scrolls where the window is too small for them."""
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(12)
        column.addWidget(
            quiet_label(
                self.tr(
                    "A server with OpenAI's API: vLLM, SGLang, llama.cpp, mlx-lm, LM Studio, a company's gateway, "
                    "or Bough on another computer. Conversations with its models are sent to it."
                )
            )
        )
        form = QFormLayout()
        form.setHorizontalSpacing(12)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        for label, field in (
            (self.tr("Address"), self.address),
            (self.tr("Key"), self.key),
            ("", self.without_key),
            (self.tr("Name"), self.name),
        ):
            if label:
                field.setAccessibleName(label)
            form.addRow(label, field)
        form.setRowVisible(self.without_key, not self.without_key.isHidden())
        prices = QGridLayout()
        prices.setSpacing(8)
        # In two rows, so that the names are whole in a narrow window, too.
        for number, field in enumerate((self.prompt_price, self.kept_price, self.answer_price, self.currency)):
            prices.addWidget(field, number // 2, number % 2)
        form.addRow(self.tr("Prices"), prices)
        column.addLayout(form)
        about = self.tr(
            "The key is kept in this system's keyring. A name such as $OPENAI_API_KEY means the environment "
            "variable. Prices are per million tokens: prompt tokens, prompt tokens that the server kept from "
            "earlier requests, and answer tokens; then the currency. Without prices, no costs are shown."
        )
        column.addWidget(quiet_label(about))
        column.addStretch(1)
        area = scrolled(page)
        self.body.addWidget(area, 1)
        return area

    def _on_key(self, text: str) -> None:
        """Show the name of a variable, and hide a key."""
        is_name = text.startswith("$")
        self.key.setEchoMode(QLineEdit.EchoMode.Normal if is_name else QLineEdit.EchoMode.Password)

    def _open_help(self) -> None:
        DocsWindow("servers.md", self.tr("Models of servers"), self._theme, self)

    @property
    def _entered_key(self) -> str | None:
        """The key that was typed. Empty means no key, None means the key that Bough already has for the server."""
        if self.without_key.isChecked():
            return ""
        is_unchanged = self._endpoint is not None and self.key.text().strip() == self._key_before
        return None if is_unchanged else self.key.text()

    def check(self) -> None:
        """Ask the server for its models and a first token. The server is kept if both requests succeed."""
        if self.is_working:
            return
        fields = (self.prompt_price, self.kept_price, self.answer_price, self.currency)
        try:
            prices = prices_of(*(field.text() for field in fields))
        except SentenceError as error:
            self.fail(error.sentence)
            return
        entered = Entered(self.address.text(), self._entered_key, self.name.text(), prices)
        task = self._endpoints.add(entered, "" if self._endpoint is None else self._endpoint.id)
        task.done.connect(self._on_done)
        task.failed.connect(self._on_failed)
        self.show_message("")
        self.follow(task, self.tr("Asking the server…"))

    def _on_done(self, added: Added) -> None:
        self.added.emit(added)
        self.accept()

    def _on_failed(self, why: Sentence) -> None:
        self.fail(why)
