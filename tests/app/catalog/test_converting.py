"""GGUF files of this machine that become model folders, with real processes that are killed."""

from __future__ import annotations

import contextlib
import multiprocessing.connection
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.catalog.download_process import folder_name
from app.catalog.download_queue import Download
from app.catalog.entry import LocalGguf, LocalModel, RemoteModel
from app.catalog.on_disk import find_models, model_at
from app.catalog.places_of_models import Root
from tests.app.catalog.conftest import Desk, downloading
from tests.hub_server import HubServer, Repository
from tests.long import in_long_runs
from tests.worker.gguf.files import write_llama
from worker.gguf.conversion import RECORD, convert

_CONVERSION_S = 1.0
"""About the time of a conversion here, with the start of its process."""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_llama(tmp_path_factory.mktemp("files") / "Tiny-Q4_0.gguf", layers=4, hidden=512)


@pytest.fixture(scope="module")
def judge(file: Path) -> dict[str, bytes]:
    """The files of a conversion that nothing disturbed."""
    assert list(convert(file, file.parent / "judge"))
    return contents(file.parent / "judge")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != RECORD}


def local(path: Path) -> LocalGguf:
    return LocalGguf(path=path, title=path.stem, num_bytes=path.stat().st_size)


def models_of(tmp_path: Path) -> list[LocalModel]:
    """Return what the list of models shows of Bough's folder."""
    return list(find_models([Root(tmp_path / "bough/models", "bough")]))


def assert_converted(download: Download, tmp_path: Path, judge: dict[str, bytes], name: str = "Tiny-Q4_0") -> None:
    """The model is in the list, as it would be without faults, and nothing else is left."""
    assert download.failure is None
    folder = tmp_path / "bough/models" / name
    assert (download.state, download.name, download.path) == ("landed", str(folder), str(folder))
    assert contents(folder) == judge
    assert [(model.name, model.problem) for model in models_of(tmp_path)] == [(str(folder), None)]
    assert [path.name for path in (tmp_path / "bough/models").iterdir()] == [name]
    assert list((tmp_path / "bough/fetching").iterdir()) == []


def kill_after(process: multiprocessing.Process, seconds: float) -> None:
    """Kill a process unless it has ended by then."""
    multiprocessing.connection.wait([process.sentinel], seconds)
    process.kill()


def test_a_file_is_converted_once(desk: Desk, file: Path, judge: dict[str, bytes], tmp_path: Path) -> None:
    assert_converted(desk.end_of(desk.queue.add(local(file)).id), tmp_path, judge)
    again = desk.end_of(desk.queue.add(local(file)).id)
    assert_converted(again, tmp_path, judge)
    assert file.exists()


@pytest.mark.parametrize("num_kills", [1, *in_long_runs([40])])
def test_the_process_is_killed_at_random_moments(
    desk: Desk, file: Path, judge: dict[str, bytes], tmp_path: Path, num_kills: int
) -> None:
    id_ = desk.queue.add(local(file)).id
    for _ in range(num_kills):
        desk.wait_until(lambda: bool(downloading()) or desk.queue.downloads[0].is_over)
        for process in downloading():
            kill_after(process, random.uniform(0, _CONVERSION_S))  # pyright: ignore[reportArgumentType]
        if desk.end_of(id_).state == "landed":
            assert_converted(desk.end_of(id_), tmp_path, judge)
            desk.queue.cancel(id_)
            for folder in (tmp_path / "bough/models").iterdir():
                for path in folder.iterdir():
                    path.unlink()
                folder.rmdir()
            assert desk.queue.add(local(file)).id == id_
        else:
            assert "Resume the conversion" in str(desk.end_of(id_).failure)
            # Killed after the folder has its name, the model is whole.
            assert [contents(model.path) for model in models_of(tmp_path)] in ([], [judge])
            desk.queue.resume(id_)
    assert_converted(desk.end_of(id_), tmp_path, judge)


_PROGRAM = """
import sys, threading
from pathlib import Path
from app.catalog.entry import LocalGguf
from app.catalog.download_queue import DownloadQueue
from app.catalog.hub import Hub
from app.places import Places

if __name__ == "__main__":
    def show():
        print([download.target for download in queue.downloads], flush=True)

    file = Path(sys.argv[2])
    queue = DownloadQueue(Places.under(Path(sys.argv[1])), Hub(), show)
    queue.add(LocalGguf(path=file, title=file.stem, num_bytes=file.stat().st_size))
    threading.Event().wait()
"""


