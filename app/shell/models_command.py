"""`bough models`: lists, searches, downloads, imports, checks and removes models, as the Models window does."""

from __future__ import annotations

import argparse
import sys
import threading
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from msgspec import structs

from app.catalog.checking import Checking, check, summary
from app.catalog.download_queue import Download, DownloadQueue
from app.catalog.entry import Fit, LocalGguf, LocalModel, Memory, RemoteModel
from app.catalog.facts import json_object
from app.catalog.fit import fit, shape_of_model
from app.catalog.hub import Hub, best_of, model_of_key, only
from app.catalog.machine_memory import machine_memory
from app.catalog.on_disk import find_models, model_at
from app.catalog.places_of_models import Root, hub_cache, usual_roots
from app.catalog.starter import full_name
from app.places import Places
from app.shell.terminal import FailedError, print_error, print_fields, print_json, print_line, run_to_end
from worker.sentence import SentenceError, size_text

CANCELLED = 130


def run_models(chosen: argparse.Namespace, places: Places) -> int:
    """Run one of the commands; return the exit code."""
    try:
        match chosen.models_command:
            case "list":
                return _list(chosen, places)
            case "search":
                return _search(chosen, places)
            case "fetch":
                return _download(chosen, places)
            case "import":
                return _import(chosen, places)
            case "check":
                return _check(chosen, places)
            case _:
                return _remove(chosen, places)
    except SentenceError as error:
        print_error(str(error.sentence))
        return 1


# --- list, search ------------------------------------------------------------------------------------------


def _models(places: Places) -> Iterator[LocalModel]:
    # The settings are only read: a damaged file stays as it is.
    listed = json_object(places.config / "settings.json").get("model_folders")
    names = cast("list[object]", listed) if isinstance(listed, list) else []
    yield from find_models(usual_roots(places.models, [Path(name) for name in names if isinstance(name, str)]))


def _list(chosen: argparse.Namespace, places: Places) -> int:
    memory = machine_memory()
    models = sorted(_models(places), key=lambda model: model.title.lower())
    if chosen.json:
        print_json([_described(model, memory) for model in models])
        return 0
    for model in models:
        word = _fit_word(_fit(model, memory)) if model.problem is None else f"problem: {model.problem}"
        print_fields(model.title, size_text(model.num_bytes), model.quantization, word, model.name)
    return 0


def _search(chosen: argparse.Namespace, places: Places) -> int:
    memory = machine_memory()
    found = Hub(data=places.data).search(" ".join(chosen.words)).models
    if chosen.json:
        print_json([_described(model, memory) for model in found])
        return 0
    for model in found:
        size = "" if model.num_bytes is None else size_text(model.num_bytes)
        downloads = "" if model.num_downloads is None else f"{model.num_downloads:,} downloads"
        print_fields(model.key, size, model.quantization, _fit_word(_fit(model, memory)), model.licence, downloads)
    return 0


def _fit(model: LocalModel | RemoteModel, memory: Memory) -> Fit | None:
    shape = shape_of_model(model)
    return None if shape is None or not shape.weights_bytes else fit(shape, memory)


def _fit_word(found: Fit | None) -> str:
    return "" if found is None else found.verdict.replace("_", " ")


def _described(model: LocalModel | RemoteModel, memory: Memory) -> dict[str, Any]:
    """Return a model in the JSON form that docs/shell.md describes."""
    common: dict[str, Any] = {
        "title": model.title,
        "repo": model.repo,
        "format": model.format,
        "bytes": model.num_bytes,
        "architecture": model.architecture,
        "quantization": model.quantization,
        "context_length": model.context_length,
        "num_parameters": model.num_parameters,
        "licence": model.licence,
        "problem": model.problem,
    }
    found = _fit(model, memory)
    memory_fields: dict[str, Any] = {
        "fits": None if found is None else found.verdict,
        "memory_bytes": None if found is None else found.need.total_bytes,
        "memory_context": None if found is None else found.need.context_length,
    }
    match model:
        case LocalModel():
            own = {"name": model.name, "path": model.path, "source": model.source, **common}
            own |= {"has_template": model.has_template, "has_end_token": model.has_end_token}
        case RemoteModel():
            own = {"name": model.key, "path": None, **common, "revision": model.revision}
            own |= {"num_downloads": model.num_downloads, "updated_ms": model.updated_ms, "is_gated": model.is_gated}
    return {**own, **memory_fields}


