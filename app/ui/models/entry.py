"""One model of the list: on this machine or on the hub; and the texts that describe it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from PySide6.QtCore import QCoreApplication

from app.catalog.entry import Fit, LocalModel, RemoteModel, Source
from app.catalog.hub_error import HubError
from app.catalog.measured import Measured
from app.numbers import counted, sized
from app.sentences import translated
from app.supply.transfers import Transfer
from app.ui.models.model_list import Row, Tone
from app.ui.parts.cost_text import speed_text
from worker.sentence import Sentence, SentenceError

translate = QCoreApplication.translate

GUIDE = "guide"
_KIB = 1024
_BILLION = 1_000_000_000

Presence: TypeAlias = Literal["", "loaded", "loading", "unloaded"]
"""Whether the worker has a model. `unloaded` means that the next question loads the model."""
Action: TypeAlias = Literal[
    "chat",
    "free_memory",
    "cancel_load",
    "unload",
    "convert",
    "download",
    "pause",
    "resume",
    "run_next",
    "cancel_transfer",
    "ask_again",
    "delete",
    "show_folder",
    "edit_endpoint",
    "remove_endpoint",
    "open_page",
]
"""The actions that the page of a model may offer."""


@dataclass(frozen=True)
class Entry:
    """A model of the list. `model` is None while a model is being made from a local file."""

    key: str
    """The key of the model in the list."""
    model: LocalModel | RemoteModel | None
    fit: Fit | None = None
    """Whether the model fits into memory; None if too little is known about it."""
    can_free: bool = False
    """Whether the model would fit into memory if the guide's idle process were stopped."""
    presence: Presence = ""
    fraction: float | None = None
    """The fraction of the model that has been loaded, from 0 to 1; None if it is not being loaded."""
    transfer: Transfer | None = None
    """The download or conversion of the model; None if there is none."""
    variants: tuple[RemoteModel, ...] = ()
    """All models of the repository on the hub, once they are known; `model` is the chosen one."""
    speeds: str = ""
    """How fast the model was on this machine, as text; empty if that was not measured."""
    failure: SentenceError | None = None
    """Why the details of a model on the hub are not known; None if they are known, or have been requested."""

    @property
    def title(self) -> str:
        match self.model:
            case LocalModel(name="guide"):
                return translate("Models", "Guide")
            case LocalModel():
                return self.model.title
            case RemoteModel() if self.transfer is None and self.model.gguf:
                return self.model.repo.rpartition("/")[2]
            case RemoteModel():
                return self.model.title or self.model.repo.rpartition("/")[2]
            case None:
                return "" if self.transfer is None else self.transfer.title

    @property
    def problem(self) -> Sentence | None:
        """Why the model can't be used or was not downloaded; None if no problem is known."""
        if self.transfer is not None and self.transfer.failure is not None:
            return self.transfer.failure
        if self.failure is not None:
            return self.failure.sentence
        return None if self.model is None else self.model.problem

    @property
    def is_gone(self) -> bool:
        """Whether the model no longer exists on the hub."""
        return isinstance(self.failure, HubError) and self.failure.kind == "gone"

    @property
    def wants_token(self) -> bool:
        """Whether an access token may help, because the hub asks who wants the model."""
        kind = "" if self.transfer is None else self.transfer.failure_kind
        if isinstance(self.failure, HubError):
            kind = self.failure.kind
        return kind in {"gated", "refused", "gone"}

    @property
    def row(self) -> Row:
        word, tone = self._word
        fraction = self.fraction if self.transfer is None else self.transfer.fraction or 0.0
        detail = self.detail if self.transfer is None else transfer_text(self.transfer)
        return Row(self.key, self.title, detail, word, tone, fraction)

    @property
    def detail(self) -> str:
        """The size in bytes, the bits per weight and the context length, in one line."""
        model = self.model
        if model is None:
            return ""
        parts = [sized(model.num_bytes) if model.num_bytes else ""]
        parts.append(quantization_text(model.quantization))
        parts.append("GGUF" if model.format == "gguf" else "")
        if model.context_length:
            parts.append(translate("Models", "context {length}").format(length=short_tokens(model.context_length)))
        if isinstance(model, RemoteModel) and not any(parts[:2]) and model.num_downloads is not None:
            parts.append(translate("Models", "{number} downloads").format(number=counted(model.num_downloads)))
        return " · ".join(part for part in parts if part)

    @property
    def _word(self) -> tuple[str, Tone]:
        if self.transfer is not None:
            return transfer_word(self.transfer)
        if self.presence == "loaded":
            return translate("Models", "loaded"), "good"
        if self.presence == "loading":
            return translate("Models", "loading"), "quiet"
        if self.model is not None and self.model.problem is not None:
            return translate("Models", "can't be used"), "danger"
        return fit_word(self.fit)


