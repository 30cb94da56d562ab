"""The sampling that a model's own files suggest, in generation_config.json."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec import Struct

from app.catalog.facts import json_object
from app.catalog.hub_folder import HubFolder, main_revision
from app.catalog.places_of_models import hub_cache
from app.model.message import Sampling

_NAMES = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")


class SamplingDefaults(Struct, frozen=True, kw_only=True):
    """The suggested values; None where the model suggests none."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None

    def applied_to(self, sampling: Sampling) -> Sampling:
        """Return a sampling with the suggested values in place of its own. Values beyond its limits are left out."""
        for name in _NAMES:
            value = getattr(self, name)
            if value is not None:
                values = msgspec.structs.asdict(sampling) | {name: value}
                try:
                    sampling = msgspec.convert(values, Sampling)
                except msgspec.ValidationError:
                    continue
        return sampling


def sampling_defaults(name: str) -> SamplingDefaults:
    """Return what the model of this name suggests. Reads one small file; nothing is raised."""
    found = json_object(_file_of(name))
    values: dict[str, float | int] = {}
    for key in _NAMES:
        value = found.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            values[key] = value
    if found.get("do_sample") is False:
        values = {key: value for key, value in values.items() if key == "repetition_penalty"} | {"temperature": 0.0}
    top_k = values.get("top_k")
    if top_k is not None and int(top_k) != top_k:
        del values["top_k"]
    try:
        return msgspec.convert(values, SamplingDefaults, strict=False)
    except msgspec.ValidationError:
        return SamplingDefaults()


def written_ns(name: str) -> int:
    """Return when the file with the suggestions was written; 0 without one."""
    try:
        return _file_of(name).stat().st_mtime_ns
    except (OSError, ValueError):
        return 0


def _file_of(name: str) -> Path:
    return _folder_of(name) / "generation_config.json"


def _folder_of(name: str) -> Path:
    """Return the folder of a model by the name that `load_model` takes; it may not exist."""
    path = Path(name)
    if path.is_absolute():
        return path
    if name.count("/") != 1 or ".." in name:
        return Path("/nonexistent")
    folder = HubFolder(name, hub_cache())
    try:
        revision = main_revision(folder.path)
    except (OSError, ValueError):
        return folder.path
    return HubFolder(name, hub_cache(), revision).snapshot if revision.isalnum() else folder.path
