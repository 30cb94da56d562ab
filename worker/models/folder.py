"""Finds a model's folder by name, and checks its files without loading them."""

from __future__ import annotations

import importlib.resources
import json
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from worker.errors import ModelInvalidError, ModelNotFoundError, ModelUntrustedError
from worker.models.configuration import check_config
from worker.models.weight_file import WeightFile, check_weight_file
from worker.sentence import Sentence
from worker.values import STARTER, STARTER_FOLDER, STARTER_ON_HUB

GUIDE = "guide"
"""The name of the model that comes with Bough."""
_RESOURCES = Path(str(importlib.resources.files("resources")))

_MAX_BYTES = {"config.json": 8 << 20, "tokenizer_config.json": 16 << 20}
"""The largest files of real models have half of these sizes."""
_MAX_BYTES_BY_SUFFIX = {".jinja": 2 << 20, **dict.fromkeys((".json", ".txt", ".model", ".tiktoken"), 64 << 20)}
_OF_A_PROMPT = {
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.json"),
    *("generation_config.json", "chat_template.jinja"),
}
"""If one of these files is missing that belongs to a model, its prompts or its sampling would differ."""
_MAX_HEADERS_BYTES = 128 << 20
"""The limit for the headers of all weight files together."""

# The key for the context length in config.json depends on the architecture.
_CONTEXT_KEYS = (
    "max_position_embeddings",
    "max_sequence_length",
    "max_seq_len",
    "seq_length",
    "n_positions",
    "n_ctx",
)
_TEXT_MODELS = ("text_config", "llm_config", "language_config")

_UNREADABLE = (OSError, ValueError, LookupError, AttributeError, TypeError, RecursionError)
"""Errors while reading a damaged file."""


class _Index(Struct, frozen=True):
    weight_map: dict[str, str]


@dataclass(frozen=True)
class ModelFolder:
    """A folder whose files look like a complete model."""

    name: str
    path: Path
    config: dict[str, Any]
    weights_bytes: int
    num_parameters: int
    """The number listed in the weight files. Several quantized weights packed into one number count as one."""
    weight_files: tuple[WeightFile, ...] = ()

    @property
    def architecture(self) -> str:
        return str(self.config["model_type"])


def guide_path() -> Path:
    """Return the folder of the guide model."""
    return _RESOURCES / "guide"


def starter_path() -> Path:
    """Return the usual folder of the starter, whether or not it exists."""
    # Only this name needs the import.
    import platformdirs

    return platformdirs.user_data_path("bough", appauthor=False) / "models" / STARTER_FOLDER


def find_model(name: str) -> ModelFolder:
    """Return the folder of a model.

    `name` is "guide", "starter" (made by Bough or downloaded), the path of a folder, or the name of a downloaded model.

    Raises `ModelNotFoundError`, `ModelInvalidError` or `ModelUntrustedError`.
    """
    return check_folder(_path_of(name), name)


def check_folder(path: Path, name: str = "") -> ModelFolder:
    """Check the files in a folder. Raises `ModelInvalidError` or `ModelUntrustedError`."""
    _check_files(path)
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
    files = [check_weight_file(file) for file in weights]
    if sum(file.header_bytes for file in files) > _MAX_HEADERS_BYTES:
        raise ModelInvalidError(
            Sentence(
                "The weight files in {path} list too many tensors. Download the model again, or choose another one.",
                path=path,
            )
        )
    check_config(path, config, files)
    return ModelFolder(
        name=name or path.name,
        path=path,
        config=config,
        weights_bytes=sum(file.num_bytes for file in files),
        num_parameters=sum(file.num_parameters for file in files),
        weight_files=tuple(files),
    )


def text_configs(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the configuration and the nested one of the text model, which models with vision have."""
    nested = [config.get(key) for key in _TEXT_MODELS]
    return [config, *(cast("Mapping[str, Any]", found) for found in nested if isinstance(found, Mapping))]


def context_length(config: Mapping[str, Any]) -> int | None:
    """Return the context length in tokens for which a model was made; None if its configuration does not state it."""
    for found in text_configs(config):
        for key in _CONTEXT_KEYS:
            length = found.get(key)
            if isinstance(length, int) and length > 0:
                return length
    return None


def _check_files(path: Path) -> None:
    """Refuse pipes, devices and files of an absurd size, because reading them might never end."""
    try:
        for folder in (path, path / "additional_chat_templates"):
            if folder == path or folder.is_dir():
                for file in folder.iterdir():
                    _check_file(file)
    except OSError as error:
        raise _unreadable(path, error) from error


def _check_file(file: Path) -> None:
    try:
        found = file.stat()
    except OSError as error:
        # A broken link, which an unfinished download may leave.
        if file.name in _OF_A_PROMPT or file.suffix == ".jinja":
            raise ModelInvalidError(
                Sentence(
                    "{file} is a link to a file that can't be read ({error}). Finish the download, then open the "
                    "folder again.",
                    file=file,
                    error=error.strerror,
                )
            ) from error
        return
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise ModelInvalidError(
            Sentence(
                "{file} is not an ordinary file (it is a pipe, a socket or a device), so Bough does not read it. "
                "Remove it, or choose another model.",
                file=file,
            )
        )
    limit_bytes = _MAX_BYTES.get(file.name, _MAX_BYTES_BY_SUFFIX.get(file.suffix))
    if limit_bytes is not None and stat.S_ISREG(found.st_mode) and found.st_size > limit_bytes:
        raise ModelInvalidError(
            Sentence(
                "{file} has {size_bytes}; Bough reads at most {limit_bytes}. "
                "Download the model again, or choose another one.",
                file=file,
                size_bytes=found.st_size,
                limit_bytes=limit_bytes,
            )
        )


def _path_of(name: str) -> Path:
    if name == GUIDE:
        return guide_path()
    if name == STARTER:
        # A bundle has it, too, and copies it to its usual place when the app first starts.
        for folder in (starter_path(), _RESOURCES / "models" / STARTER_FOLDER):
            if folder.is_dir():
                return folder
        return _downloaded(STARTER_ON_HUB)
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
        if path.is_file() and path.suffix.lower() == ".gguf":
            raise ModelNotFoundError(
                Sentence(
                    "{path} is a GGUF file, which Bough must convert first. Open it in the Models window, or run "
                    "`bough models import`.",
                    path=path,
                )
            )
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
        gguf = next((each for each in sorted(path.iterdir()) if each.suffix.lower() == ".gguf"), None)
        if gguf is not None:
            raise ModelInvalidError(
                Sentence(
                    "{path} contains a GGUF file ({file}), which Bough must convert first. Open the file in the "
                    "Models window, or run `bough models import`.",
                    path=path,
                    file=gguf.name,
                )
            ) from None
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
            Sentence("{file} has no `model_type`, so the architecture is unknown. Choose another model.", file=file)
        )
    return config


def _check_index(path: Path, present: set[str]) -> None:
    file = path / "model.safetensors.index.json"
    if not file.is_file():
        return
    try:
        listed = set(msgspec.json.decode(file.read_bytes(), type=_Index).weight_map.values())
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


def _unreadable(file: Path, error: Exception) -> ModelInvalidError:
    return ModelInvalidError(
        Sentence("{file} can't be read ({error}). Download the model again.", file=file, error=error)
    )
