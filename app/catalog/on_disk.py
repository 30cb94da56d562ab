"""Finds the models on this machine: Bough's own, those of other programs, and those in folders that the user added.

Only file names and headers are read, and nothing is copied. Folders of other programs are never written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from app.catalog import facts, gguf_facts
from app.catalog.entry import LocalModel
from app.catalog.hub_folder import main_revision
from app.catalog.places_of_models import Root, hub_cache
from worker.models.folder import check_folder
from worker.regular_file import read_regular
from worker.sentence import Sentence, SentenceError, verbatim

_MAX_DEPTH = 6
"""How many levels of folders are searched. LM Studio has two: the owner and the repository."""
_MAX_ENTRIES = 300_000
"""The maximum number of files and folders in one search, so that it ends even in a user's home folder."""
_MAX_MANIFEST_BYTES = 1 << 20
_SKIPPED = re.compile(r"\.|node_modules$|__pycache__$|.*\.(?:partial|incomplete)$")
"""Matches folders that are not searched: hidden folders, unfinished downloads and conversions."""
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$", re.IGNORECASE)
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")
_REVISION = re.compile(r"[0-9a-f]{40}")
_LAYER = "application/vnd.ollama.image."


class _Layer(Struct):
    digest: str
    mediaType: str = ""  # noqa: N815 (the field's name in the file)


class _Manifest(Struct):
    layers: list[_Layer] = []
    config: _Layer | None = None


class _Listing(NamedTuple):
    """The names of the files and folders in a folder."""

    files: dict[str, os.stat_result]
    folders: list[str]


def find_models(roots: Sequence[Root]) -> Iterator[LocalModel]:
    """Yield the models in these folders as they are found, each once. No errors are raised."""
    search = _Search()
    for root in roots:
        match root.layout:
            case "folders":
                yield from search.below(root)
            case "hub":
                yield from search.in_hub(root)
            case "ollama":
                yield from search.in_ollama(root)


def model_at(path: Path) -> LocalModel | None:
    """Return the model in a folder or GGUF file that the user opens; None if there is none."""
    root = Root(path, "added")
    if path.is_dir():
        return next(_Search(max_depth=0).below(root), None)
    return next(_Search(max_depth=0).ggufs(Root(path.parent, "added"), path.parent, [path.name]), None)


def model_named(name: str) -> LocalModel | None:
    """Return the model that `load_model` takes by this name: a folder, or a repository in the hub's cache."""
    try:
        if Path(name).is_dir():
            return model_at(Path(name))
        root = Root(hub_cache(), "hub", "hub")
        found = _Search().in_hub(root, f"models--{name.replace('/', '--')}")
        return next((model for model in found if model.name == name), None)
    except (OSError, ValueError):
        return None


