"""The window in which the user adds a server, or changes it. The server is checked before it is kept."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFormLayout, QLineEdit, QWidget

from app.model.endpoints import Endpoint
from app.supply.endpoints import Added, Endpoints
from app.ui.parts.labels import quiet_label
from app.ui.parts.sheet import Sheet
from worker.sentence import Sentence

_SIZE_PX = (520, 300)


class EndpointWindow(Sheet):
    """Fields for the address, the key and the name of one server."""

    added = Signal(object)
    """What was checked and kept, as an `Added`."""

    def __init__(self, endpoints: Endpoints, parent: QWidget, endpoint: Endpoint | None = None) -> None:
        """`endpoint` is the server that is changed; None adds one."""
        super().__init__(self.tr("Add an endpoint") if endpoint is None else self.tr("Edit endpoint"), parent)
        self._endpoints = endpoints
        self._endpoint = endpoint
        self.address = QLineEdit("" if endpoint is None else endpoint.url)
        self.address.setPlaceholderText("http://localhost:8080/v1")
        self.key = QLineEdit("" if endpoint is None or not endpoint.variable else f"${endpoint.variable}")
        self.key.setEchoMode(QLineEdit.EchoMode.Password if not self.key.text() else QLineEdit.EchoMode.Normal)
        self.key.setPlaceholderText(self.tr("none, or $OPENAI_API_KEY") if endpoint is None else self.tr("unchanged"))
        self.name = QLineEdit("" if endpoint is None else endpoint.name)
        self.name.setPlaceholderText(self.tr("the host"))
        what = quiet_label(
            self.tr(
                "A server that speaks OpenAI's API: vLLM, SGLang, llama.cpp, mlx-lm, LM Studio, a company's gateway, "
                "or Bough on another machine. Conversations with its models are sent to it."
            )
        )
        self.body.addWidget(what)
        form = QFormLayout()
        form.setHorizontalSpacing(12)
        form.setRowWrapPolicy(QFormLayout.RowWrapPolicy.WrapLongRows)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        for label, field in (
            (self.tr("Address"), self.address),
            (self.tr("Key"), self.key),
            (self.tr("Name"), self.name),
        ):
            field.setAccessibleName(label)
            form.addRow(label, field)
        self.body.addLayout(form)
        about = self.tr(
            "The key is kept in this system's keyring. A name such as $OPENAI_API_KEY means the environment variable."
        )
        self.body.addWidget(quiet_label(about))
        self.body.addStretch(1)
        self.add_button_ = self.add_button(
            self.tr("Add") if endpoint is None else self.tr("Save"), self.check, is_primary=True
        )
        self.add_button(self.tr("Cancel"), self.reject, key=self.tr("Esc"))
        self.key.textChanged.connect(self._on_key)
        self.open_at(*_SIZE_PX)
        self.address.setFocus()

    def _on_key(self, text: str) -> None:
        """Show the name of a variable, and hide a key."""
        is_name = text.startswith("$")
        self.key.setEchoMode(QLineEdit.EchoMode.Normal if is_name else QLineEdit.EchoMode.Password)

    def check(self) -> None:
        """Ask the server for its models and a first token. It is kept if both come."""
        if self.is_working:
            return
        replaced = "" if self._endpoint is None else self._endpoint.id
        task = self._endpoints.add(self.address.text(), self.key.text(), self.name.text(), replaced)
        task.done.connect(self._on_done)
        task.failed.connect(self._on_failed)
        self.show_message("")
        self.follow(task, self.tr("Asking the server…"))

    def _on_done(self, added: Added) -> None:
        self.added.emit(added)
        self.accept()

    def _on_failed(self, why: Sentence) -> None:
        self.fail(why)