def main_action(entry: Entry) -> Action | None:
    """Return the action of the page's main button; None if nothing can be done."""
    if entry.transfer is not None:
        return "resume" if entry.transfer.state in {"paused", "failed"} else "pause"
    match entry.model:
        case LocalModel():
            return _main_action_here(entry, entry.model)
        case RemoteModel():
            if entry.failure is not None:
                return "ask_again"
            is_refused = entry.model.problem is not None or (entry.fit is not None and entry.fit.verdict == "too_big")
            return None if is_refused else "download"
        case None:
            return None


def _main_action_here(entry: Entry, model: LocalModel) -> Action | None:
    if entry.presence == "loading":
        return "cancel_load"
    if model.problem is not None:
        return None
    if entry.presence == "loaded":
        return "chat"
    if entry.can_free and model.format == "mlx":
        return "free_memory"
    if entry.fit is not None and entry.fit.verdict == "too_big":
        return None
    return "convert" if model.format == "gguf" else "chat"


def transfer_word(transfer: Transfer) -> tuple[str, Tone]:
    """Return one word for the state of a transfer, and the word's colour."""
    match transfer.state:
        case "queued":
            return translate("Models", "waiting"), "quiet"
        case "paused":
            return translate("Models", "paused"), "quiet"
        case "failed":
            return translate("Models", "failed"), "danger"
        case "running":
            fraction = transfer.fraction
            return "" if fraction is None else f"{counted(100 * fraction, 0)} %", "quiet"


def transfer_text(transfer: Transfer) -> str:
    """Return the progress of a transfer as text: bytes, speed and time left."""
    parts: list[str] = []
    if transfer.total_bytes:
        done = translate("Models", "{done} of {total}")
        parts.append(done.format(done=sized(transfer.num_bytes), total=sized(transfer.total_bytes)))
    if transfer.state == "running":
        parts += _activity(transfer)
    elif transfer.num_ahead:
        parts.append(translate("Models", "{num} ahead").format(num=counted(transfer.num_ahead)))
    # Lines may break only between the parts.
    return " · ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)


def _activity(transfer: Transfer) -> Iterator[str]:
    """Yield what a running transfer is doing, and its speed."""
    match transfer.phase:
        case "checking":
            yield translate("Models", "being checked")
        case "converting":
            yield translate("Models", "being converted")
        case "downloading" if transfer.waiting is not None:
            yield translate("Models", "no connection")
        case "downloading":
            if transfer.bytes_per_s is not None:
                yield translate("Models", "{size}/s").format(size=sized(round(transfer.bytes_per_s)))
            if transfer.seconds_left is not None:
                yield translate("Models", "{time} left").format(time=duration_text(transfer.seconds_left))


def duration_text(seconds: float) -> str:
    """Format a duration in seconds, minutes or hours, depending on its length."""
    if seconds < 99.5:
        return translate("Models", "{number} s").format(number=counted(max(seconds, 1.0), 0))
    if seconds < 99.5 * 60:
        return translate("Models", "{number} min").format(number=counted(seconds / 60, 0))
    return translate("Models", "{number} h").format(number=counted(seconds / 3600, 1))


