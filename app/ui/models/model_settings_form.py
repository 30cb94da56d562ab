"""The settings of one model on its page. Changes apply at once; a setting that is not set shows its default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget
from typing_extensions import override

from app.catalog.entry import LocalModel
from app.model.message import Sampling
from app.model.model_settings import ModelSettings
from app.numbers import shortened, sized
from app.program import Program
from app.supply.draft_choices import DraftChoice
from app.ui.composer.chips import TextChips
from app.ui.composer.writing_field import WritingField
from app.ui.header import model_label
from app.ui.models.entry import GUIDE, Entry
from app.ui.parts.buttons import FoldButton, NameBox
from app.ui.parts.labels import ElidedLabel, quiet_label
from app.ui.theme import Theme, scaled, text_font

translate = QCoreApplication.translate

_PROMPT_PX = 84
_NOTES_PX = 60
_MIN_MARK_PX = 40
_SETTLED_MS = 400
"""Typed text is saved when no key was pressed for this time."""
_KV_BITS: tuple[Literal[16, 8, 4] | None, ...] = (None, 16, 8, 4)


class ModelSettingsForm(QWidget):
    """A form that is folded at first; its button says which settings are set.

    The guide and models that can't be loaded have none.
    """

    def __init__(self, program: Program, theme: Theme) -> None:
        super().__init__()
        self._program = program
        self._model: LocalModel | None = None
        self._drafts: Sequence[str] = ()
        """The names in the list of draft models; the first one is empty."""
        self.button = FoldButton(theme)
        self.button.setText(self.tr("Settings"))
        self.button.toggled.connect(self._on_toggled)
        self.summary = ElidedLabel()
        self.summary.setObjectName("quiet")
        self.system_prompt = _text_field(self.tr("No system prompt"), _PROMPT_PX)
        self.stop = TextChips(self.tr("Stop strings"), (), theme)
        self.first_mark, self.last_mark = QLineEdit(), QLineEdit()
        self.kv_bits = NameBox()
        self.draft = NameBox()
        self.notes = _text_field(self.tr("Your notes on this model"), _NOTES_PX)
        self.problem = QLabel()
        self.problem.setObjectName("failure")
        self.problem.setWordWrap(True)
        self.problem.setVisible(False)
        self._form = QWidget()
        self._form.setVisible(False)
        self._draft_label = QLabel()
        self._settling = QTimer(self, singleShot=True, interval=_SETTLED_MS)
        self._settling.timeout.connect(self._keep)
        self._lay_out()
        self._connect()
        self.set_theme(theme)

    def _lay_out(self) -> None:
        marks = QHBoxLayout()
        marks.setSpacing(8)
        marks.addWidget(self.first_mark)
        marks.addWidget(self.last_mark)
        self.first_mark.setPlaceholderText("<think>")
        self.last_mark.setPlaceholderText("</think>")
        for mark in (self.first_mark, self.last_mark):
            mark.setMinimumWidth(_MIN_MARK_PX)
        self.first_mark.setAccessibleName(self.tr("Reasoning begins with"))
        self.last_mark.setAccessibleName(self.tr("Reasoning ends with"))
        grid = QGridLayout(self._form)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        rows: Sequence[tuple[str, str, QWidget | QHBoxLayout]] = (
            (self.tr("System prompt"), self.tr("New conversations with this model begin with it"), self.system_prompt),
            (self.tr("Stop strings"), self.tr("Stop strings for new conversations"), self.stop),
            (
                self.tr("Reasoning"),
                self.tr(
                    "The text before and after this model's reasoning, which is folded in answers. This changes what "
                    "you see, not what the model reads."
                ),
                marks,
            ),
            (self.tr("Cache precision"), self.tr("Fewer bits take less memory for the context"), self.kv_bits),
            (
                self.tr("Draft model"),
                self.tr("A much smaller model with the same tokens, which makes answers faster"),
                self.draft,
            ),
            (self.tr("Notes"), "", self.notes),
        )
        for number, (name, tip, field) in enumerate(rows):
            label = quiet_label(name)
            label.setToolTip(tip)
            if isinstance(field, QHBoxLayout):
                label.setBuddy(self.first_mark)
                for mark in (self.first_mark, self.last_mark):
                    mark.setToolTip(tip)
                grid.addLayout(field, number, 1)
            else:
                label.setBuddy(field)
                field.setAccessibleName(name)
                field.setAccessibleDescription(tip)
                field.setToolTip(tip)
                grid.addWidget(field, number, 1)
            if field is self.draft:
                self._draft_label = label
            top = Qt.AlignmentFlag.AlignTop
            label.setContentsMargins(0, 6, 0, 0)
            grid.addWidget(label, number, 0, top)
        grid.addWidget(self.problem, len(rows), 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        head = QHBoxLayout()
        head.setSpacing(4)
        head.addWidget(self.button)
        head.addWidget(self.summary, 1)
        # Keeps the button at the left while the summary is hidden.
        head.addStretch()
        column.addLayout(head)
        column.addWidget(self._form)

    def _connect(self) -> None:
        for field in (self.system_prompt, self.notes):
            field.textChanged.connect(self._settling.start)
            field.textChanged.connect(self.problem.hide)
            field.refused.connect(self._on_refused)
        for mark in (self.first_mark, self.last_mark):
            mark.textEdited.connect(self._settling.start)
        for widget in (self.system_prompt, self.notes, self.first_mark, self.last_mark):
            widget.installEventFilter(self)
        self.stop.changed.connect(self._keep)
        self.kv_bits.activated.connect(self._keep)
        self.draft.activated.connect(self._on_draft)
        self._program.supply.draft_choices.changed.connect(self._show_drafts)
        self._program.of_models.changed.connect(self._on_changed)
        self._program.session.changed.connect(self._show_drafts)
        self._program.settings_changed.connect(self._show_kv_bits)

    @property
    def controls(self) -> tuple[QWidget, ...]:
        """The controls, from top to bottom."""
        marks = (self.first_mark, self.last_mark)
        stop = (self.stop.field, self.stop.add_button)
        return self.button, self.system_prompt, *stop, *marks, self.kv_bits, self.draft, self.notes

    def set_theme(self, theme: Theme) -> None:
        self.button.set_theme(theme)
        self.stop.set_theme(theme)

    # --- content -------------------------------------------------------------------------------------------

    def show_entry(self, entry: Entry | None) -> None:
        """Show the settings of a model. The form is hidden for models without settings."""
        model = None if entry is None else entry.model
        has_settings = (
            isinstance(model, LocalModel) and model.format == "mlx" and model.problem is None and model.name != GUIDE
        )
        shown = model if has_settings and isinstance(model, LocalModel) else None
        is_other = (None if shown is None else shown.name) != self._name
        if is_other:
            self.stop.add()
            self._keep()
            self.problem.hide()
        self._model = shown
        self.setVisible(shown is not None)
        if is_other:
            self._show()

    @property
    def _name(self) -> str | None:
        return None if self._model is None else self._model.name

    def _show(self) -> None:
        if self._model is None:
            return
        settings = self._program.of_models.of(self._model.name)
        for field, text in ((self.system_prompt, settings.system_prompt), (self.notes, settings.notes)):
            if field.content != text:
                with QSignalBlocker(field):
                    field.setPlainText(text)
        for mark, text in zip((self.first_mark, self.last_mark), settings.thought_marks, strict=True):
            if mark.text() != text:
                mark.setText(text)
        self.stop.show_texts(settings.stop)
        self._show_kv_bits()
        self._show_drafts()
        self._show_summary()
        if self.button.isChecked():
            self._program.supply.draft_choices.look_for(self._model, self._program.supply.local_models.all)

    def _on_changed(self, name: str) -> None:
        if name == self._name and not self._settling.isActive():
            self._show()

    def _show_kv_bits(self) -> None:
        if self._model is None:
            return
        usual = self._program.settings.cache_settings.kv_bits
        texts = (
            self.tr("As in the settings ({precision})").format(precision=self._bits_text(usual or 16)),
            *(self._bits_text(bits) for bits in (16, 8, 4)),
        )
        with QSignalBlocker(self.kv_bits):
            if [self.kv_bits.itemText(number) for number in range(self.kv_bits.count())] != list(texts):
                self.kv_bits.clear()
                self.kv_bits.addItems(texts)
            self.kv_bits.setCurrentIndex(_KV_BITS.index(self._program.of_models.of(self._model.name).kv_bits))

    def _bits_text(self, bits: int) -> str:
        return self.tr("full precision") if bits == 16 else self.tr("{number} bits").format(number=bits)

    def _show_drafts(self) -> None:
        """List the draft models that can be used. The list is hidden if there are none, and none is chosen."""
        if self._model is None:
            return
        chosen = self._program.of_models.draft_of(self._model.name)
        found = self._program.supply.draft_choices.of(self._model)
        choices = [choice for choice in found if choice.name != chosen]
        names = ["", *([chosen] if chosen else []), *(choice.name for choice in choices)]
        texts = [self.tr("None"), *([model_label(chosen)] if chosen else []), *map(self._draft_text, choices)]
        with QSignalBlocker(self.draft):
            self._drafts = names
            self.draft.clear()
            self.draft.addItems(texts)
            self.draft.setCurrentIndex(1 if chosen else 0)
        for widget in (self._draft_label, self.draft):
            widget.setVisible(len(names) > 1)
        self._show_summary()

    def _draft_text(self, choice: DraftChoice) -> str:
        label = model_label(choice.name)
        return self.tr("{model} (recommended)").format(model=label) if choice.is_suggested else label

    def _show_summary(self) -> None:
        """Show a summary of the settings that are set beside the button."""
        if self._model is None:
            return
        settings = self._program.of_models.of(self._model.name)
        set_: list[str] = []
        set_ += [self.tr("system prompt")] if settings.system_prompt.strip() else []
        set_ += [self.tr("%n stop string(s)", "", len(settings.stop))] if settings.stop else []
        set_ += [self.tr("reasoning")] if settings.own_marks else []
        set_ += [self._bits_text(settings.kv_bits)] if settings.kv_bits else []
        set_ += [self.tr("draft model")] if self._program.of_models.draft_of(self._model.name) else []
        text = " · ".join(set_)
        self.summary.show_text(text)
        self.button.setAccessibleDescription(text)

    def facts(self) -> list[tuple[str, str]]:
        """Return more facts about the shown model: its form in memory, its recommended sampling, the user's notes."""
        if self._model is None:
            return []
        facts = [(self.tr("In memory"), self._weights_text()), (self.tr("Sampling"), self._sampling_text())]
        return [*facts, (self.tr("Notes"), self._program.of_models.of(self._model.name).notes.strip())]

    def _weights_text(self) -> str:
        """Return whether the weights of the loaded model are unpacked, as text; empty if that makes no difference."""
        session = self._program.session
        if self._model is None or session.info is None or session.name != self._model.name:
            return ""
        weights, size = session.info.weights, sized(session.info.weights_bytes)
        match weights.form:
            case "stored":
                return ""
            case "unpacked":
                return self.tr("{size}: unpacked, which is faster on a CPU").format(size=size)
            case "packed":
                return self.tr("{size}: quantized, because {needed} for unpacked weights were not free").format(
                    size=size, needed=sized(weights.needed_bytes)
                )

    def _sampling_text(self) -> str:
        """Return the sampling settings that the model's authors recommend, as text; empty if there are none."""
        assert self._model is not None
        found, usual = self._program.of_models.suggested_sampling(self._model.name), Sampling()
        names = {
            "temperature": translate("SamplingPanel", "Temperature"),
            "top_p": translate("SamplingPanel", "Top-p"),
            "top_k": translate("SamplingPanel", "Top-k"),
            "min_p": translate("SamplingPanel", "Min-p"),
            "repetition_penalty": translate("SamplingPanel", "Repetition penalty"),
        }
        values = ((name, getattr(found, field)) for field, name in names.items()
                  if getattr(found, field) != getattr(usual, field))  # fmt: skip
        text = ", ".join(f"{name} {shortened(float(value))}" for name, value in values)
        unused = ", ".join(
            names.get(each, each) for each in self._program.of_models.unused_suggestions(self._model.name)
        )
        if not unused:
            return text
        left_out = self.tr("not used, because the value is invalid: {names}").format(names=unused)
        return f"{text}; {left_out}" if text else left_out

    # --- changes -------------------------------------------------------------------------------------------

    def _on_toggled(self, is_open: bool) -> None:
        self._form.setVisible(is_open)
        self.summary.setVisible(not is_open)
        if is_open and self._model is not None:
            self._program.supply.draft_choices.look_for(self._model, self._program.supply.local_models.all)

    def _keep(self) -> None:
        """Save the values of all controls."""
        self._settling.stop()
        if self._model is None:
            return
        before = self._program.of_models.of(self._model.name)
        after = ModelSettings(
            system_prompt=self.system_prompt.content,
            stop=self.stop.texts,
            kv_bits=_KV_BITS[max(self.kv_bits.currentIndex(), 0)],
            thought_marks=(self.first_mark.text(), self.last_mark.text()),
            notes=self.notes.content,
        )
        if after != before:
            self._program.of_models.replace(self._model.name, after)
            self._show_summary()

    def _on_refused(self, why: str) -> None:
        self.problem.setText(why)
        self.problem.show()

    def _on_draft(self, number: int) -> None:
        if self._model is not None and number < len(self._drafts):
            self._program.of_models.set_draft(self._model.name, self._drafts[number])

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.FocusOut and self._settling.isActive():
            self._keep()
        return super().eventFilter(watched, event)

    @override
    def hideEvent(self, event: QHideEvent) -> None:
        # Text that was typed just before the window is closed is saved, too.
        self._keep()
        super().hideEvent(event)


def _text_field(hint: str, height_px: int) -> WritingField:
    field = WritingField()
    field.setObjectName("field")
    field.setFont(text_font())
    field.setTabChangesFocus(True)
    field.setFixedHeight(scaled(height_px))
    field.show_hint(hint)
    return field
