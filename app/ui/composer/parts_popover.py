"""The panel that chooses the parts of an attached file: pages, sheets, chapters."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QPushButton, QWidget

from app.model.attachment import Attachment
from app.numbers import counted
from app.ui.composer.display_names import part_title
from app.ui.parts.buttons import WrappingButton
from app.ui.parts.labels import quiet_label
from app.ui.parts.layouts import FlowLayout
from app.ui.parts.popover import Popover

_WIDTH_PX = 420
_LIST_PX = 260
_TOKEN_CHARS = 4
"""Characters per token, an estimate for files whose tokens the model has not counted."""


class PartsPopover(Popover):
    """A list of the parts with check boxes. Each change applies at once."""

    chosen = Signal(object)
    """The indices of the parts that are left out."""

    def __init__(self, attachment: Attachment, num_tokens: int | None, num_free: int | None, parent: QWidget) -> None:
        """`num_tokens` is the size of the chosen parts; `num_free` is how many more tokens fit into the context.

        None means that the number is not known.
        """
        super().__init__(attachment.name, _WIDTH_PX, parent)
        chosen_chars = len(attachment.chosen)
        share = num_tokens / chosen_chars if num_tokens and chosen_chars else 1 / _TOKEN_CHARS
        self._sizes = [round(len(part.text) * share) for part in attachment.parts]
        self._num_room = None if num_free is None else num_free + (num_tokens or 0)
        self.parts = QListWidget()
        self.parts.setObjectName("parts")
        self.parts.setAccessibleName(self.tr("Parts of the file"))
        self.parts.setFixedHeight(_LIST_PX)
        for part, size in zip(attachment.parts, self._sizes, strict=True):
            item = QListWidgetItem(f"{part_title(part.title)} · {self._tokens(size)}")
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            self.parts.addItem(item)
        self._check([index not in set(attachment.left_out) for index in range(len(attachment.parts))])
        self.parts.setCurrentRow(0)
        self.parts.itemChanged.connect(self._on_changed)
        self.sum = quiet_label("")
        self.column.addWidget(self.parts)
        self.column.addWidget(self.sum)
        row = FlowLayout()
        row.setSpacing(8)
        self.all_button = QPushButton(self.tr("All"))
        self.all_button.clicked.connect(self._choose_all)
        self.none_button = QPushButton(self.tr("None"))
        self.none_button.clicked.connect(self._choose_none)
        self.fitting_button = WrappingButton(self.tr("First ones that fit"))
        self.fitting_button.clicked.connect(self._choose_fitting)
        for button in (self.all_button, self.none_button, self.fitting_button):
            row.addWidget(button)
        self.column.addLayout(row)
        self.fitting_button.setVisible(self._num_room is not None)
        self._show_sum()

    def _tokens(self, num: int) -> str:
        return self.tr("about {num} tokens").format(num=counted(num))

    def _is_chosen(self, index: int) -> bool:
        return self.parts.item(index).checkState() == Qt.CheckState.Checked

    def _check(self, are_chosen: list[bool]) -> None:
        """Check or uncheck each part; `are_chosen` has one value for each."""
        self.parts.blockSignals(True)
        for index, is_chosen in enumerate(are_chosen):
            self.parts.item(index).setCheckState(Qt.CheckState.Checked if is_chosen else Qt.CheckState.Unchecked)
        self.parts.blockSignals(False)

    def _choose_all(self) -> None:
        self._check([True] * len(self._sizes))
        self._on_changed()

    def _choose_none(self) -> None:
        self._check([False] * len(self._sizes))
        self._on_changed()

    def _choose_fitting(self) -> None:
        room = self._num_room or 0
        are_chosen: list[bool] = []
        for size in self._sizes:
            room -= size
            are_chosen.append(room >= 0)
        self._check(are_chosen)
        self._on_changed()

    def _on_changed(self) -> None:
        self._show_sum()
        self.chosen.emit([index for index in range(len(self._sizes)) if not self._is_chosen(index)])

    def _show_sum(self) -> None:
        num = sum(size for index, size in enumerate(self._sizes) if self._is_chosen(index))
        if self._num_room is None:
            self.sum.setText(self.tr("Chosen: about {num} tokens").format(num=counted(num)))
        else:
            text = self.tr("Chosen: about {num} tokens. There is room for {room}.")
            self.sum.setText(text.format(num=counted(num), room=counted(max(self._num_room, 0))))
