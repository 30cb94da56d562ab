"""The sampling settings that a model's generation_config.json suggests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from app.catalog.facts import json_object
from app.catalog.hub_folder import HubFolder, main_revision
from app.catalog.places_of_models import hub_cache
from app.model.message import Sampling
from worker.regular_file import read_regular

_MAX_BYTES = 1 << 20
_NAMES = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")


class SamplingDefaults(Struct, frozen=True, kw_only=True):
    """The suggested values. None means that the model does not suggest a value."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    repetition_penalty: float | None = None

    unused: tuple[str, ...] = ()
    """The names of suggestions with invalid values, or the name of the file if it can't be read."""

    def applied_to(self, sampling: Sampling) -> Sampling:
        """Return `sampling` with its values replaced by the suggested ones."""
        values = {name: value for name in _NAMES if (value := getattr(self, name)) is not None}
        return msgspec.structs.replace(sampling, **values)


def sampling_defaults(name: str) -> SamplingDefaults:
    """Return the suggestions of the model with this name. Reads small files; no errors are raised."""
    file = _file_of(name)
    try:
        found = _parsed(read_regular(file, _MAX_BYTES))
    except (FileNotFoundError, NotADirectoryError):
        found = {}
    except (OSError, ValueError, RecursionError):
        return SamplingDefaults(unused=(file.name,))
    values: dict[str, Any] = {}
    unused: list[str] = []
    for key in _NAMES:
        if (value := found.get(key)) is None:
            continue
        try:
            values[key] = _usable(key, value)
        except ValueError:
            unused.append(key)
    if found.get("do_sample") is False:
        values = {key: value for key, value in values.items() if key == "repetition_penalty"} | {"temperature": 0.0}
    record = json_object(file.with_name("bough.json")).get("unused_sampling")
    left_out = cast("list[object]", record) if isinstance(record, list) else []
    return SamplingDefaults(**values, unused=tuple(key for key in _NAMES if key in unused or key in left_out))


def _parsed(data: bytes) -> dict[str, Any]:
    """Parse a JSON object. NaN becomes a string. Raises `ValueError` or `RecursionError` if it is invalid."""
    try:
        found: object = msgspec.json.decode(data)
    except msgspec.DecodeError:
        found = json.loads(data, parse_constant=str)
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")  # noqa: TRY004 (see above)
    return cast("dict[str, Any]", found)


def _usable(key: str, value: object) -> float | int:
    """Return a value in the form that `Sampling` needs. Raises `ValueError` if it is invalid."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("it is not a number")  # noqa: TRY004 (see above)
    if key == "top_k" and int(value) == value:
        value = int(value)
    sampling = msgspec.convert(msgspec.structs.asdict(Sampling()) | {key: value}, Sampling)
    usable: float | int = getattr(sampling, key)
    return usable


def written_ns(name: str) -> int:
    """Return when the file with the suggestions was written, in nanoseconds; 0 if there is no file."""
    try:
        return _file_of(name).stat().st_mtime_ns
    except (OSError, ValueError):
        return 0


def _file_of(name: str) -> Path:
    return _folder_of(name) / "generation_config.json"


def _folder_of(name: str) -> Path:
    """Return the folder of a model by its name for `load_model`. The folder may not exist."""
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
