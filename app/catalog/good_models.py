"""A short list of good first models, from `resources/good_models.json`, and the best of them for this machine's memory.

The sizes in the list are rounded. The hub gives the exact sizes before a model is downloaded.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from app.catalog import facts
from app.catalog.entry import Memory, RemoteModel
from app.catalog.fit import need, shape_of_model
from worker.sentence import Sentence

_CONTEXT = 4096
"""The context length in tokens with which a recommended model must fit into memory."""
_SPARE = 1.25
"""The fraction of the free memory that a recommended model may need. The rest is for other programs."""
_NOTES = {
    "quick": Sentence("Quick on any computer: for trying things out, and for short, simple tasks."),
    "short": Sentence("Small and quick: for short questions, summaries and drafts."),
    "everyday": Sentence("For everyday questions, summaries and drafts; it reads long texts."),
    "most": Sentence("For most work, also with code; it can think before it answers."),
    "long": Sentence("For difficult questions, longer texts and code; it can think before it answers."),
    "experts": Sentence(
        "For difficult work; quick for its size, because only a tenth of its parameters is used for each token."
    ),
    "difficult": Sentence("The best model of this list; quick for its size, but it needs much memory."),
}


class _Listed(Struct, forbid_unknown_fields=True):
    repo: str
    title: str
    use: Literal["quick", "short", "everyday", "most", "long", "experts", "difficult"]
    num_bytes: int
    num_parameters: int
    licence: str
    context_length: int
    config: dict[str, Any]
    """The values of the model's config.json on which its memory depends."""
    is_quick_on_cpu: bool = False


@lru_cache(1)
def _listed() -> tuple[_Listed, ...]:
    file = importlib.resources.files("resources") / "good_models.json"
    return tuple(msgspec.json.decode(file.read_bytes(), type=list[_Listed]))


def good_models() -> Sequence[RemoteModel]:
    """Return the models of the list, the smallest and fastest first. The hub is not asked."""
    return [_model(listed) for listed in _listed()]


def best_that_fits(memory: Memory, gone: Collection[str] = ()) -> RemoteModel | None:
    """Return the best model of the list that fits into the free memory; None if none fits.

    `gone` are repositories that are no longer on the hub. On a CPU, only models that are fast enough there are chosen.
    """
    # Within this, a CPU also decides whether it unpacks the weights.
    free = replace(memory, available_bytes=int(memory.available_bytes / _SPARE))
    for listed in reversed(_listed()):
        model = _model(listed)
        shape = shape_of_model(model)
        if listed.repo in gone or shape is None or (memory.on_cpu and not listed.is_quick_on_cpu):
            continue
        if need(shape, free, context_length=_CONTEXT).total_bytes <= free.available_bytes:
            return model
    return None


def _model(listed: _Listed) -> RemoteModel:
    return RemoteModel(
        repo=listed.repo,
        title=listed.title,
        num_bytes=listed.num_bytes,
        architecture=str(listed.config["model_type"]),
        quantization=facts.quantization(listed.config),
        bits=8 * listed.num_bytes / listed.num_parameters,
        context_length=listed.context_length,
        num_parameters=listed.num_parameters,
        licence=listed.licence,
        shape=facts.shape_of(listed.config),
        note=str(_NOTES[listed.use]),
    )
