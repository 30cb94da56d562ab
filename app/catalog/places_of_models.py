"""The folders in which Bough and other programs keep models."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from app.catalog.entry import Source
from app.catalog.facts import json_object
from worker.regular_file import read_regular

_MAX_POINTER_BYTES = 1 << 14

Layout: TypeAlias = Literal["folders", "hub", "ollama"]
"""`folders` means models in any subfolder, `hub` a cache of huggingface_hub, `ollama` Ollama's manifests and blobs."""


@dataclass(frozen=True)
class Root:
    """A folder to search for models."""

    path: Path
    source: Source
    layout: Layout = "folders"


def usual_roots(
    models: Path,
    added: Sequence[Path] = (),
    *,
    environment: Mapping[str, str] = os.environ,
    home: Path | None = None,
    platform: str = sys.platform,
) -> list[Root]:
    """Return the folders in which Bough and other programs keep models, each once. Some folders may not exist.

    `models` is Bough's own folder. `added` are the folders that the user added.
    """
    home = home or _home()
    variables = _Environment(environment, home)
    cache = variables.path("XDG_CACHE_HOME") or home / ".cache"
    roots = [
        Root(models, "bough"),
        Root(hub_cache(environment=environment, home=home), "hub", "hub"),
        *(Root(path, "lm_studio") for path in _of_lm_studio(home)),
        *(Root(path, "ollama", "ollama") for path in _of_ollama(home, variables)),
        Root(_of_llama_cpp(home, cache, variables, platform), "llama_cpp"),
        # The examples of MLX convert models into these.
        *(Root(home / name, "mlx") for name in ("mlx_models", "mlx-models", ".mlx/models", ".cache/mlx")),
        *(Root(path, "added", _layout(path)) for path in added),
    ]
    found: dict[Path, Root] = {}
    for root in roots:
        found.setdefault(root.path, root)
    return list(found.values())


def hub_cache(*, environment: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """Return the folder in which huggingface_hub keeps its downloads."""
    home = home or _home()
    variables = _Environment(environment, home)
    cache = variables.path("XDG_CACHE_HOME") or home / ".cache"
    huggingface = variables.path("HF_HOME") or cache / "huggingface"
    return variables.path("HF_HUB_CACHE") or variables.path("HUGGINGFACE_HUB_CACHE") or huggingface / "hub"


@dataclass(frozen=True)
class _Environment:
    values: Mapping[str, str]
    home: Path

    def path(self, name: str) -> Path | None:
        """Return the absolute path in an environment variable; None if it has none."""
        return _path(os.path.expandvars(self.values.get(name, "")), self.home)


def _of_lm_studio(home: Path) -> list[Path]:
    """Return LM Studio's folders: those of its older and newer versions, and the folder in its settings."""
    homes = [home / ".lmstudio", home / ".cache" / "lm-studio"]
    try:
        pointed = _path(read_regular(home / ".lmstudio-home-pointer", _MAX_POINTER_BYTES).decode("utf-8").strip(), home)
    except (OSError, ValueError):
        pointed = None
    if pointed is not None:
        homes.insert(0, pointed)
    found: list[Path] = []
    for each in homes:
        chosen = json_object(each / "settings.json").get("downloadsFolder")
        path = _path(chosen, home) if isinstance(chosen, str) else None
        found += [each / "models"] if path is None else [path, each / "models"]
    return found


def _of_ollama(home: Path, variables: _Environment) -> list[Path]:
    """Return Ollama's folders: the folder in OLLAMA_MODELS, the user's, and those of the system service."""
    chosen = variables.path("OLLAMA_MODELS")
    usual = [home / ".ollama" / "models", Path("/usr/share/ollama/.ollama/models"), Path("/var/lib/ollama/models")]
    return usual if chosen is None else [chosen, *usual]


def _of_llama_cpp(home: Path, cache: Path, variables: _Environment, platform: str) -> Path:
    usual = home / "Library" / "Caches" if platform == "darwin" else cache
    return variables.path("LLAMA_CACHE") or usual / "llama.cpp"


def _layout(folder: Path) -> Layout:
    """Return the layout of a folder that the user added."""
    try:
        if (folder / "manifests").is_dir() and (folder / "blobs").is_dir():
            return "ollama"
        if any(folder.glob("models--*--*/snapshots")):
            return "hub"
    except OSError:
        pass
    return "folders"


def _path(text: str, home: Path) -> Path | None:
    """Return `text` as an absolute path; None if it is not one. `~` means `home`."""
    if not text or "\0" in text:
        return None
    if text == "~" or text.startswith("~/"):
        return home / text[2:]
    path = Path(text)
    return path if path.is_absolute() else None


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.sep)
