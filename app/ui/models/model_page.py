"""The page of one model: what it is good for, whether it fits, and what can be done with it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import assert_never

from PySide6.QtCore import QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.catalog.entry import Fit, LocalModel, RemoteModel, Upkeep
from app.numbers import counted, sized
from app.sentences import translated
from app.ui.models.entry import (
    Action,
    Entry,
    fit_word,
    good_for,
    main_action,
    quantization_text,
    transfer_text,
)
from app.ui.models.memory_bar import MemoryBar
from app.ui.models.model_settings_form import ModelSettingsForm
from app.ui.models.page_parts import Confirmation, Facts, TemplateFold, TokenForm
from app.ui.parts.buttons import give_menu
from app.ui.parts.labels import BreakingLabel, ElidedLabel, quiet_label
from app.ui.parts.layouts import FlowLayout, scrolled
from app.ui.theme import Theme, icon, scaled

_STEPS = 1000
_MAX_PX = 640


class ModelPage(QWidget):
    """Shows the chosen model. The window carries out the actions."""

    requested = Signal(object)
    """The user wants an action on the shown model: an `Action`."""
    variant_chosen = Signal(str)
    """The user chose a GGUF file of the shown repository: its path there."""
    back_requested = Signal()
    focus_lost = Signal()
    """The control that had the focus is no longer shown, and no other one can take it."""
    plain_template_chosen = Signal(bool)
    """Whether the user wants a plain chat template for the shown model, which has none."""

    def __init__(
        self,
        theme: Theme,
        fit_of: Callable[[RemoteModel], Fit | None],
        template_of: Callable[[str], str | None],
        settings: ModelSettingsForm,
    ) -> None:
        """`fit_of` estimates whether a model on the hub fits into memory. `settings` is the form for the shown model.

        `template_of` returns the chat template that the user chose for a model without one.
        """
        super().__init__()
        self.settings = settings
        self._theme = theme
        self._fit_of = fit_of
        self._entry: Entry | None = None
        self._held = 0, 0
        """The width of the text about progress, and its greatest height so far at this width."""
        self.back_button = _tool_button(self.tr("Back to the list"), self.tr("Back to the list (Esc)"))
        self.back_button.clicked.connect(self.back_requested)
        self.title = ElidedLabel()
        self.title.setObjectName("title")
        self.more_button = _tool_button(self.tr("More"), self.tr("More"))
        self._menu = QMenu(self.more_button)
        self._menu.aboutToShow.connect(self._fill_menu)
        give_menu(self.more_button, self._menu)
        self.line = QLabel()
        self.variants = QComboBox()
        self.variants.setAccessibleName(self.tr("Quantization"))
        self.variants.activated.connect(self._on_variant)
        self.problem = BreakingLabel()
        self.problem.setObjectName("failure")
        self.main_button = QPushButton()
        self.main_button.setObjectName("primary")
        self.main_button.clicked.connect(self._on_main)
        self.second_button = QPushButton(self.tr("Cancel"))
        self.second_button.clicked.connect(lambda: self.requested.emit("cancel_transfer"))
        self.progress = QProgressBar()
        self.progress.setRange(0, _STEPS)
        self.progress.setTextVisible(False)
        self.progress_text = quiet_label("")
        self.token = TokenForm()
        self.confirmation = Confirmation()
        self.confirmation.answered.connect(self._on_answered)
        self.memory_text = quiet_label("")
        self.memory_bar = MemoryBar(theme)
        self.facts = Facts()
        self.template = TemplateFold(theme, template_of)
        self.template.plain_chosen.connect(self.plain_template_chosen)
        for label in (self.line, self.problem, self.memory_text):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        for button in (self.main_button, self.second_button):
            button.setAutoDefault(False)
            button.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self._lay_out()
        self.set_theme(theme)
        self.show_entry(None)

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(16, 12, 12, 0)
        head.setSpacing(8)
        head.addWidget(self.back_button)
        head.addWidget(self.title, 1)
        head.addWidget(self.more_button)
        buttons = QWidget()
        flow = FlowLayout(buttons)
        flow.setSpacing(8)
        flow.addWidget(self.main_button)
        flow.addWidget(self.second_button)
        progress = QVBoxLayout()
        progress.setSpacing(4)
        progress.addWidget(self.progress)
        progress.addWidget(self.progress_text)
        memory = QVBoxLayout()
        memory.setSpacing(6)
        memory.addWidget(self.memory_bar)
        memory.addWidget(self.memory_text)
        self._page = QWidget()
        self.column = QVBoxLayout(self._page)
        self.column.setContentsMargins(16, 4, 16, 16)
        self.column.setSpacing(12)
        for part in (self.line, self.variants, self.problem, self.token, buttons):
            self.column.addWidget(part)
        self.column.addLayout(progress)
        self.column.addWidget(self.confirmation)
        self.column.addLayout(memory)
        self.column.addWidget(self.facts)
        self.column.addWidget(self.settings)
        self.column.addWidget(self.template)
        self.column.addStretch(1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(4)
        outer.addLayout(head)
        # Long lines are hard to read, so the text keeps its width in a wide window.
        self._page.setMaximumWidth(scaled(_MAX_PX))
        outer.addWidget(scrolled(self._page), 1)
        self._order_tabs()

    def _order_tabs(self) -> None:
        """Let Tab go from top to bottom, no matter in which order the controls were created."""
        above = (self.back_button, self.more_button, self.variants, self.token.field, self.token.button)
        questions = (self.confirmation.yes_button, self.confirmation.no_button)
        below = (*questions, *self.settings.controls, *self.template.controls)
        for before, after in pairwise((*above, self.main_button, self.second_button, *below)):
            QWidget.setTabOrder(before, after)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.back_button.setIcon(icon("left", theme.quiet_text))
        self.more_button.setIcon(icon("more", theme.quiet_text))
        self.memory_bar.set_theme(theme)
        self.settings.set_theme(theme)
        self.template.set_theme(theme)

    # --- content -------------------------------------------------------------------------------------------

    @property
    def entry(self) -> Entry | None:
        return self._entry

    def show_entry(self, entry: Entry | None) -> None:
        """Show a model; None means an empty page."""
        focus = QApplication.focusWidget()
        focus = focus if focus is not None and self.isAncestorOf(focus) else None
        self._show_entry(entry)
        if focus is not None and not focus.isVisibleTo(self):
            self.take_focus()

    def take_focus(self) -> None:
        """Give the focus to the first enabled button; if there is none, the window decides where the focus goes."""
        for button in (self.main_button, self.more_button, self.back_button):
            if button.isVisibleTo(self):
                button.setFocus(Qt.FocusReason.OtherFocusReason)
                return
        self.focus_lost.emit()

    def open_menu(self, place: QPoint) -> None:
        """Open the menu of the shown model at a position on the screen."""
        if self._entry is not None and self._menu_actions(self._entry):
            self._menu.popup(place)

    def _show_entry(self, entry: Entry | None) -> None:
        is_other = (None if entry is None else entry.key) != (None if self._entry is None else self._entry.key)
        self._entry = entry
        self._page.setVisible(entry is not None)
        self.more_button.setVisible(entry is not None and bool(self._menu_actions(entry)))
        if is_other:
            self._held = 0, 0
            self.token.reset()
            self.confirmation.setVisible(False)
        self.settings.show_entry(entry)
        if entry is None:
            self.title.show_text("")
            return
        self.title.show_text(entry.title)
        is_useless = entry.model is not None and entry.model.problem is not None
        _show_text(self.line, "" if is_useless else good_for(entry))
        self._show_variants(entry)
        _show_text(self.problem, "" if entry.problem is None else translated(entry.problem))
        self.token.setVisible(entry.wants_token)
        self._show_main(main_action(entry))
        self._show_second(entry)
        self._show_progress(entry)
        self._show_memory(None if is_useless else entry.fit)
        self.facts.show_entry(entry, self.settings.facts())
        self.template.show_entry(entry)

    def _show_variants(self, entry: Entry) -> None:
        self.variants.setVisible(len(entry.variants) > 1 and entry.transfer is None)
        texts = [self._variant_text(variant) for variant in entry.variants]
        with QSignalBlocker(self.variants):
            if texts != [self.variants.itemText(number) for number in range(self.variants.count())]:
                self.variants.clear()
                self.variants.addItems(texts)
            if isinstance(entry.model, RemoteModel) and entry.model in entry.variants:
                self.variants.setCurrentIndex(entry.variants.index(entry.model))

    def _variant_text(self, variant: RemoteModel) -> str:
        name = quantization_text(variant.quantization) or variant.gguf
        parts = [name, sized(variant.num_bytes) if variant.num_bytes else "", fit_word(self._fit_of(variant))[0]]
        return " · ".join(part for part in parts if part)

    def _show_main(self, action: Action | None) -> None:
        text, tip = self._main_text(action)
        self.main_button.setVisible(bool(text))
        self.main_button.setText(text)
        self.main_button.setToolTip(tip)

    def _show_second(self, entry: Entry) -> None:
        self.second_button.setVisible(entry.transfer is not None)
        if entry.transfer is not None and entry.transfer.source is not None:
            self.second_button.setToolTip(self.tr("Cancel, and remove the converted part; the file is kept"))
        else:
            self.second_button.setToolTip(self.tr("Cancel this download, and remove the downloaded part"))

    def _main_text(self, action: Action | None) -> tuple[str, str]:
        """Return the text and the tool tip of the main button; empty texts for actions that it never offers."""
        match action:
            case "chat":
                return self.tr("Start a chat"), self.tr("Start a conversation with this model (Enter)")
            case "free_memory":
                return (
                    self.tr("Free memory first"),
                    self.tr("End the guide's process; it starts again when you ask the guide (Enter)"),
                )
            case "cancel_load":
                return self.tr("Cancel"), self.tr("Stop loading this model")
            case "convert":
                return self.tr("Convert"), self.tr("Make a model folder from this file; the file is kept (Enter)")
            case "download":
                return self.tr("Download"), self.tr("Download this model from the hub (Enter)")
            case "pause":
                return self.tr("Pause"), self.tr("The finished part is kept (Enter)")
            case "resume":
                return self.tr("Resume"), self.tr("Continue after the finished part (Enter)")
            case "ask_again":
                return self.tr("Try again"), self.tr("Ask the hub again (Enter)")
            case "unload" | "run_next" | "cancel_transfer" | "delete" | "show_folder" | "open_page" | None:
                return "", ""
            case "edit_endpoint" | "remove_endpoint":
                return "", ""
            case _:
                assert_never(action)

    def _show_progress(self, entry: Entry) -> None:
        fraction, text = entry.fraction, ""
        if entry.transfer is not None:
            fraction, text = entry.transfer.fraction or 0.0, transfer_text(entry.transfer)
            if entry.transfer.waiting is not None:
                text = f"{text}\n{translated(entry.transfer.waiting)}"
        elif fraction is not None:
            text = self.tr("Loading: {percent} %").format(percent=counted(100 * fraction, 0))
        self.progress.setVisible(fraction is not None)
        self.progress.setValue(round(_STEPS * (fraction or 0.0)))
        self.progress.setAccessibleName(self._progress_name(entry))
        _show_text(self.progress_text, text)
        self._hold_height(is_held=entry.transfer is not None)

    def _hold_height(self, *, is_held: bool) -> None:
        """Keep the greatest height that the text about progress had, so that the page does not jump."""
        label = self.progress_text
        label.setMinimumHeight(0)
        if not is_held or label.width() != self._held[0]:
            self._held = label.width(), 0
        if is_held:
            self._held = label.width(), max(self._held[1], label.heightForWidth(label.width()))
            label.setMinimumHeight(self._held[1])

    def _progress_name(self, entry: Entry) -> str:
        if entry.transfer is None:
            return self.tr("Loading")
        return self.tr("Converting") if entry.transfer.phase == "converting" else self.tr("Downloading")

    def _show_memory(self, fit: Fit | None) -> None:
        self.memory_bar.setVisible(fit is not None)
        self.memory_bar.show_fit(fit)
        _show_text(self.memory_text, "" if fit is None else translated(fit.sentence))

    # --- actions -------------------------------------------------------------------------------------------

    def _on_main(self) -> None:
        action = None if self._entry is None else main_action(self._entry)
        if action is not None:
            self.requested.emit(action)

    def _on_variant(self, number: int) -> None:
        if self._entry is not None and number < len(self._entry.variants):
            self.variant_chosen.emit(self._entry.variants[number].gguf)

    def _fill_menu(self) -> None:
        self._menu.clear()
        for text, act in [] if self._entry is None else self._menu_actions(self._entry):
            if text:
                self._menu.addAction(text, act)
            else:
                self._menu.addSeparator()

    def _menu_actions(self, entry: Entry) -> list[tuple[str, Callable[[], object]]]:
        """Return the texts of the menu's entries with their functions. An entry without a text is a separator."""
        model, transfer = entry.model, entry.transfer
        found: list[tuple[str, Callable[[], object]]] = []
        if transfer is not None and transfer.num_ahead:
            text = self.tr("Convert next") if transfer.source is not None else self.tr("Download next")
            found.append((text, self._requests("run_next")))
        if entry.presence == "loaded":
            found.append((self.tr("Unload"), self._requests("unload")))
        if isinstance(model, LocalModel):
            found += [(self._upkeep_text(action), self._requests(action)) for action in model.upkeep]
        if model is not None and model.repo:
            found.append((self.tr("Open web page"), self._requests("open_page")))
        if isinstance(model, LocalModel) and model.can_be_removed and model.name != "guide":
            found += [("", self.ask_to_delete), (self.tr("Delete…"), self.ask_to_delete)]
        return found

    def _upkeep_text(self, action: Upkeep) -> str:
        match action:
            case "show_folder":
                return self.tr("Show folder")
            case "edit_endpoint":
                return self.tr("Edit endpoint…")
            case "remove_endpoint":
                return self.tr("Remove endpoint")

    def _requests(self, action: Action) -> Callable[[], object]:
        return lambda: self.requested.emit(action)

    def ask_to_delete(self) -> None:
        """Ask on the page whether the shown model should be deleted."""
        entry = self._entry
        if entry is None or not isinstance(entry.model, LocalModel):
            return
        text = self.tr(
            "Delete {title} from this computer? This frees {size} and can't be undone. Your conversations are kept."
        )
        if entry.model.source == "hub":
            text += " " + self.tr("Other programs that use the Hugging Face cache lose it, too.")
        self.confirmation.ask(
            text.format(title=entry.title, size=sized(entry.model.num_bytes)), self.tr("Delete"), self.tr("Keep")
        )

    def _on_answered(self, is_yes: bool) -> None:
        if is_yes:
            self.requested.emit("delete")
        else:
            self.more_button.setFocus(Qt.FocusReason.OtherFocusReason)


def _show_text(label: QLabel, text: str) -> None:
    label.setText(text)
    label.setVisible(bool(text))


def _tool_button(name: str, tip: str) -> QToolButton:
    button = QToolButton()
    button.setAccessibleName(name)
    button.setToolTip(tip)
    return button
