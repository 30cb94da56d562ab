"""Connects the composer with the conversation in the window.

The panels are imported when they are opened, which keeps the start fast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.catalog.entry import Asked, Shortage
from app.conversation.controller import Controller
from app.costs.context_meter import ContextMeter
from app.costs.worker_queries import FormatCheck, HookList
from app.model.generation_settings import (
    BUILT_IN_PRESETS,
    EXAMPLES,
    AnswerFormat,
    FormatKind,
    GenerationSettings,
    current_preset,
    find_preset,
)
from app.model.message import Message
from app.model.text import clean
from app.model.unsent import NOTHING, Unsent
from app.numbers import shortened
from app.sentences import translated
from app.ui.composer.attached_files import AttachedFiles
from app.ui.composer.composer import Composer
from app.ui.composer.display_names import format_name, preset_name
from app.ui.header import model_label
from app.ui.message.message_editor import EditCosts, MessageEditor
from app.ui.theme import Theme
from worker.sentence import Sentence

if TYPE_CHECKING:
    from app.ui.composer.sampling_panel import SamplingPanel, Thinking


class ComposerCommands(QObject):
    """Sends the message, keeps the draft of each conversation, and opens the panels of the composer's buttons."""

    project_asked = Signal(str)
    """The user wants to see the project page of this folder."""

    def __init__(self, controller: Controller, composer: Composer, theme: Callable[[], Theme], window: QWidget) -> None:
        super().__init__(window)
        self._controller = controller
        self._program = controller.program
        self._preparation = controller.preparation
        self._composer = composer
        self._theme = theme
        self._window = window
        self._sent: tuple[str, Unsent] = ("", NOTHING)
        """The last message that was sent, and the draft from which it was made."""
        model = controller.model
        self._meter = ContextMeter(model, self)
        self.files = AttachedFiles(controller, composer, window, self._num_free)
        self._check = FormatCheck(model, self)
        self._hooks = HookList(self._program.session, self)
        self._edit_costs = EditCosts(controller, window)
        self._problem: str | None = None
        """The problem of the answer format; empty if it has none, None if it has not been checked yet."""
        self._format: AnswerFormat | None = None
        self._models: tuple[str, ...] = ()
        """The models that should answer, if there are several."""
        self._misfit: Shortage | None = None
        """Why one of these models does not fit into memory; None if all fit."""
        self._panel: SamplingPanel | None = None
        """The open panel, if any."""
        self._is_checking = False
        """Whether the memory check exists. It is created when it is first needed, which keeps the start fast."""
        self._shown: tuple[int | None, bool] = (None, False)
        """The id of the conversation that the meter shows, and whether it shows one yet."""
        composer.history.messages = self._own_messages
        self._connect()
        self._show_unsent()
        self._show_generation()
        composer.text.setFocus()

    def _connect(self) -> None:
        controller, composer = self._controller, self._composer
        composer.sent.connect(self._send)
        composer.allowed.connect(self._send_anyway)
        composer.edited.connect(self._keep)
        composer.stop_asked.connect(controller.stop)
        composer.attach_button.clicked.connect(self.files.choose)
        composer.system_button.clicked.connect(self._open_system_prompt)
        composer.format_button.clicked.connect(self._open_format_popover)
        composer.sampling_button.clicked.connect(self._open_sampling_panel)
        controller.unsent.connect(self._give_back)
        controller.shown.branch_changed.connect(self._show_branch)
        controller.shown.message_changed.connect(self._show_branch)
        self._preparation.shown.connect(self._show_unsent)
        self._preparation.generation_changed.connect(self._show_generation)
        controller.model.changed.connect(self._show_gauge)
        self._meter.changed.connect(self._show_gauge)
        self.files.measured.connect(self._update_meter)
        self._check.checked.connect(self._on_checked)

    def slots(self) -> dict[str, Callable[[], object]]:
        """Return the slots of the actions, by action name."""
        return {
            "write": self._composer.text.setFocus,
            "attach": self.files.choose,
            "system_prompt": self._open_system_prompt,
            "answer_format": self._open_format_popover,
            "sampling": self._open_sampling_panel,
        }

    # --- the message ---------------------------------------------------------------------------------------

    def _send(self) -> None:
        found = self._shortage()
        if found is not None and found.is_too_large:
            self._composer.allow_button.setFocus()
            return
        unsent = structs.replace(self._preparation.unsent, text=self._composer.text.content)
        self._sent = clean(unsent.text), unsent
        self._preparation.replace_unsent(structs.replace(unsent, text="", attachments=()))
        self._controller.send(unsent.text, unsent.attachments)

    def _give_back(self, text: str) -> None:
        """Restore a message that could not be stored, with its attachments."""
        sent, unsent = self._sent
        if text != sent:
            self._composer.give_back(text)
            return
        now = self._preparation.unsent
        self._preparation.set_unsent(structs.replace(now, attachments=(*unsent.attachments, *now.attachments)))
        self.files.show()
        self._composer.give_back(unsent.text)

    def _keep(self) -> None:
        self._preparation.set_unsent(structs.replace(self._preparation.unsent, text=self._composer.text.content))
        self._update_meter()

    def _show_unsent(self) -> None:
        self._composer.show_text(self._preparation.unsent.text)
        self.files.show()
        self._update_meter()
        self._show_system_prompt()

    def _own_messages(self) -> Sequence[str]:
        return [message.text for message in self._controller.shown.path if message.role == "user"]

    # --- the meter -----------------------------------------------------------------------------------------

    def _path(self) -> list[Message]:
        if self._controller.shown.conversation is None:
            return self._controller.beginnings.of_page
        return self._controller.shown.path

    def _show_branch(self) -> None:
        conversation = self._controller.shown.conversation
        shown = (None if conversation is None else conversation.id), True
        self._meter.show(self._path, self._preparation.template_options(), is_another=shown != self._shown)
        self._shown = shown
        self._show_system_prompt()

    def _update_meter(self) -> None:
        self._meter.write(self._composer.text.content, self.files.messages, self.files.num_tokens)

    def _num_free(self) -> int | None:
        """Return how many more tokens fit into the context; None if that is not known."""
        return None if self._meter.use is None else self._meter.use.num_free

    def _show_hosts(self) -> None:
        """Say to which servers the next message goes."""
        names = self._preparation.generation.models_or(self._controller.model.name)
        hosts = self._program.hosts_of(names)
        self._composer.show_hosts(self.tr("Sent to {hosts}").format(hosts=", ".join(hosts)) if hosts else "")

    def _show_gauge(self) -> None:
        self._show_hosts()
        self._composer.gauge.show_use(self._meter.use, self._program.settings.overflow)
        self._show_shortage()

    def _shortage(self) -> Shortage | None:
        """Return why the next answers would not fit into memory; None if they fit, or if that is not known."""
        use, generation = self._meter.use, self._preparation.generation
        if use is None or (use.is_over and self._program.settings.overflow == "fail"):
            # The gauge says that the prompt is too long for the model.
            return None
        if not self._is_checking:
            self._is_checking = True
            self._program.supply.memory_check.changed.connect(self._show_shortage)
        num_new = min(generation.sampling.max_tokens, max(use.num_free, 0))
        num_tokens = min(use.num_used + num_new, use.limit)
        asked = Asked(num_tokens=num_tokens, num_kept=use.num_kept, num_answers=generation.n)
        models = generation.models_or(self._controller.model.name)
        found = [self._program.supply.memory_check.shortage(name, asked) for name in models]
        return next((one for one in (*found, self._misfit) if one is not None), None)

    def _find_misfit(self) -> None:
        """Find out whether one of several models does not fit into memory. The other models still answer."""
        models = self._preparation.generation.models
        if models != self._models:
            self._models, self._misfit = models, None
            for name in models:
                why = None if name == self._program.session.name else self._program.why_not_load(name)
                if why is not None:
                    text = Sentence("{model} will not answer: {why}", model=model_label(name), why=why)
                    self._misfit = Shortage(sentence=text, is_too_large=False)
                    return

    def _show_shortage(self) -> None:
        found = self._shortage()
        text = "" if found is None else translated(found.sentence)
        self._composer.show_shortage(text, is_refused=found is not None and found.is_too_large)

    def _send_anyway(self) -> None:
        for name in self._preparation.generation.models_or(self._controller.model.name):
            self._program.supply.memory_check.allow(name)
        self._composer.send()

    # --- the system prompt ---------------------------------------------------------------------------------

    def _system_message(self) -> Message | None:
        path = self._controller.shown.path
        return path[0] if path and path[0].role == "system" else None

    def _show_system_prompt(self) -> None:
        message = self._system_message()
        has_begun = self._controller.shown.conversation is not None
        text = message.text if message is not None else "" if has_begun else self._preparation.system_prompt
        first = text.strip().partition("\n")[0]
        tip = self.tr("System prompt: {text}").format(text=first) if first else self.tr("System prompt: none")
        self._composer.show_system_prompt(tip, is_set=bool(first))
        can_be_edited = message is not None or not has_begun
        self._composer.system_button.setEnabled(can_be_edited)
        if not can_be_edited:
            self._composer.show_system_prompt(
                self.tr("This conversation started without a system prompt"), is_set=False
            )

    def _open_system_prompt(self) -> None:
        from app.ui.composer.system_prompt_popover import SystemPromptPopover

        message = self._system_message()
        has_begun = self._controller.shown.conversation is not None
        if has_begun and message is None:
            return
        if not has_begun and self._controller.project.project is not None:
            # The page of a project begins with its instructions.
            self.project_asked.emit(self._controller.project.folder)
            return
        text = message.text if message is not None else self._preparation.system_prompt
        popover = SystemPromptPopover(text, self._window, has_begun=has_begun)
        popover.written.connect(self._on_system_prompt)
        if message is not None:
            popover.branch_asked.connect(partial(self._controller.edit, message.id))
        self._edit_costs.show_in_popover(popover)
        popover.show_above(self._composer.system_button, popover.editor)

    def _on_system_prompt(self, text: str) -> None:
        if self._controller.shown.conversation is None:
            self._preparation.set_system_prompt(text)
            self._show_branch()

    def show_cost_in(self, editor: MessageEditor) -> None:
        """Show in a message editor what processing the edited prompt would cost."""
        self._edit_costs.show_in_editor(editor)

    # --- the answer format ---------------------------------------------------------------------------------

    def _open_format_popover(self) -> None:
        from app.ui.composer.format_popover import FormatPopover

        model = self._controller.model
        kinds: list[FormatKind] = [
            kind for kind in EXAMPLES if model.can("json_schema" if kind == "json_schema" else "grammar")
        ]
        popover = FormatPopover(self._preparation.generation.format, self._window, kinds)
        popover.changed.connect(self._set_format)
        self._check.checked.connect(popover.show_verdict)
        popover.show_verdict(self._problem)
        popover.show_above(self._composer.format_button, popover.first)

    def _set_format(self, answer_format: AnswerFormat | None) -> None:
        self._preparation.set_generation(structs.replace(self._preparation.generation, format=answer_format))

    def _on_checked(self, problem: str) -> None:
        self._problem = problem
        self._show_format()

    def _show_format(self) -> None:
        answer_format, problem = self._format, self._problem
        text = format_name(None if answer_format is None else answer_format.kind)
        tip = self.tr("Answer format: {name}").format(name=text)
        is_wrong = answer_format is not None and bool(problem)
        if problem and is_wrong:
            tip = self.tr("This format can't be used: {problem}").format(problem=translated(problem))
            text = self.tr("{name}: not usable").format(name=text)
        self._composer.show_format(text, tip, is_set=answer_format is not None, is_wrong=is_wrong)

    # --- the sampling panel --------------------------------------------------------------------------------

    def _open_sampling_panel(self) -> None:
        from app.ui.composer.sampling_panel import SamplingPanel

        info = self._controller.model.info
        thinking: Thinking = "can't"
        if info is not None and info.thinking:
            thinking = "on" if info.thinking_default else "off"
        panel = SamplingPanel(
            self._preparation.generation,
            presets=self._program.settings.presets,
            thinking=thinking,
            draft_model=model_label(info.draft_model) if info is not None and info.draft_model else "",
            models=self._program.offered_models,
            model=self._controller.model.name,
            has_hooks=self._controller.model.can("hooks"),
            theme=self._theme(),
            parent=self._window,
        )
        panel.changed.connect(self._preparation.set_generation)
        panel.presets_changed.connect(self._program.set_presets)
        panel.default_asked.connect(self._set_default)
        panel.reset_asked.connect(self._preparation.reset_generation)
        panel.destroyed.connect(self._on_panel_destroyed)
        self._panel = panel
        self._hooks.listed.connect(panel.show_hooks)
        self._hooks.ask()
        panel.show_above(self._composer.sampling_button, panel.first)

    def _on_panel_destroyed(self) -> None:
        self._panel = None

    def _set_default(self) -> None:
        self._program.set_default_generation(self._preparation.generation)

    def _show_generation(self) -> None:
        generation = self._preparation.generation
        if self._panel is not None:
            self._panel.show_generation(generation)
        if generation.format != self._format:
            self._format, self._problem = generation.format, None
            self._check.check(generation.format)
        self._show_format()
        self._find_misfit()
        presets = (*BUILT_IN_PRESETS, *self._program.settings.presets)
        name, is_changed = current_preset(presets, generation)
        preset = find_preset(presets, name)
        text = "T " + shortened(generation.sampling.temperature) if preset is None else preset_name(preset)
        if is_changed:
            text = self.tr("{name}, changed").format(name=text)
        more = " · ".join(self._more(generation))
        tip = self.tr("Sampling, stop strings, seed, hooks: {name}").format(name=text)
        self._composer.show_sampling(text, more, f"{tip} · {more}" if more else tip)
        self._show_branch()
        self._show_gauge()

    def _more(self, generation: GenerationSettings) -> list[str]:
        """Return the settings that differ from the defaults, as short texts."""
        more: list[str] = []
        if len(generation.models) > 1:
            more.append(self.tr("{num} models").format(num=len(generation.models)))
        if generation.n > 1:
            more.append(self.tr("{num} answers").format(num=generation.n))
        stops, hooks = len(generation.sampling.stop), len(generation.hooks)
        if stops:
            more.append(self.tr("1 stop string") if stops == 1 else self.tr("{num} stop strings").format(num=stops))
        if generation.sampling.seed is not None:
            more.append(self.tr("seed {seed}").format(seed=generation.sampling.seed))
        if hooks:
            more.append(self.tr("1 hook") if hooks == 1 else self.tr("{num} hooks").format(num=hooks))
        if generation.thinking is not None:
            more.append(self.tr("thinking") if generation.thinking else self.tr("no thinking"))
        return more
