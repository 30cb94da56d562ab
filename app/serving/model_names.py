"""The names of models in requests: those that the Models window shows, or that `bough models list` prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from app.catalog.entry import LocalModel
from app.catalog.on_disk import model_named
from app.catalog.sampling_defaults import sampling_defaults
from app.serving.messages import ServedModel, Suggested

GUIDE = ServedModel(id="guide", names=("Guide",))


def served_models(models: Iterable[LocalModel]) -> list[ServedModel]:
    """Return the models that can be loaded, each with a unique id: its title, or its name if titles repeat."""
    usable = [model for model in models if model.format == "mlx" and model.problem is None]
    counts = Counter(model.title for model in usable)
    return [GUIDE, *(_served(model, is_title_unique=counts[model.title] == 1) for model in usable)]


def served_model(name: str) -> ServedModel:
    """Return a model by the name that `load_model` accepts. Reads the model's folder; never raises."""
    if name == GUIDE.id:
        return GUIDE
    model = model_named(name)
    return ServedModel(id=name) if model is None else _served(model, is_title_unique=True, name=name)


def find(name: str, models: Sequence[ServedModel]) -> ServedModel | None:
    """Return the model that `name` means: the one with this id, or the only one with this other name; else None."""
    for model in models:
        if model.id == name:
            return model
    found = [model for model in models if model.is_named(name)]
    return found[0] if len(found) == 1 else None


def load_name(model: ServedModel) -> str:
    """Return the name that `load_model` accepts."""
    return model.names[0] if model.names and model.id != GUIDE.id else model.id


def suggested(name: str) -> Suggested:
    """Return the sampling that a model's files suggest."""
    found = sampling_defaults(name)
    return Suggested(
        temperature=found.temperature,
        top_p=found.top_p,
        top_k=found.top_k,
        min_p=found.min_p,
        repetition_penalty=found.repetition_penalty,
    )


def _served(model: LocalModel, *, is_title_unique: bool, name: str = "") -> ServedModel:
    own = name or model.name
    names = dict.fromkeys(each for each in (own, str(model.path), model.repo, model.title) if each)
    return ServedModel(
        id=model.title if is_title_unique and model.title else own,
        names=tuple(names),
        created_s=model.modified_ms // 1000,
        context_length=model.context_length,
    )