# --- download, import -------------------------------------------------------------------------------------


def _download(chosen: argparse.Namespace, places: Places) -> int:
    named = model_of_key(chosen.name)
    if named is None:
        raise FailedError(f"“{chosen.name}” does not name a repository. Write it as owner/name.")
    hub = Hub(data=places.data)
    model = named
    if not hub.is_offline:
        found = hub.details(named.repo)
        chosen_model = only(found, named.gguf) if named.gguf else best_of(found)
        if chosen_model is None:
            files = ", ".join(each.gguf for each in found if each.gguf)
            raise FailedError(f"{named.repo} has no model {named.gguf}. Name one of these: {files or named.repo}")
        model = chosen_model
        if _is_refused(model, anyway=chosen.anyway):
            return 1
    download = _queued(model, places, hub)
    if isinstance(download, int):
        return download
    if chosen.json:
        print_json(_described_new(download, places))
    else:
        print_line(download.path)
    return 0


def _is_refused(model: RemoteModel, *, anyway: bool) -> bool:
    """Print the problems of a model that the user wants to download; return whether they prevent the download."""
    if model.problem is not None:
        print_error(str(model.problem))
        return not anyway
    found = _fit(model, machine_memory())
    if found is None or found.verdict == "fits":
        return False
    print_error(str(found.sentence))
    if found.verdict == "too_big" and not anyway:
        print_error("Nothing was downloaded. To download it anyway, add --anyway.")
        return True
    return False


def _queued(model: RemoteModel | LocalGguf, places: Places, hub: Hub) -> Download | int:
    """Download or convert a model, with the same queue as the Models window.

    Return the finished entry, or the exit code if it failed.
    """
    changed = threading.Event()
    queue = DownloadQueue(places, hub, changed.set)
    try:
        download = run_to_end(_followed(queue, model, changed), _progress_line)
        if download is not None and download.state == "failed" and not download.num_bytes:
            # Nothing is kept, so the Models window has nothing to resume.
            queue.cancel(download.id)
    except KeyboardInterrupt:
        queue.close()
        print_error("Cancelled. The finished part is kept; the same command goes on from there.")
        return CANCELLED
    finally:
        queue.close()
    if download is None or download.state != "landed":
        why = download.failure if download is not None else None
        print_error(str(why or "The model could not be downloaded or converted."))
        return 1
    return download


def _followed(
    queue: DownloadQueue, model: RemoteModel | LocalGguf, changed: threading.Event
) -> Generator[Download, None, Download | None]:
    """Yield the state of an entry after each change; return the last state."""
    id_ = queue.add(model).id
    while True:
        changed.wait()
        changed.clear()
        download = queue.find(id_)
        if download is None or download.is_over:
            return download
        yield download


def _progress_line(download: Download) -> str:
    if download.waiting is not None:
        return str(download.waiting)
    parts = [] if download.phase == "downloading" else [download.phase]
    parts.append(_done_line(download.num_bytes, download.total_bytes))
    if download.bytes_per_s:
        parts.append(f"{size_text(round(download.bytes_per_s))}/s")
    if download.seconds_left is not None:
        parts.append(f"{download.seconds_left:,.0f} s left")
    return ", ".join(parts)


def _done_line(done: int, total: int | None) -> str:
    return size_text(done) if total is None else f"{size_text(done)} of {size_text(total)}"


