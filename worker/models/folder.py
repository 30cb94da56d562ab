"""A model's folder: where a name leads and whether what lies there can be loaded; it loads nothing."""

from __future__ import annotations

import importlib.resources
import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from worker.errors import ModelInvalidError, ModelNotFoundError, ModelUntrustedError

GUIDE = "guide"
"""The name of the model that comes with Bough."""

_MAX_HEADER_BYTES = 100_000_000  # safetensors' own limit


@dataclass(frozen=True)
class ModelFolder:
    """A folder that looks like a model: its files are there and whole, its configuration can be read."""

    name: str
    path: Path
    config: dict[str, Any]
    weights_bytes: int
    num_parameters: int
    """As the weight files list them; packed (quantized) weights count as they are packed."""

    @property
    def architecture(self) -> str:
        return str(self.config["model_type"])


def guide_path() -> Path:
    """Return the folder of the guide model."""
    return Path(str(importlib.resources.files("resources") / "guide"))


def find_model(name: str) -> ModelFolder:
    """Return the folder that `name` leads to: "guide", a folder's path, or the name of a downloaded model.

    Raises `ModelNotFoundError`, `ModelInvalidError`, `ModelUntrustedError`.
    """
    return check_folder(_path_of(name), name)


def check_folder(path: Path, name: str = "") -> ModelFolder:
    """Return what the folder holds. Raises `ModelInvalidError` or `ModelUntrustedError` with what is wrong."""
    config = _config(path)
    if config.get("model_file") is not None:
        raise ModelUntrustedError(
            f"The model in {path} wants to run a program of its own ({config['model_file']!r}, named in config.json). "
            "Bough never runs code that comes with a model; choose a model of a built-in architecture."
        )
    # A link that leads nowhere (a download that was not finished) is no file.
    weights = sorted(file for file in path.glob("model*.safetensors") if file.is_file())
    if not weights:
        raise ModelInvalidError(
            f"There are no weights (model*.safetensors) in {path}. "
            "Choose the folder of a whole model in MLX or Hugging Face form."
        )
    if not any((path / file).is_file() for file in ("tokenizer.json", "tokenizer.model", "tiktoken.model")):
        raise ModelInvalidError(f"There is no tokenizer (tokenizer.json) in {path}. Download the model again, whole.")
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
            "The model's name holds a NUL character. Give a folder or the name of a downloaded model."
        )
    try:
        path = Path(name).expanduser()
        if path.is_dir():
            return path
        if path.is_file():
            raise ModelNotFoundError(f"{path} is a file. Choose the folder that holds the model's files.")
    except (OSError, RuntimeError) as error:  # a name too long for the file system, say, or nobody's home
        raise ModelNotFoundError(
            f"There is no model {name[:80]!r} ({str(error)[:80]}). Choose a folder that holds a model."
        ) from error
    return _downloaded(name)


def _downloaded(name: str) -> Path:
    # Here, because it takes a third of a second, and most models are folders.
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import IncompleteSnapshotError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except IncompleteSnapshotError as error:
        # Others download only what they need of a repository; what we need is checked below.
        return Path(error.snapshot_path)
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(
            f"There is no folder and no downloaded model {name[:200]!r}. Choose a folder that holds a model."
        ) from error


def _config(path: Path) -> dict[str, Any]:
    file = path / "config.json"
    try:
        found: object = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelInvalidError(
            f"There is no config.json in {path}. Choose the folder of a whole model in MLX or Hugging Face form."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ModelInvalidError(f"{file} can't be read ({error}). Download the model again.") from error
    if not isinstance(found, dict):
        raise ModelInvalidError(f"{file} is no JSON object. Download the model again.")
    config = cast("dict[str, Any]", found)
    if not isinstance(config.get("model_type"), str):
        raise ModelInvalidError(f"{file} names no `model_type`, so its architecture is unknown. Choose another model.")
    return config


def _check_index(path: Path, present: set[str]) -> None:
    file = path / "model.safetensors.index.json"
    if not file.is_file():
        return
    try:
        listed = set(json.loads(file.read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise ModelInvalidError(f"{file} can't be read ({error}). Download the model again.") from error
    missing = sorted(listed - present)
    if missing:
        raise ModelInvalidError(
            f"{len(missing)} of {len(listed)} weight files are missing in {path}, the first is {missing[0]}. "
            "Finish the download, then open the folder again."
        )


def _num_parameters(file: Path) -> int:
    """Read the header of one weight file and check that all it lists is there (a broken download is not)."""
    size = file.stat().st_size
    try:
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            header: dict[str, Any] = json.loads(stream.read(min(length, _MAX_HEADER_BYTES)))
        tensors = [entry for name, entry in header.items() if name != "__metadata__"]
        num_missing = 8 + length + max((entry["data_offsets"][1] for entry in tensors), default=0) - size
        num_parameters = sum(math.prod(entry["shape"]) for entry in tensors)
    except (
        OSError,
        ValueError,
        KeyError,
        AttributeError,
        TypeError,
        IndexError,
        struct.error,
        RecursionError,
    ) as error:
        raise ModelInvalidError(
            f"The weight file {file} is damaged ({error}). Download it again, then open the folder again."
        ) from error
    if num_missing > 0:
        raise ModelInvalidError(
            f"{num_missing:,} bytes are missing at the end of {file}. Finish the download, then open the folder again."
        )
    return num_parameters
