"""A model's folder: finds it by name, and checks its files without loading them."""

from __future__ import annotations

import importlib.resources
import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from worker.errors import ModelInvalidError, ModelNotFoundError, ModelUntrustedError
from worker.sentence import Sentence

GUIDE = "guide"
"""The name of the model that comes with Bough."""

_MAX_HEADER_BYTES = 100_000_000  # safetensors' own limit
_UNREADABLE = (OSError, ValueError, LookupError, AttributeError, TypeError, RecursionError, struct.error)
"""Errors while reading a damaged file."""


@dataclass(frozen=True)
class ModelFolder:
    """A folder whose files look like a complete model."""

    name: str
    path: Path
    config: dict[str, Any]
    weights_bytes: int
    num_parameters: int
    """As listed in the weight files. Several quantized weights packed into one number count as one."""

    @property
    def architecture(self) -> str:
        return str(self.config["model_type"])


def guide_path() -> Path:
    """Return the folder of the guide model."""
    return Path(str(importlib.resources.files("resources") / "guide"))


def find_model(name: str) -> ModelFolder:
    """Return the folder of a model. `name` is "guide", the path of a folder, or the name of a downloaded model.

    Raises `ModelNotFoundError`, `ModelInvalidError`, `ModelUntrustedError`.
    """
    return check_folder(_path_of(name), name)


def check_folder(path: Path, name: str = "") -> ModelFolder:
    """Check the files in a folder. Raises `ModelInvalidError` or `ModelUntrustedError`."""
    config = _config(path)
    if config.get("model_file") is not None:
        raise ModelUntrustedError(
            Sentence(
                "The model in {path} needs its own program code ({file}, named in config.json). "
                "Bough never runs code that comes with a model. Choose a model with a built-in architecture.",
                path=path,
                file=config["model_file"],
            )
        )
    # An unfinished download may leave broken links, so check that each is a file.
    weights = sorted(file for file in path.glob("model*.safetensors") if file.is_file())
    if not weights:
        raise ModelInvalidError(
            Sentence(
                "{path} contains no weights (model*.safetensors). "
                "Choose a folder with a complete model in MLX or Hugging Face format.",
                path=path,
            )
        )
    if not any((path / file).is_file() for file in ("tokenizer.json", "tokenizer.model", "tiktoken.model")):
        raise ModelInvalidError(
            Sentence("{path} contains no tokenizer (tokenizer.json). Download the whole model again.", path=path)
        )
    _check_index(path, {file.name for file in weights})
    return ModelFolder(
        name=name or path.name,
        path=path,
        config=config,
        weights_bytes=sum(file.stat().st_size for file in weights),
        num_parameters=sum(_num_parameters(file) for file in weights),
    )


def _path_of(name: str) -> Path:
    if name == GUIDE:
        return guide_path()
    if "\0" in name:
        raise ModelNotFoundError(
            Sentence(
                "The name of the model contains a NUL character. Enter a folder or the name of a downloaded model."
            )
        )
    try:
        path = Path(name).expanduser()
        if path.is_dir():
            return path
        if path.is_file():
            raise ModelNotFoundError(
                Sentence("{path} is a file. Choose the folder that contains the files of the model.", path=path)
            )
    except (OSError, RuntimeError) as error:  # for example a name that is too long, or an unknown user's home
        raise ModelNotFoundError(
            Sentence(
                "There is no model “{name}” ({error}). Choose a folder that contains a model.",
                name=name[:80],
                error=str(error)[:80],
            )
        ) from error
    return _downloaded(name)


def _downloaded(name: str) -> Path:
    # Imported here because it takes a third of a second, and most models are folders.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import IncompleteSnapshotError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except IncompleteSnapshotError as error:
        # Other programs download only some files of a repository. The caller checks the files that we need.
        return Path(error.snapshot_path)
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(
            Sentence(
                "There is no folder and no downloaded model “{name}”. Choose a folder that contains a model.",
                name=name[:200],
            )
        ) from error


def _config(path: Path) -> dict[str, Any]:
    file = path / "config.json"
    try:
        found: object = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelInvalidError(
            Sentence(
                "{path} contains no config.json. Choose a folder with a complete model in MLX or Hugging Face format.",
                path=path,
            )
        ) from None
    except _UNREADABLE as error:
        raise _unreadable(file, error) from error
    if not isinstance(found, dict):
        raise ModelInvalidError(Sentence("{file} is not a JSON object. Download the model again.", file=file))
    config = cast("dict[str, Any]", found)
    if not isinstance(config.get("model_type"), str):
        raise ModelInvalidError(
            Sentence(
                "{file} does not name a `model_type`, so the architecture is unknown. Choose another model.", file=file
            )
        )
    return config


def _check_index(path: Path, present: set[str]) -> None:
    file = path / "model.safetensors.index.json"
    if not file.is_file():
        return
    try:
        listed = set(json.loads(file.read_text(encoding="utf-8"))["weight_map"].values())
    except _UNREADABLE as error:
        raise _unreadable(file, error) from error
    missing = sorted(listed - present)
    if missing:
        raise ModelInvalidError(
            Sentence(
                "{path} lacks {num_missing} of {num_files} weight files (the first is {file}). "
                "Finish the download, then open the folder again.",
                path=path,
                num_missing=len(missing),
                num_files=len(listed),
                file=missing[0],
            )
        )


def _num_parameters(file: Path) -> int:
    """Count the parameters in the header of a weight file, and check that the file is complete."""
    size = file.stat().st_size
    try:
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            header: dict[str, Any] = json.loads(stream.read(min(length, _MAX_HEADER_BYTES)))
        tensors = [entry for name, entry in header.items() if name != "__metadata__"]
        num_missing = 8 + length + max((entry["data_offsets"][1] for entry in tensors), default=0) - size
        num_parameters = sum(math.prod(entry["shape"]) for entry in tensors)
    except _UNREADABLE as error:
        raise ModelInvalidError(
            Sentence(
                "The weight file {file} is damaged ({error}). Download it again, then open the folder again.",
                file=file,
                error=error,
            )
        ) from error
    if num_missing > 0:
        raise ModelInvalidError(
            Sentence(
                "{file} is incomplete: {num_missing} bytes are missing at its end. "
                "Finish the download, then open the folder again.",
                file=file,
                num_missing=num_missing,
            )
        )
    return num_parameters


def _unreadable(file: Path, error: Exception) -> ModelInvalidError:
    return ModelInvalidError(
        Sentence("{file} can't be read ({error}). Download the model again.", file=file, error=error)
    )