def fit_word(fit: Fit | None) -> tuple[str, Tone]:
    """Return one word for whether a model fits into memory, and the word's colour."""
    match None if fit is None else fit.verdict:
        case "fits":
            return translate("Models", "fits"), "good"
        case "tight":
            return translate("Models", "tight"), "warning"
        case "too_big":
            return translate("Models", "too big"), "danger"
        case None:
            return "", "quiet"


def speeds_text(measured: Measured) -> str:
    """Format how fast a model processed prompts and generated answers on this machine, in tokens per second."""
    parts: list[str] = []
    if measured.prompt_tokens_per_s is not None:
        parts.append(translate("Models", "reads {speed}").format(speed=speed_text(measured.prompt_tokens_per_s)))
    if measured.answer_tokens_per_s is not None:
        speed = measured.answer_tokens_per_s
        parts.append(translate("Models", "writes {speed}").format(speed=speed_text(speed, 1 if speed < 20 else 0)))
    return ", ".join(parts)


def short_tokens(num_tokens: int) -> str:
    """Format a context length in tokens, such as 8k or 128k."""
    if num_tokens < _KIB:
        return counted(num_tokens)
    unit = _KIB if num_tokens % _KIB == 0 else 1000
    return f"{counted(round(num_tokens / unit))}k"


def quantization_text(quantization: str) -> str:
    """Return "4 bits" in the language of the user interface; names such as Q4_K_M are returned unchanged."""
    number, _, unit = quantization.partition(" ")
    return translate("Models", "{bits} bits").format(bits=number) if unit == "bits" else quantization


def parameters_text(num_parameters: int) -> str:
    """Format the number of parameters in millions or billions."""
    if num_parameters >= _BILLION:
        number = num_parameters / _BILLION
        return translate("Models", "{number} billion").format(number=counted(number, 0 if number >= 20 else 1))
    return translate("Models", "{number} million").format(number=counted(num_parameters / 1e6, 0))


def source_text(source: Source) -> str:
    """Return the name of the program whose folder contains a model; empty for a model without a folder."""
    match source:
        case "bough":
            return translate("Models", "Bough")
        case "hub":
            return translate("Models", "Hugging Face cache")
        case "lm_studio":
            return "LM Studio"
        case "ollama":
            return "Ollama"
        case "llama_cpp":
            return "llama.cpp"
        case "mlx":
            return "MLX"
        case "added":
            return translate("Models", "Added folder")
        case "":
            return ""


def good_for(entry: Entry) -> str:
    """Return one line on what a model is good for."""
    model = entry.model
    if model is None:
        return ""
    if isinstance(model, RemoteModel) and model.note:
        return translate("Sentences", model.note)
    if isinstance(model, LocalModel) and model.name == GUIDE:
        return translate("Models", "A tiny model that answers questions about Bough. It knows nothing else.")
    if isinstance(model, LocalModel) and model.about is not None:
        return translated(model.about)
    if isinstance(model, LocalModel) and model.format == "gguf":
        return translate("Models", "A GGUF file. Bough makes a model folder from it; the file stays as it is.")
    if isinstance(model, LocalModel) and not model.has_template:
        return translate("Models", "It has no chat template: it continues a text instead of answering questions.")
    billions = (model.num_parameters or 0) / _BILLION
    if not billions:
        return ""
    if billions < 0.6:
        return translate("Models", "Very small: quick on any computer, and often wrong.")
    if billions < 2.5:
        return translate("Models", "Small: quick, for short and simple tasks.")
    if billions < 6:
        return translate("Models", "Medium: for everyday questions, summaries and drafts.")
    if billions < 20:
        return translate("Models", "Large: for most work, also longer texts and code.")
    return translate("Models", "Very large: for difficult work. It needs much memory and time.")