def _described_new(download: Download, places: Places) -> dict[str, Any]:
    """Return a new model in Bough's folder or the hub's cache in the JSON form of `bough models list`."""
    roots = [Root(places.models, "bough"), Root(hub_cache(), "hub", "hub")]
    found = next((model for model in find_models(roots) if model.name == download.name), None)
    return {"name": download.name, "path": download.path} if found is None else _described(found, machine_memory())


def _import(chosen: argparse.Namespace, places: Places) -> int:
    path: Path = chosen.file
    models = [model for model in _opened(path) if model.format == "gguf"]
    if not models:
        raise FailedError(f"There is no GGUF file at {path}. Name a file whose name ends in .gguf, or its folder.")
    hub = Hub(data=places.data)
    new: list[dict[str, Any]] = []
    num_failed = 0
    for model in models:
        if model.problem is not None:
            print_error(f"{model.path}: {model.problem}")
            num_failed += 1
            continue
        file = LocalGguf(path=model.path.absolute(), title=model.title, num_bytes=model.num_bytes)
        download = _queued(file, places, hub)
        if download == CANCELLED:
            return CANCELLED
        if isinstance(download, int):
            num_failed += 1
        elif chosen.json:
            new.append(_described_new(download, places))
        else:
            print_line(download.path)
    if chosen.json and path.is_dir():
        print_json(new)
    elif new:
        print_json(new[0])
    return 1 if num_failed else 0


def _opened(path: Path) -> list[LocalModel]:
    """Return the models at a path: the model of a file, or the models of all files in a folder."""
    if path.is_dir():
        return list(find_models([Root(path, "added")]))
    found = model_at(path) if path.is_file() else None
    return [] if found is None else [found]


# --- check, remove -----------------------------------------------------------------------------------------


def _named(places: Places, name: str) -> LocalModel:
    """Return the model that a user names: by name, path, repository or title. Raises `FailedError`."""
    models = list(_models(places))
    name = full_name(name, places.models)
    given = Path(name).absolute()
    ways: Sequence[Iterable[LocalModel]] = (
        [model for model in models if model.name == name or model.path == given],
        [model for model in models if model.repo == name],
        [model for model in models if model.title == name],
    )
    for found in map(list, ways):
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(model.name for model in found)
            raise FailedError(f"“{name}” names {len(found)} models. Name one of these: {names}")
    at = model_at(given) if given.exists() else None
    if at is None:
        raise FailedError(f"There is no model “{name}”. `bough models list` lists all.")
    return at


def _check(chosen: argparse.Namespace, places: Places) -> int:
    model = _named(places, chosen.name)
    try:
        checked = run_to_end(check(model), _check_line)
    except KeyboardInterrupt:
        print_error("Cancelled. Nothing was changed.")
        return CANCELLED
    if chosen.json:
        print_json({**structs.asdict(checked), "is_whole": checked.is_whole})
    elif checked.is_whole:
        print_line(f"{model.title}: {summary(checked)}")
    for problem in checked.problems:
        print_error(f"{model.title}: {problem}")
    return 0 if checked.is_whole else 1


def _check_line(progress: Checking) -> str:
    return f"{progress.stage}, {progress.fraction:.0%}"


def _remove(chosen: argparse.Namespace, places: Places) -> int:
    from app.catalog.removal import remove

    model = _named(places, chosen.name)
    if model.can_be_removed and not chosen.yes and not _agreed(model):
        print_error("Nothing was removed.")
        return 1
    freed = remove(model, models=places.models, cache=hub_cache())
    if chosen.json:
        print_json({"name": model.name, "path": model.path, "freed_bytes": freed})
    else:
        print_line(f"{model.title} is removed: {size_text(freed)} are free again.")
    return 0


def _agreed(model: LocalModel) -> bool:
    """Ask the user whether to remove a model; return the answer."""
    if not sys.stdin.isatty():
        raise FailedError(f"To remove {model.title} ({size_text(model.num_bytes)}), add --yes.")
    print_error(f"Remove {model.title} ({model.path}) and free {size_text(model.num_bytes)}? [y/N]")
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