@pytest.mark.parametrize("num_kills", [1, *in_long_runs([8])])
def test_bough_itself_is_killed(
    open_desk: Callable[[], Desk], file: Path, judge: dict[str, bytes], tmp_path: Path, num_kills: int
) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    arguments = [sys.executable, program, tmp_path / "bough", file]
    for number in range(num_kills):
        environment = {**os.environ, "PYTHONPATH": "."}
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment) as bough:
            assert bough.stdout is not None
            assert any("Tiny" in line for line in bough.stdout)
            if number:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    bough.wait(random.uniform(0, _CONVERSION_S))
            bough.send_signal(signal.SIGKILL)
        assert [contents(model.path) for model in models_of(tmp_path)] in ([], [judge])
        if models_of(tmp_path):
            # It was killed after the end, so the next program would have nothing to convert.
            break
    desk = open_desk()
    if not desk.queue.downloads:  # it was killed after the end
        desk.queue.add(local(file))
    (download,) = desk.queue.downloads
    assert (download.phase, download.target or download.state) in {
        ("converting", str(tmp_path / "bough/models/Tiny-Q4_0")),
        ("converting", "queued"),
    }
    desk.queue.resume(download.id)
    end = desk.end_of(download.id)
    while end.state == "failed":  # the killed program's process has not ended yet
        desk.queue.resume(download.id)
        end = desk.end_of(download.id)
    assert_converted(end, tmp_path, judge)


def test_a_conversion_is_paused_and_cancelled_after_its_file_is_gone(
    open_desk: Callable[[], Desk], file: Path, tmp_path: Path
) -> None:
    source = tmp_path / "stick.gguf"
    source.write_bytes(file.read_bytes())
    desk = open_desk()
    id_ = desk.queue.add(local(source)).id
    desk.wait_until(lambda: bool(desk.queue.downloads[0].target))
    desk.queue.pause(id_)
    assert desk.end_of(id_).state == "paused"
    source.unlink()
    later = open_desk()
    (download,) = later.queue.downloads
    assert (download.state, download.phase, download.model) == ("paused", "converting", desk.queue.downloads[0].model)
    later.queue.resume(id_)
    failed = later.end_of(id_)
    assert (failed.state, "There is no file" in str(failed.failure)) == ("failed", True)
    later.queue.cancel(id_)
    assert [path for path in (tmp_path / "bough").rglob("*") if path.is_file() or path.name.endswith(".partial")] == []


def test_a_conversion_does_not_wait_for_a_download(
    desk: Desk, hub_server: HubServer, file: Path, judge: dict[str, bytes]
) -> None:
    hub_server.bytes_per_s = 1e4
    files = {"config.json": b"{}", "model.safetensors": bytes(1_000_000)}
    hub_server.add(Repository("owner/slow", files, ("mlx",)))
    download = desk.queue.add(RemoteModel(repo="owner/slow"))
    desk.wait_until(lambda: desk.queue.downloads[0].num_bytes > 0)
    assert desk.end_of(desk.queue.add(local(file)).id).state == "landed"
    assert desk.queue.downloads[0].state == "running"
    desk.queue.cancel(download.id)


def test_a_damaged_file_says_why(desk: Desk, file: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    cut.write_bytes(file.read_bytes()[:-50])
    failed = desk.end_of(desk.queue.add(local(cut)).id)
    assert (failed.state, "50 bytes are missing" in str(failed.failure)) == ("failed", True)
    assert failed.num_bytes == 0


def test_a_file_whose_name_is_not_unicode_is_converted(
    desk: Desk, file: Path, judge: dict[str, bytes], tmp_path: Path
) -> None:
    odd = tmp_path / os.fsdecode(b"odd \xff\n\xc3\xbc.gguf")
    odd.write_bytes(file.read_bytes())
    model = model_at(odd)
    assert model is not None
    end = desk.end_of(desk.queue.add(LocalGguf(path=odd, title=model.title, num_bytes=model.num_bytes)).id)
    assert (end.state, end.failure) == ("landed", None)
    (listed,) = models_of(tmp_path)
    assert contents(listed.path) == judge


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("llama3.2:8b-instruct", "llama3.2-8b-instruct"),
        ("a/b\\c.gguf", "a-b-c"),
        ("Größe – 模型-Q4_K_M.gguf", "Größe - 模型-Q4_K_M"),
        ("big-00001-of-00003.gguf", "big"),
        ("..", "model"),
        (".hidden.gguf", "hidden"),
        ("x.partial.gguf", "x-partial"),
        ("ü" * 300, "ü" * 100),
    ],
)  # fmt: skip
def test_folders_have_names_that_every_list_shows(name: str, folder: str) -> None:
    assert folder_name(name) == folder
