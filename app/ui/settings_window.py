"""What a person can set for good: what is kept of what models read, and what happens where it gets too long.

It asks nothing of the worker itself: the program is told what was chosen, once, when the person says so.
"""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from app.model.message import Overflow
from app.model.settings import Keeping
from app.model.sizes import GIB, memory_bytes, size_in_words
from app.notices import Notice
from app.program import Program
from app.ui.elided_label import ElidedLabel
from app.ui.one_of import OneOf, SizeChoice, quiet_label

_WIDTH_PX = 600
_HEIGHT_PX = 860
_OF_SCREEN = 0.9
_KV_BITS: tuple[None, int, int] = (None, 8, 4)
_OVERFLOWS: tuple[Overflow, Overflow] = ("fail", "drop_oldest")
_LOWEST_GIB = 0.25
_USUAL_GIB = 4.0
_USUAL_DISK_GIB = 10.0
_MOST_OF_MEMORY = 0.75
"""The rest is for the model and for other programs."""
_UNKNOWN_GIB = 1024.0
_LOADS_AGAIN = "The model will be loaded again, once no answer is under way; "
_COMES_BACK = "what it has read comes back from disk."
_IS_READ_AGAIN = "it reads again what it needs."


class SettingsWindow(QDialog):
    """Four cards; nothing that is chosen holds before "Apply"."""

    def __init__(self, program: Program, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("settings")
        self.setWindowTitle("Settings")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._program = program
        keeping = program.settings.keeping
        memory_gib = (memory_bytes() or _UNKNOWN_GIB * GIB) / GIB
        disk_gib = (program.kept_files.disk_bytes or _UNKNOWN_GIB * GIB) / GIB
        most = max(memory_gib * _MOST_OF_MEMORY, 1.0)
        self.memory = SizeChoice(
            "Memory for what models have read", keeping.limit_bytes, _LOWEST_GIB, most, min(_USUAL_GIB, most)
        )
        self.disk = SizeChoice(
            "What is kept on disk", keeping.disk_limit_bytes, _LOWEST_GIB, disk_gib, min(_USUAL_DISK_GIB, disk_gib)
        )
        self.disk.explain(0, "10 GiB for all models together, or a tenth of what is free where that is less.")
        self.disk.add("Keep nothing on disk", "What is there already stays until you empty it.")
        self.precision = OneOf("Precision of what is kept")
        self.precision.add("As the model computes", "Nothing is lost.")
        self.precision.add("8 bits", "About half the memory. Answers hardly change.")
        self.precision.add("4 bits", "About a quarter. Answers can get worse, most of all in long conversations.")
        self.overflow = OneOf("When a conversation is longer than the model's context")
        self.overflow.add("Say so and stop", "You shorten the message, or go on from an earlier one.")
        self.overflow.add(
            "Leave out the oldest messages",
            "The system prompt and your last question stay. Nothing is deleted: the model does not see what is left "
            "out, and the answer says how much that is.",
        )
        self.memory.show_value(keeping.limit_bytes)
        self.disk.show_value(keeping.disk_limit_bytes)
        self.precision.choose(_KV_BITS.index(keeping.kv_bits))
        self.overflow.choose(_OVERFLOWS.index(program.settings.overflow))
        self._in_memory = quiet_label("")
        self._on_disk = quiet_label("")
        for label in (self._in_memory, self._on_disk):
            label.setContentsMargins(0, 4, 0, 0)
        self._refused = quiet_label("")
        self._refused.setObjectName("warning")
        self._context = quiet_label("")
        self.empty_button = QPushButton("Empty")
        self._note = quiet_label("")
        self.apply_button = QPushButton("Apply")
        self._build()
        for part in (self.memory, self.disk, self.precision, self.overflow):
            part.changed.connect(self._show_changes)
        session = program.session
        session.changed.connect(self._on_session)
        session.kept_changed.connect(self._show_kept)
        self._show_changes()
        self._show_model()
        self._show_kept()

    def _build(self) -> None:
        page = QWidget()
        cards = QVBoxLayout(page)
        cards.setContentsMargins(16, 16, 16, 16)
        cards.setSpacing(12)
        cards.addWidget(
            _card(
                self.memory.accessibleName(),
                "Before a model answers, it reads the conversation. What it has read is kept, so that the next answer, "
                "or another branch, begins at once. More memory keeps more conversations at hand.",
                self.memory,
                self._in_memory,
            )
        )
        place = ElidedLabel()
        place.setObjectName("quiet")
        place.show_text(str(self._program.kept_files.folder))
        show_button = QPushButton("Show folder")
        show_button.clicked.connect(self._show_folder)
        self.empty_button.clicked.connect(self._program.empty_kept_files)
        self.empty_button.setAccessibleDescription(
            "Removes what models have read from disk and from memory. Your conversations stay."
        )
        self.empty_button.setToolTip(self.empty_button.accessibleDescription())
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(place, 1)
        for button in (show_button, self.empty_button):
            # Enter is "Apply", wherever the focus was last.
            button.setAutoDefault(False)
            buttons.addWidget(button)
        cards.addWidget(
            _card(
                "Keep it on disk, too",
                "What is on disk is still there when Bough is opened again, or another model was used meanwhile.",
                self.disk,
                self._on_disk,
                buttons,
            )
        )
        cards.addWidget(
            _card(
                self.precision.accessibleName(),
                "Fewer bits keep more in the same memory, less exactly. Not every model can do that.",
                self.precision,
                self._refused,
            )
        )
        cards.addWidget(_card(self.overflow.accessibleName(), self._context, self.overflow))
        cards.addStretch(1)
        scroll = QScrollArea()
        scroll.setObjectName("settings_scroll")
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setWidgetResizable(True)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setWidget(page)
        cancel_button = QPushButton("Cancel")
        cancel_button.setAutoDefault(False)
        cancel_button.clicked.connect(self.reject)
        self.apply_button.setObjectName("primary")
        self.apply_button.setDefault(True)
        self.apply_button.clicked.connect(self._apply)
        foot = QFrame()
        foot.setObjectName("settings_foot")
        row = QHBoxLayout(foot)
        row.setContentsMargins(16, 12, 16, 12)
        row.setSpacing(8)
        row.addWidget(self._note, 1)
        row.addWidget(cancel_button)
        row.addWidget(self.apply_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(scroll, 1)
        column.addWidget(foot)
        room = self.screen().availableGeometry()
        self.memory.focus()
        self.resize(min(_WIDTH_PX, room.width()), min(_HEIGHT_PX, int(room.height() * _OF_SCREEN)))

    # --- what is chosen ------------------------------------------------------------------------------------

    @property
    def keeping(self) -> Keeping:
        """As it is chosen."""
        bits = _KV_BITS[self.precision.chosen]
        return Keeping(
            limit_bytes=self.memory.value,
            disk_limit_bytes=self.disk.value,
            kv_bits=None if bits is None else 8 if bits == 8 else 4,
        )

    def _show_changes(self) -> None:
        new, now = self.keeping, self._program.session.keeping
        # What is kept in other bits is of no use.
        comes_back = new.kv_bits == now.kv_bits and 0 not in {new.disk_limit_bytes, now.disk_limit_bytes}
        what_follows = _COMES_BACK if comes_back else _IS_READ_AGAIN
        self._note.setText(f"{_LOADS_AGAIN}{what_follows}" if new != now else "")

    def _apply(self) -> None:
        self._program.set_overflow(_OVERFLOWS[self.overflow.chosen])
        self._program.set_keeping(self.keeping)
        self.accept()

    # --- what is so now ------------------------------------------------------------------------------------

    def _on_session(self) -> None:
        self._show_model()
        if self._program.session.state == "ready":
            self._program.session.ask_what_is_kept()

    def _show_model(self) -> None:
        session = self._program.session
        reads = f"The model that is loaded reads {session.info.context_length:,} tokens at most" if session.info else ""
        self._context.setText(f"{reads or 'A model reads only so much'}, its answer included; a word is one or two.")
        is_refused = session.is_precision_refused
        self._refused.setText(
            "The model that is loaded can't do that: it keeps what it reads as it computes." if is_refused else ""
        )
        self._refused.setVisible(is_refused)
        self._show_changes()

    def _show_kept(self) -> None:
        kept, keeping = self._program.session.kept, self._program.session.keeping
        # The room that it takes stays the same, whether the figure is known or not.
        if kept is not None and keeping.limit_bytes is None:
            self.memory.explain(0, f"{size_in_words(kept.limit_bytes)} for the model that is loaded.")
        else:
            self.memory.explain(0, "As the model and this computer's memory allow.")
        if kept is None:
            self._in_memory.setText("No model is loaded." if self._program.session.state == "failed" else "Now: …")
        elif kept.tokens:
            self._in_memory.setText(f"Now: {size_in_words(kept.bytes)} ({kept.tokens:,} tokens).")
        else:
            self._in_memory.setText("Now: nothing.")
        in_all = self._program.kept_files.num_bytes
        text = f"Now: {size_in_words(in_all)}" if in_all else "Now: nothing"
        # Where less is there than the worker knows of, somebody has emptied the folder meanwhile.
        if kept is not None and 0 < kept.disk_bytes <= in_all:
            share = "all" if kept.disk_bytes == in_all else size_in_words(kept.disk_bytes)
            text += f", {share} of it of this model ({kept.disk_tokens:,} tokens)"
        self._on_disk.setText(f"{text}.")
        self.empty_button.setEnabled(in_all > 0)

    def _show_folder(self) -> None:
        folder = self._program.kept_files.folder
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self._program.notices.tell(Notice(f"It is kept in {folder}. Nothing here can show folders."))

    @override
    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow():
            # When it is opened, and whenever somebody comes back to it.
            self._program.session.ask_what_is_kept()


def _card(title: str, explanation: str | QLabel, *parts: QWidget | QHBoxLayout) -> QFrame:
    card = QFrame()
    card.setObjectName("card")
    heading = QLabel(title)
    heading.setObjectName("heading")
    heading.setWordWrap(True)
    column = QVBoxLayout(card)
    column.setContentsMargins(16, 12, 16, 12)
    column.setSpacing(4)
    column.addWidget(heading)
    column.addWidget(quiet_label(explanation) if isinstance(explanation, str) else explanation)
    column.addSpacing(4)
    for part in parts:
        if isinstance(part, QHBoxLayout):
            column.addLayout(part)
        else:
            column.addWidget(part)
    return card
