"""Fetching: megabytes per second from a hub on loopback, beside huggingface_hub alone. Starting the process counts."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from tests.benchmarks.measure import Row, compared, in_turn
from tests.hub_server import HubServer, Repository

_NUM_BYTES = 500_000_000
_ROUNDS = 5
_REPO = "mlx-community/large"
_MB = 1e6


def rows() -> Iterator[Row]:
    os.environ.pop("HF_HUB_OFFLINE", None)
    os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "model.safetensors"
        with file.open("wb") as out:
            for _ in range(_NUM_BYTES // 1_000_000):
                out.write(os.urandom(1_000_000))
        pipe, servers_pipe = context.Pipe()
        server = context.Process(target=_serve, args=(file, servers_pipe), daemon=True)
        server.start()
        url: str = pipe.recv()
        ours, theirs = in_turn(_ROUNDS, lambda: _bough(folder, url), lambda: _huggingface_hub(folder, url))
        pipe.send(None)
        server.join()
        what = f"{_NUM_BYTES // 1_000_000} MB through HTTP, checked: MB/s"
        yield compared("fetch", what, ours, "huggingface_hub alone, unchecked", theirs, ">= 0.95")


def _serve(file: Path, pipe: Connection) -> None:
    with HubServer() as server:
        server.add(Repository(_REPO, {"config.json": b"{}", "model.safetensors": file}, ("mlx",)))
        pipe.send(server.url)
        pipe.recv()


def _bough(folder: Path, url: str) -> float:
    from app.catalog.download_queue import DownloadQueue
    from app.catalog.entry import RemoteModel
    from app.catalog.hub import Hub
    from app.places import Places

    os.environ["HF_HOME"] = str(folder / "cache")
    queue = DownloadQueue(Places.under(folder / "bough"), Hub(url))
    began = time.perf_counter()
    download = queue.wait(queue.add(RemoteModel(repo=_REPO)).id)
    seconds = time.perf_counter() - began
    queue.close()
    assert download is not None
    assert download.state == "landed", download.failure
    shutil.rmtree(folder / "cache")
    return _NUM_BYTES / _MB / seconds


def _huggingface_hub(folder: Path, url: str) -> float:
    process = multiprocessing.get_context("spawn").Process(target=_download, args=(folder / "cache", url))
    began = time.perf_counter()
    process.start()
    process.join()
    seconds = time.perf_counter() - began
    assert process.exitcode == 0
    shutil.rmtree(folder / "cache")
    return _NUM_BYTES / _MB / seconds


def _download(cache: Path, url: str) -> None:
    from huggingface_hub import snapshot_download

    snapshot_download(_REPO, cache_dir=cache, endpoint=url)
    os._exit(0)  # as Bough's process ends