class _Search:
    """One search. It enters each folder only once, so links can't lead to an endless loop."""

    def __init__(self, max_depth: int = _MAX_DEPTH) -> None:
        self._max_depth = max_depth
        self._entered: set[tuple[int, int]] = set()
        self._num_left = _MAX_ENTRIES

    def below(self, root: Root) -> Iterator[LocalModel]:
        """Yield the models in a folder and in its subfolders."""
        waiting = [(root.path, 0)]
        while waiting:
            folder, depth = waiting.pop()
            listing = self._listed(folder)
            found = _folder_model(folder, listing.files, root, repo=_repo_of(folder, root, depth))
            if found is not None:
                yield found
            yield from self.ggufs(root, folder, list(listing.files), repo=_repo_of(folder, root, depth))
            if found is None and depth < self._max_depth:
                inner = (name for name in reversed(listing.folders) if not _SKIPPED.match(name))
                waiting += [(folder / name, depth + 1) for name in inner]

    def in_hub(self, root: Root, only: str = "") -> Iterator[LocalModel]:
        """Yield the models in a cache of huggingface_hub, one revision of each repository.

        `only` is the name of the folder of one repository; empty means all.
        """
        for name in [only] if only else self._listed(root.path).folders:
            owner, _, rest = name.removeprefix("models--").partition("--")
            if not name.startswith("models--"):
                continue
            repo = f"{owner}/{rest}" if rest else owner
            snapshot, is_main = _snapshot(root.path / name)
            if snapshot is None:
                continue
            listing = self._listed(snapshot)
            load_name = repo if is_main and root.source == "hub" else str(snapshot)
            found = _folder_model(snapshot, listing.files, root, name=load_name, repo=repo)
            if found is not None:
                yield found
            yield from self.ggufs(root, snapshot, list(listing.files), repo=repo)
            for folder in listing.folders:
                # Large split models have a folder for each quantization.
                inner = self._listed(snapshot / folder)
                yield from self.ggufs(root, snapshot / folder, list(inner.files), repo=repo)

    def in_ollama(self, root: Root) -> Iterator[LocalModel]:
        """Yield Ollama's models. A manifest lists the files, which are in another folder and named by their hashes."""
        seen: set[Path] = set()
        for manifest in sorted(self._manifests(root.path / "manifests")):
            found = _ollama_model(manifest, root)
            if found is not None and found.path not in seen:
                seen.add(found.path)
                yield found

    def _manifests(self, folder: Path) -> Iterator[Path]:
        """Yield the manifests below a folder: `host/namespace/model/tag`."""
        waiting = [(folder, 0)]
        while waiting:
            path, depth = waiting.pop()
            listing = self._listed(path)
            if depth == 3:
                yield from (path / name for name in listing.files if not name.startswith("."))
            else:
                waiting += [(path / name, depth + 1) for name in listing.folders]

    def ggufs(self, root: Root, folder: Path, names: Sequence[str], *, repo: str = "") -> Iterator[LocalModel]:
        """Yield the models of the GGUF files in a folder. The parts of a split file are one model."""
        splits: dict[tuple[str, str], list[str]] = {}
        for name in sorted(names):
            if name.lower().endswith(".gguf") and gguf_facts.is_chat_file(name):
                part = _PART.search(name)
                key = (name[: part.start()], part[2]) if part else (name[: -len(".gguf")], "")
                splits.setdefault(key, []).append(name)
        for (title, count), parts in splits.items():
            problem: Sentence | None = None
            if count and len(parts) != int(count):
                problem = Sentence(
                    "{num_missing} of the {count} parts of this model are missing. Finish the download.",
                    num_missing=max(int(count) - len(parts), 0),
                    count=int(count),
                )
            found = _gguf_model([folder / each for each in parts], root, title=title, repo=repo, problem=problem)
            if found is not None:
                yield found

    def _listed(self, folder: Path) -> _Listing:
        """Return the contents of a folder without broken links; empty if it can't be read or was listed before."""
        listing = _Listing({}, [])
        try:
            status = folder.stat()
            key = (status.st_dev, status.st_ino)
            if key in self._entered:
                return listing
            self._entered.add(key)
            with os.scandir(folder) as entries:
                for entry in entries:
                    if self._num_left <= 0:
                        break
                    self._num_left -= 1
                    try:
                        if entry.is_dir():
                            listing.folders.append(entry.name)
                        elif entry.is_file():
                            listing.files[entry.name] = entry.stat()
                    except OSError:
                        continue
        except (OSError, ValueError):
            pass
        listing.folders.sort()
        return _Listing(dict(sorted(listing.files.items())), listing.folders)


def _repo_of(folder: Path, root: Root, depth: int) -> str:
    """Return the repository from a folder's path, because LM Studio and Bough store models as owner/name."""
    if depth != 2 or root.source not in {"lm_studio", "bough"}:
        return ""
    return f"{folder.parent.name}/{folder.name}"


def _snapshot(repo: Path) -> tuple[Path | None, bool]:
    """Return the snapshot folder of a repository in the hub's cache, and whether it is the snapshot of `main`.

    Without a snapshot of the branch `main`, it is the newest one. The folder is None if there is none.
    """
    try:
        revision = main_revision(repo)
        if _REVISION.fullmatch(revision) and (repo / "snapshots" / revision).is_dir():
            return repo / "snapshots" / revision, True
    except (OSError, ValueError):
        pass
    try:
        folders = [folder for folder in (repo / "snapshots").iterdir() if folder.is_dir()]
        return max(folders, key=lambda folder: folder.stat().st_mtime_ns, default=None), False
    except OSError:
        return None, False


def _folder_model(
    folder: Path, files: dict[str, os.stat_result], root: Root, *, name: str = "", repo: str = ""
) -> LocalModel | None:
    """Return the model in a folder; None if the folder has no chat model."""
    has_weights = any(file.endswith(".safetensors") for file in files)
    has_pickles = any(file.endswith(_PICKLES) for file in files)
    if "config.json" not in files or not (has_weights or has_pickles or "model.safetensors.index.json" in files):
        return None
    config = facts.json_object(folder / "config.json")
    if config and not facts.is_chat_model(config, files):
        return None
    problem: Sentence | None = None
    shape = None
    dtype = ""
    try:
        checked = check_folder(folder, name)
        tokenizer = files.get("tokenizer.json")
        shape = facts.shape_of(config, checked.weight_files, 0 if tokenizer is None else tokenizer.st_size)
        dtype = max(checked.weight_files, key=lambda file: file.num_bytes).main_dtype
        problem = _why_unsupported(checked.architecture)
    except SentenceError as error:
        problem = error.sentence
    except (OSError, ValueError) as error:
        problem = _unreadable(error)
    if has_pickles and not has_weights:
        problem = Sentence(
            "The weights are in a format that can contain program code, so Bough does not read it. "
            "Choose a version of this model in the safetensors format."
        )
    return LocalModel(
        name=name or str(folder),
        title=facts.clean_name(repo.rpartition("/")[2] or folder.name) or "?",
        path=folder,
        source=root.source,
        format="mlx",
        num_bytes=sum(status.st_size for status in files.values()),
        repo=repo,
        architecture=facts.clean_name(config.get("model_type")),
        quantization=facts.quantization(config, dtype),
        bits=None if shape is None or not shape.num_parameters else 8 * shape.weights_bytes / shape.num_parameters,
        context_length=facts.context_length(config),
        num_parameters=None if shape is None else shape.num_parameters or None,
        licence=facts.licence(folder, files) or facts.converted_licence(folder, files),
        has_template=facts.has_template(folder, files),
        has_end_token=facts.has_end_token(folder, config),
        modified_ms=max(status.st_mtime_ns for status in files.values()) // 1_000_000,
        shape=shape,
        problem=problem,
    )


