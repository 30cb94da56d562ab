"""The panel for generation settings: sampling, length, seed, stop strings, thinking, drafts and hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import structs
from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QVBoxLayout,
    QWidget,
)

from app.model.generation_settings import GenerationSettings, Hook, Preset
from app.model.message import Draft
from app.ui.composer.chips import TextChips
from app.ui.composer.form_columns import MAX_WHOLE, FormColumns, Row, number_field, read_number, whole_field
from app.ui.composer.hook_rows import HookRows
from app.ui.composer.models_field import ModelsField
from app.ui.composer.preset_bar import PresetBar
from app.ui.parts.buttons import FoldedPart, NameBox, WrappingButton
from app.ui.parts.labels import as_tool_tip, heading, quiet_label, rule
from app.ui.parts.layouts import FlowLayout
from app.ui.parts.popover import Popover
from app.ui.theme import Theme

translate = QCoreApplication.translate

_WIDTH_PX = 640
_MAX_SEED = 2**63 - 1
_MAX_SEED_DIGITS = 100
"""Python refuses to convert a text of several thousand digits to a number."""
_DRAFTS: tuple[Draft, ...] = ("auto", "tree", "off")
_THINKING = (None, True, False)

Thinking = Literal["can't", "on", "off"]
"""Whether thinking is on or off by default; "can't" means that the model's template has no switch for it."""


