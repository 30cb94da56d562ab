"""One model of the list: on this machine or on the hub; and the texts that describe it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from PySide6.QtCore import QCoreApplication

from app.catalog.entry import Fit, LocalModel, RemoteModel, Source
from app.numbers import counted, sized
from app.ui.models.model_list import Row, Tone
from worker.sentence import Sentence

translate = QCoreApplication.translate

GUIDE = "guide"
_KIB = 1024
_BILLION = 1_000_000_000

Presence: TypeAlias = Literal["", "loaded", "loading", "unloaded"]
"""Whether a model is the worker's; `unloaded`: it is the one that the next question loads."""


@dataclass(frozen=True)
class Entry:
    """A model of the list. It is on this machine, or on the hub."""

    model: LocalModel | RemoteModel
    fit: Fit | None = None
    """None if nothing is known of its memory."""
    presence: Presence = ""
    fraction: float | None = None
    """How much is loaded; None: it is not being loaded."""

    @property
    def key(self) -> str:
        match self.model:
            case LocalModel(name=name):
                return f"local:{name}"
            case RemoteModel(key=key):
                return f"hub:{key}"

    @property
    def title(self) -> str:
        match self.model:
            case LocalModel(name="guide"):
                return translate("Models", "Guide")
            case LocalModel():
                return self.model.title
            case RemoteModel():
                return self.model.title or self.model.repo.rpartition("/")[2]

    @property
    def problem(self) -> Sentence | None:
        return self.model.problem

    @property
    def row(self) -> Row:
        word, tone = self._word
        return Row(self.key, self.title, self.detail, word, tone, self.fraction)

    @property
    def detail(self) -> str:
        """Size, bits and context in a line."""
        model = self.model
        parts = [sized(model.num_bytes) if model.num_bytes else ""]
        parts.append(quantization_text(model.quantization))
        parts.append("GGUF" if model.format == "gguf" else "")
        if model.context_length:
            parts.append(translate("Models", "context {length}").format(length=short_tokens(model.context_length)))
        return " · ".join(part for part in parts if part)

    @property
    def _word(self) -> tuple[str, Tone]:
        if self.presence == "loaded":
            return translate("Models", "loaded"), "good"
        if self.presence == "loading":
            return translate("Models", "loading"), "quiet"
        if self.problem is not None:
            return translate("Models", "can't be used"), "danger"
        return fit_word(self.fit)


def fit_word(fit: Fit | None) -> tuple[str, Tone]:
    """Return whether a model fits, in a word, and its colour."""
    match None if fit is None else fit.verdict:
        case "fits":
            return translate("Models", "fits"), "good"
        case "tight":
            return translate("Models", "tight"), "warning"
        case "too_big":
            return translate("Models", "too big"), "danger"
        case None:
            return "", "quiet"


def short_tokens(num_tokens: int) -> str:
    """Return a context length as people write it: 8k, 128k."""
    if num_tokens < _KIB:
        return counted(num_tokens)
    unit = _KIB if num_tokens % _KIB == 0 else 1000
    return f"{counted(round(num_tokens / unit))}k"


def quantization_text(quantization: str) -> str:
    """Return "4 bits" in the language of the window; other names, such as Q4_K_M, stay."""
    number, _, unit = quantization.partition(" ")
    return translate("Models", "{bits} bits").format(bits=number) if unit == "bits" else quantization


def parameters_text(num_parameters: int) -> str:
    """Return the number of parameters, in millions or billions."""
    if num_parameters >= _BILLION:
        number = num_parameters / _BILLION
        return translate("Models", "{number} billion").format(number=counted(number, 0 if number >= 20 else 1))
    return translate("Models", "{number} million").format(number=counted(num_parameters / 1e6, 0))


def source_text(source: Source) -> str:
    """Return whose folder a model lies in."""
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


def good_for(entry: Entry) -> str:
    """Return in a line what a model is good for."""
    model = entry.model
    if isinstance(model, RemoteModel) and model.note:
        return translate("Sentences", model.note)
    if isinstance(model, LocalModel) and model.name == GUIDE:
        return translate("Models", "A tiny model that answers questions about Bough. It knows nothing else.")
    if isinstance(model, LocalModel) and model.format == "gguf":
        return translate("Models", "A GGUF file. Bough makes a model folder of it; the file stays as it is.")
    if isinstance(model, LocalModel) and not model.has_template:
        return translate("Models", "It has no chat template: it goes on with a text rather than answering questions.")
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
