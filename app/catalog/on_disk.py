"""Finds the models on this machine: Bough's own, those of other programs, and those in folders that the user added.

Reads file names and headers only, and copies nothing. Folders of others are never written.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from app.catalog.entry import LocalModel, Source
from worker.models.folder import check_folder
from worker.printable import one_line
from worker.sentence import Sentence, SentenceError

Layout: TypeAlias = Literal["folders", "hub"]
"""`folders`: models anywhere below. `hub`: the cache of huggingface_hub."""

_MAX_DEPTH = 6
"""Folders within folders that are searched. LM Studio has two: the owner and the repository."""
_MAX_ENTRIES = 200_000
"""The most files and folders that one search looks at, so that it ends even in a user's home folder."""
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)
_GGUF_KIND = re.compile(
    r"(?:^|[-_.])((?:UD-)?(?:I?Q\d(?:_[A-Z0-9]+)*|BF16|F16|F32|FP16|FP32|MXFP4|TQ\d_0))(?=[-_.]|$)", re.IGNORECASE
)


@dataclass(frozen=True)
class Root:
    """A folder in which models are searched."""

    path: Path
    source: Source
    layout: Layout = "folders"


def usual_roots(
    models: Path,
    added: Sequence[Path] = (),
    *,
    environment: Mapping[str, str] = os.environ,
    home: Path | None = None,
) -> list[Root]:
    """Return the folders in which Bough and other programs keep models. Some of them may not exist.

    `models`: Bough's own folder. `added`: the folders that the user added.
    """
    home = home or Path.home()
    cache = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
    huggingface = Path(environment.get("HF_HOME") or cache / "huggingface").expanduser()
    hub = environment.get("HF_HUB_CACHE") or environment.get("HUGGINGFACE_HUB_CACHE") or huggingface / "hub"
    roots = [
        Root(models, "bough"),
        Root(Path(hub).expanduser(), "hub", "hub"),
        Root(home / ".lmstudio" / "models", "lm_studio"),
        Root(cache / "lm-studio" / "models", "lm_studio"),
        Root(Path(environment.get("LLAMA_CACHE") or cache / "llama.cpp"), "llama_cpp"),
        *(Root(path, "added") for path in added),
    ]
    return list({root.path: root for root in reversed(roots)}.values())[::-1]


def find_models(roots: Sequence[Root]) -> Iterator[LocalModel]:
    """Yield the models below some folders as they are found, each once. Nothing is raised."""
    search = _Search()
    for root in roots:
        match root.layout:
            case "folders":
                yield from search.below(root)
            case "hub":
                yield from search.in_hub(root)


class _Search:
    """One search. It enters each folder once, so loops of links end."""

    def __init__(self) -> None:
        self._entered: set[tuple[int, int]] = set()
        self._num_left = _MAX_ENTRIES

    def below(self, root: Root) -> Iterator[LocalModel]:
        """Yield the models in a folder and in the folders in it."""
        waiting = [(root.path, 0)]
        while waiting:
            folder, depth = waiting.pop()
            files, folders = self._listed(folder)
            if "config.json" in files and any(name.endswith(".safetensors") for name in files):
                yield _folder_model(folder, root, name=str(folder))
            else:
                yield from _gguf_models(folder, files, root)
                if depth < _MAX_DEPTH:
                    waiting += [(folder / name, depth + 1) for name in sorted(folders, reverse=True)]

    def in_hub(self, root: Root) -> Iterator[LocalModel]:
        """Yield the models in a cache of huggingface_hub."""
        for name in self._listed(root.path)[1]:
            if not name.startswith("models--"):
                continue
            repo = name.removeprefix("models--").replace("--", "/", 1)
            snapshot = _snapshot(root.path / name)
            if snapshot is None:
                continue
            files, _ = self._listed(snapshot)
            if "config.json" in files and any(file.endswith(".safetensors") for file in files):
                yield _folder_model(snapshot, root, name=repo, repo=repo)
            else:
                yield from _gguf_models(snapshot, files, root, repo=repo)

    def _listed(self, folder: Path) -> tuple[list[str], list[str]]:
        """Return the names of the files and of the folders in a folder; nothing if it can't be read or is known."""
        files: list[str] = []
        folders: list[str] = []
        try:
            status = folder.stat()
            key = (status.st_dev, status.st_ino)
            if key in self._entered:
                return [], []
            self._entered.add(key)
            with os.scandir(folder) as entries:
                for entry in entries:
                    if self._num_left <= 0:
                        break
                    self._num_left -= 1
                    if entry.is_dir():
                        folders.append(entry.name)
                    elif entry.is_file():
                        files.append(entry.name)
        except OSError:
            pass
        return sorted(files), sorted(folders)


def _snapshot(repo: Path) -> Path | None:
    """Return the folder of a repository's files in the hub's cache; None without one."""
    try:
        revision = (repo / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return None
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        return None
    return repo / "snapshots" / revision


def _folder_model(folder: Path, root: Root, *, name: str, repo: str = "") -> LocalModel:
    problem: Sentence | None = None
    num_bytes = num_parameters = 0
    architecture = ""
    try:
        found = check_folder(folder, name)
    except SentenceError as error:
        problem = error.sentence
        config = _config(folder)
    else:
        config, num_bytes, num_parameters = found.config, found.weights_bytes, found.num_parameters
        architecture = found.architecture
    quantization = config.get("quantization")
    bits = cast("dict[str, Any]", quantization).get("bits") if isinstance(quantization, dict) else None
    return LocalModel(
        name=name,
        title=one_line(repo.rpartition("/")[2] or folder.name),
        path=folder,
        source=root.source,
        format="mlx",
        num_bytes=num_bytes,
        repo=repo,
        architecture=one_line(architecture),
        quantization=f"{bits} bits" if isinstance(bits, int) else "",
        num_parameters=num_parameters or None,
        problem=problem,
    )


def _config(folder: Path) -> dict[str, Any]:
    try:
        found: object = json.loads((folder / "config.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _gguf_models(folder: Path, files: Sequence[str], root: Root, *, repo: str = "") -> Iterator[LocalModel]:
    for name in files:
        if not name.lower().endswith(".gguf"):
            continue
        part = _PART.search(name)
        names = [name]
        if part:
            if int(part[1]) != 1:
                continue
            stem = name[: part.start()].lower()
            names = [other for other in files if other.lower().startswith(stem) and _PART.search(other)]
        kind = _GGUF_KIND.search(name)
        path = folder / name
        yield LocalModel(
            name=str(path),
            title=one_line(name[: part.start()] if part else path.stem),
            path=path,
            source=root.source,
            format="gguf",
            num_bytes=sum(_size(folder / other) for other in names),
            files=tuple(folder / other for other in names),
            repo=repo,
            quantization=kind[1].upper() if kind else "",
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