def _why_unsupported(architecture: str) -> Sentence | None:
    if facts.is_supported(architecture):
        return None
    return Sentence(
        "Bough does not support models of the type {architecture}. Choose another model.",
        architecture=facts.clean_name(architecture),
    )


def _gguf_model(
    paths: Sequence[Path],
    root: Root,
    *,
    title: str,
    repo: str = "",
    problem: Sentence | None = None,
    is_named_by_hash: bool = False,
) -> LocalModel | None:
    """Return the model in GGUF files; None if they have no chat model. `title` may also contain the quantization."""
    path = paths[0]
    found = None
    num_bytes = modified_ns = 0
    try:
        statuses = [each.stat() for each in paths]
        num_bytes = sum(status.st_size for status in statuses)
        modified_ns = max(status.st_mtime_ns for status in statuses)
        found = gguf_facts.read_facts(path, num_bytes, title)
        if found is None:
            return None
    except SentenceError as error:
        problem = problem or error.sentence
    except (OSError, ValueError) as error:
        problem = problem or _unreadable(error)
    if found is not None and not gguf_facts.is_convertible(found.architecture):
        problem = problem or Sentence(
            "Bough can't convert GGUF models of the architecture {architecture}. Choose another model.",
            architecture=found.architecture or "?",
        )
    model = LocalModel(
        name=str(path),
        title=facts.clean_name(title) or "?",
        path=path,
        source=root.source,
        format="gguf",
        num_bytes=num_bytes,
        files=tuple(paths),
        repo=repo,
        quantization=gguf_facts.kind_in(title),
        modified_ms=modified_ns // 1_000_000,
        problem=problem,
    )
    if found is None:
        # If a file is not in GGUF format at all, its name says nothing about a model either.
        return None if is_named_by_hash else model
    return msgspec.structs.replace(
        model,
        repo=repo or found.repo,
        architecture=found.architecture,
        quantization=found.quantization,
        bits=found.bits,
        context_length=found.context_length,
        num_parameters=found.num_parameters,
        licence=found.licence,
        shape=found.shape,
    )


def _ollama_model(manifest: Path, root: Root) -> LocalModel | None:
    """Return the model of a manifest; None if it is not a chat model, or is not on this machine."""
    host, namespace, model, tag = manifest.parts[-4:]
    try:
        found = msgspec.json.decode(read_regular(manifest, _MAX_MANIFEST_BYTES), type=_Manifest)
    except (OSError, ValueError, RecursionError):
        return None
    blobs = root.path / "blobs"
    weights = [path for path in _blobs(blobs, found, "model") if path.is_file()]
    if not weights:
        return None
    title = f"{model}:{tag}"
    if host != "registry.ollama.ai":
        title = f"{host}/{namespace}/{title}"
    elif namespace != "library":
        title = f"{namespace}/{title}"
    problem = None
    if _blobs(blobs, found, "adapter"):
        problem = Sentence("This model needs an adapter, which Bough can't apply. Choose another model.")
    return _gguf_model(
        weights[:1],
        root,
        title=title,
        repo=f"{namespace}/{model}" if host in {"hf.co", "huggingface.co"} else "",
        problem=problem,
        is_named_by_hash=True,
    )


def _blobs(folder: Path, manifest: _Manifest, kind: str) -> list[Path]:
    """Return the paths of the layers of one kind in a manifest."""
    digests = (_DIGEST.fullmatch(layer.digest) for layer in manifest.layers if layer.mediaType == _LAYER + kind)
    return [folder / f"sha256-{digest[1]}" for digest in digests if digest]


def _unreadable(error: Exception) -> Sentence:
    reason = error.strerror if isinstance(error, OSError) else None
    return Sentence("It can't be read ({error}).", error=verbatim(reason or str(error)[:200]))