class SamplingPanel(Popover):
    """The generation settings of the open conversation. Changes apply at once."""

    changed = Signal(object)
    """The new `GenerationSettings`."""
    presets_changed = Signal(object)
    default_asked = Signal()
    """The user wants these settings in new conversations, too."""
    reset_asked = Signal()
    """The user wants the settings of new conversations in this conversation."""

    def __init__(
        self,
        generation: GenerationSettings,
        *,
        presets: Sequence[Preset],
        thinking: Thinking,
        draft_model: str,
        models: Sequence[str],
        model: str,
        has_hooks: bool = True,
        theme: Theme,
        parent: QWidget,
    ) -> None:
        """`draft_model` is the name of the loaded draft model, empty without one.

        `models` are the models to choose from, `model` is the conversation's model. `has_hooks`: whether the model can
        be steered by hooks and drafts.
        """
        super().__init__(translate("SamplingPanel", "Sampling"), _WIDTH_PX, parent)
        self._generation = generation
        self._is_showing = False
        self.presets = PresetBar(presets, generation)
        sampling = generation.sampling
        self.temperature = number_field(0.0, 2.0, 0.05, sampling.temperature)
        self.top_p = number_field(0.05, 1.0, 0.05, sampling.top_p)
        self.top_k = whole_field(0, 1000, 10, sampling.top_k, self.tr("all"))
        self.min_p = number_field(0.0, 1.0, 0.01, sampling.min_p, self.tr("off"))
        self.repetition_penalty = number_field(1.0, 2.0, 0.05, sampling.repetition_penalty, self.tr("off"))
        self.presence_penalty = number_field(-2.0, 2.0, 0.1, sampling.presence_penalty)
        self.frequency_penalty = number_field(-2.0, 2.0, 0.1, sampling.frequency_penalty)
        self.max_tokens = whole_field(1, 1_000_000, 128, sampling.max_tokens)
        self.num_answers = whole_field(1, 64, 1, generation.n)
        self.models = ModelsField(models, model)
        self.seed = QLineEdit()
        self._seed_error = QLabel(self.tr("A seed is a whole number from 0 to 9,223,372,036,854,775,807."))
        self.thinking = NameBox()
        self.draft = NameBox()
        self.stop = TextChips(self.tr("Stop strings"), sampling.stop, theme)
        self.hooks = HookRows(generation.hooks, generation.hook_options, theme)
        self.advanced = FoldedPart(self.tr("Advanced"), theme)
        """The section with settings that few users change. It is open if one of them differs from the default."""
        self.hooks_and_drafts = FoldedPart(self.tr("Hooks and drafts"), theme)
        self._can_think = thinking != "can't"
        self._fill_thinking(thinking)
        self._fill_drafts(draft_model)
        self._build()
        self._show(generation)
        self._open_parts()
        # Hooks that are on stay in sight, so that they can be switched off.
        self.hooks_and_drafts.setVisible(has_hooks or bool(generation.hooks))
        self._connect()

    def _open_parts(self) -> None:
        usual, now = GenerationSettings(), self._generation
        names = ("min_p", "repetition_penalty", "presence_penalty", "frequency_penalty", "seed", "stop")
        if any(getattr(usual.sampling, name) != getattr(now.sampling, name) for name in names):
            self.advanced.open()
        if now.hooks or now.draft != usual.draft:
            self.hooks_and_drafts.open()

    def _connect(self) -> None:
        self.presets.chosen.connect(self._apply_preset)
        self.presets.changed.connect(self.presets_changed)
        for number in (
            self.temperature,
            self.top_p,
            self.min_p,
            self.repetition_penalty,
            self.presence_penalty,
            self.frequency_penalty,
        ):
            number.valueChanged.connect(self._on_changed)
            number.editingFinished.connect(self._on_changed)
        for whole in (self.top_k, self.max_tokens, self.num_answers):
            whole.valueChanged.connect(self._on_changed)
            whole.editingFinished.connect(self._on_changed)
        for box in (self.thinking, self.draft):
            box.currentIndexChanged.connect(self._on_changed)
        self.models.changed.connect(self._on_changed)
        self.seed.textChanged.connect(self._on_changed)
        self.stop.changed.connect(self._on_changed)
        self.hooks.changed.connect(self._on_changed)

    @property
    def first(self) -> QWidget:
        """The widget that has the focus at first."""
        return self.temperature

    def show_hooks(self, hooks: Sequence[Hook]) -> None:
        """Show the hooks found."""
        self.hooks.show_hooks(hooks)

    # --- contents ------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.seed.setPlaceholderText(self.tr("random"))
        self._seed_error.setObjectName("failure")
        self._seed_error.setWordWrap(True)
        self._seed_error.setVisible(False)
        self.column.addWidget(self.presets)
        self.column.addWidget(self._new_forms())
        self.column.addWidget(rule())
        self._fill_advanced(self.advanced.column)
        self.column.addWidget(self.advanced)
        drafts = FormColumns()
        drafts.add("", (Row(self.tr("Drafts"), self.draft, self.draft.toolTip()),))
        for part in (
            heading(
                self.tr("Hooks"),
                self.tr("Python code that checks each token and can take it back. Hooks run from top to bottom."),
            ),
            self.hooks,
            drafts,
        ):
            self.hooks_and_drafts.column.addWidget(part)
        self.column.addWidget(self.hooks_and_drafts)
        self.column.addWidget(rule())
        self.column.addLayout(self._new_footer())

    def _new_forms(self) -> FormColumns:
        forms = FormColumns()
        forms.add(
            "",
            (
                Row(
                    self.tr("Temperature"),
                    self.temperature,
                    self.tr("0 always takes the likeliest token; higher values are more creative."),
                ),
                Row(
                    self.tr("Top-p"),
                    self.top_p,
                    self.tr("Sample from the likeliest tokens that together have this probability."),
                ),
                Row(self.tr("Top-k"), self.top_k, self.tr("Sample from this many of the likeliest tokens.")),
                Row(
                    self.tr("Maximum tokens"), self.max_tokens, self.tr("The answer stops there; Continue writes more.")
                ),
            ),
        )
        thinking = Row(self.tr("Think first"), self.thinking, self.thinking.toolTip())
        models = Row(self.tr("Answered by"), self.models, self.tr("Several models answer one after another."))
        forms.add(
            "",
            (
                Row(
                    self.tr("Answers at once"),
                    self.num_answers,
                    self.tr("Several answers are shown side by side; keep one or all."),
                ),
                *([models] if self.models.has_choice else []),
                *([thinking] if self._can_think else []),
            ),
        )
        return forms

    def _fill_advanced(self, column: QVBoxLayout) -> None:
        forms = FormColumns()
        forms.add(
            "",
            (
                Row(
                    self.tr("Min-p"),
                    self.min_p,
                    self.tr("Leave out tokens that are less likely than this share of the likeliest one."),
                ),
                Row(
                    self.tr("Repetition penalty"),
                    self.repetition_penalty,
                    self.tr("Make recent tokens less likely to repeat."),
                ),
                Row(self.tr("Seed"), self.seed, self.tr("The same seed and question give the same answer.")),
            ),
        )
        forms.add(
            "",
            (
                Row(
                    self.tr("Presence penalty"),
                    self.presence_penalty,
                    self.tr("Make recently used tokens less likely; below 0, more likely."),
                ),
                Row(
                    self.tr("Frequency penalty"),
                    self.frequency_penalty,
                    self.tr("Like the presence penalty, but stronger the more often a token was used."),
                ),
            ),
        )
        column.addWidget(forms)
        column.addWidget(self._seed_error)
        column.addWidget(
            heading(self.tr("Stop strings"), self.tr("The answer ends before the first of these strings."))
        )
        column.addWidget(self.stop)

    def _new_footer(self) -> QVBoxLayout:
        footer = QVBoxLayout()
        footer.setSpacing(8)
        footer.addWidget(
            quiet_label(self.tr("These settings apply to this conversation, starting with the next answer."))
        )
        buttons = FlowLayout(is_at_end=True)
        buttons.setSpacing(8)
        footer.addLayout(buttons)
        reset = WrappingButton(self.tr("Reset to default"))
        reset.setToolTip(self.tr("Use the settings of new conversations"))
        reset.clicked.connect(self.reset_asked)
        default = WrappingButton(self.tr("Make default"))
        default.setToolTip(self.tr("Use these settings for new conversations"))
        default.clicked.connect(self.default_asked)
        buttons.addWidget(reset)
        buttons.addWidget(default)
        return footer

    def _fill_thinking(self, thinking: Thinking) -> None:
        default = self.tr("Default (on)") if thinking == "on" else self.tr("Default (off)")
        self.thinking.addItems([default, self.tr("On"), self.tr("Off")])
        self.thinking.setToolTip(self.tr("Whether the model thinks before it answers."))

    def _fill_drafts(self, model: str) -> None:
        automatic = self.tr("Draft model") if model else self.tr("Automatic")
        self.draft.addItems([automatic, self.tr("From the tree"), self.tr("Off")])
        source = (
            self.tr("The predicted tokens come from {model}, or from other answers in the tree.").format(model=model)
            if model
            else self.tr(
                "The predicted tokens come from a draft model, if one is chosen in the Models menu, "
                "or from other answers in the tree."
            )
        )
        purpose = self.tr("Predicted tokens that the model checks all at once. They change the speed, not the answer.")
        self.draft.setToolTip(as_tool_tip(f"{purpose} {source}"))

    # --- values --------------------------------------------------------------------------------------------

    def show_generation(self, generation: GenerationSettings) -> None:
        """Show these settings, no matter whether they were changed in this panel or elsewhere."""
        if generation != self._generation:
            self._generation = generation
            self._show(generation)

    def _apply_preset(self, generation: GenerationSettings) -> None:
        self.show_generation(generation)
        self.presets.show_generation(generation)
        self.changed.emit(generation)

    def _show(self, generation: GenerationSettings) -> None:
        self._is_showing = True
        sampling = generation.sampling
        for number, value in (
            (self.temperature, sampling.temperature),
            (self.top_p, sampling.top_p),
            (self.min_p, sampling.min_p),
            (self.repetition_penalty, sampling.repetition_penalty),
            (self.presence_penalty, sampling.presence_penalty),
            (self.frequency_penalty, sampling.frequency_penalty),
        ):
            # A value set elsewhere may be outside the range.
            number.setRange(min(number.minimum(), value), max(number.maximum(), value))
            number.setValue(value)
        for whole, count in (
            (self.top_k, sampling.top_k),
            (self.max_tokens, sampling.max_tokens),
            (self.num_answers, generation.n),
        ):
            whole.setMaximum(max(whole.maximum(), min(count, MAX_WHOLE)))
            whole.setValue(min(count, MAX_WHOLE))
        self.models.show_models(generation.models)
        self.seed.setText("" if sampling.seed is None else str(sampling.seed))
        self.thinking.setCurrentIndex(_THINKING.index(generation.thinking) if self._can_think else 0)
        self.draft.setCurrentIndex(_DRAFTS.index(generation.draft))
        self.stop.show_texts(sampling.stop)
        self.hooks.show_active(generation.hooks, generation.hook_options)
        self.presets.show_generation(generation)
        self._is_showing = False

    def _on_changed(self) -> None:
        if self._is_showing:
            return
        seed_text = self.seed.text().strip()
        is_seed = seed_text.isdecimal() and len(seed_text) <= _MAX_SEED_DIGITS and int(seed_text) <= _MAX_SEED
        self._seed_error.setVisible(bool(seed_text) and not is_seed)
        before = self._generation.sampling
        sampling = structs.replace(
            before,
            temperature=read_number(self.temperature, before.temperature),
            top_p=read_number(self.top_p, before.top_p),
            top_k=self.top_k.value(),
            min_p=read_number(self.min_p, before.min_p),
            repetition_penalty=read_number(self.repetition_penalty, before.repetition_penalty),
            presence_penalty=read_number(self.presence_penalty, before.presence_penalty),
            frequency_penalty=read_number(self.frequency_penalty, before.frequency_penalty),
            max_tokens=self.max_tokens.value(),
            stop=self.stop.texts,
            seed=int(seed_text) if is_seed else None,
        )
        generation = structs.replace(
            self._generation,
            sampling=sampling,
            n=self.num_answers.value(),
            models=self.models.models,
            thinking=_THINKING[self.thinking.currentIndex()] if self._can_think else self._generation.thinking,
            draft=_DRAFTS[self.draft.currentIndex()],
            hooks=self.hooks.names,
            hook_options=self.hooks.options,
        )
        if generation != self._generation:
            self._generation = generation
            self.presets.show_generation(generation)
            self.changed.emit(generation)
