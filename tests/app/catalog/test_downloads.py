"""Downloads of models with real processes, over real HTTP on loopback."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.catalog.download_queue import Download
from app.catalog.entry import RemoteModel
from app.catalog.hub import Hub
from tests.app.catalog.conftest import Desk, downloading
from tests.hub_server import Fault, HubServer, Repository
from tests.long import in_long_runs
from tests.worker.gguf.files import write_llama
from worker.gguf.conversion import RECORD, convert
from worker.models.folder import check_folder
from worker.sentence import Sentence

REPO = "mlx-community/small"
WEIGHTS = "model.safetensors"
DATA = random.Random(1).randbytes(3_000_000)
SAME = b"{}"
FILES = {"config.json": SAME, "generation_config.json": SAME, WEIGHTS: DATA, "tokenizer.json": b"[]"}
GET_WEIGHTS = rf"GET /{REPO}/{WEIGHTS}"
"""From the storage; from the hub the path has `resolve` in it."""


@pytest.fixture
def small(hub_server: HubServer) -> Repository:
    return hub_server.add(Repository(REPO, FILES, ("mlx",)))


def downloaded(desk: Desk, repo: str = REPO) -> Download:
    """Download a repository; return how it ended."""
    return downloaded_model(desk, RemoteModel(repo=repo))


def downloaded_model(desk: Desk, model: RemoteModel) -> Download:
    return desk.end_of(desk.queue.add(model).id)


def assert_landed(download: Download, tmp_path: Path, repository: Repository) -> None:
    """The model is in the cache, byte for byte, and nothing else is left."""
    assert download.failure is None
    assert (download.state, download.name) == ("landed", repository.id)
    folder = tmp_path / "huggingface/hub" / f"models--{repository.id.replace('/', '--')}"
    snapshot = folder / "snapshots" / repository.commit
    assert download.path == str(snapshot)
    assert {path.name: path.read_bytes() for path in snapshot.iterdir()} == repository.files
    assert all(path.is_symlink() for path in snapshot.iterdir())
    assert (folder / "refs/main").read_text() == repository.commit
    assert len(list((folder / "blobs").iterdir())) == len({*repository.files.values()})
    assert_nothing_unfinished(tmp_path)


def assert_nothing_unfinished(tmp_path: Path) -> None:
    assert [path for path in tmp_path.rglob("*") if "incomplete" in path.name or ".bough" in path.name] == []
    assert list((tmp_path / "bough").rglob("*.*")) == []
    assert downloading() == []


def kill_process(desk: Desk, when_bytes: int) -> int:
    """Kill the process of the running entry once it has downloaded this much; return how much was kept."""
    (download,) = desk.queue.downloads
    desk.wait_until(lambda: desk.queue.downloads[0].num_bytes >= when_bytes)
    (process,) = downloading()
    process.kill()
    return desk.end_of(download.id).num_bytes


def test_a_model_lands_in_the_hugging_face_cache(desk: Desk, small: Repository, tmp_path: Path) -> None:
    assert_landed(downloaded(desk), tmp_path, small)
    # Other programs find it: this is how Bough's worker and mlx-lm do.
    from huggingface_hub import snapshot_download

    cache = tmp_path / "huggingface/hub"
    assert snapshot_download(REPO, cache_dir=cache, local_files_only=True) == desk.queue.downloads[0].path


def test_a_file_that_is_here_is_not_downloaded_again(
    desk: Desk, hub_server: HubServer, small: Repository, tmp_path: Path
):
    from huggingface_hub import hf_hub_download

    hf_hub_download(REPO, WEIGHTS, cache_dir=tmp_path / "huggingface/hub", endpoint=hub_server.url)
    hub_server.requests.clear()
    assert downloaded(desk).state == "landed"
    assert hub_server.requests_of(WEIGHTS) == []


def test_the_token_goes_to_the_hub_alone(desk: Desk, hub_server: HubServer, tmp_path: Path) -> None:
    repository = hub_server.add(Repository(REPO, FILES, ("mlx",), gated="manual"))
    refused = downloaded(desk)
    assert (refused.state, refused.failure_kind) == ("failed", "gated")
    assert str(refused.failure).startswith(
        f"The owner of {REPO} decides who may download it. Open {hub_server.url}/{REPO}"
    )
    (tmp_path / "huggingface").mkdir(exist_ok=True)
    (tmp_path / "huggingface/token").write_text(hub_server.token)  # as `hf auth login` leaves it
    desk.queue.resume(refused.id)
    assert_landed(desk.end_of(refused.id), tmp_path, repository)
    assert all("Authorization" not in request.headers for request in hub_server.requests_of(GET_WEIGHTS))
    assert hub_server.token not in "".join(request.path for request in hub_server.requests)


def test_pause_and_resume(
    desk: Desk, open_desk: Callable[[], Desk], hub_server: HubServer, small: Repository, tmp_path: Path
) -> None:
    hub_server.bytes_per_s = 3e6
    download = desk.queue.add(RemoteModel(repo=REPO))
    desk.wait_until(lambda: desk.queue.downloads[0].num_bytes > 500_000)
    desk.queue.pause(download.id)
    paused = desk.end_of(download.id)
    assert paused.state == "paused"
    assert 500_000 < paused.num_bytes < len(DATA)
    assert [(one.state, one.is_held) for one in open_desk().queue.downloads] == [("paused", True)]
    hub_server.bytes_per_s = None
    desk.queue.resume(download.id)
    assert_landed(desk.end_of(download.id), tmp_path, small)
    assert "Range" in hub_server.requests_of(GET_WEIGHTS)[-1].headers


def test_cancel_leaves_nothing(desk: Desk, hub_server: HubServer, small: Repository, tmp_path: Path) -> None:
    hub_server.bytes_per_s = 3e6
    download = desk.queue.add(RemoteModel(repo=REPO))
    desk.wait_until(lambda: desk.queue.downloads[0].num_bytes > 500_000)
    assert desk.queue.cancel(download.id) > 500_000
    assert desk.queue.downloads == ()
    assert_nothing_unfinished(tmp_path)
    assert list((tmp_path / "huggingface/hub").glob("models--*")) == []


@pytest.mark.parametrize("num_kills", [1, *in_long_runs([12])])
def test_the_process_is_killed_at_random_moments(
    desk: Desk, hub_server: HubServer, small: Repository, tmp_path: Path, num_kills: int
) -> None:
    hub_server.bytes_per_s = 6e6
    download = desk.queue.add(RemoteModel(repo=REPO))
    here = 0
    for when in sorted(random.sample(range(1, 2_500_000), num_kills)):
        if when > here:
            here = kill_process(desk, when)
            assert desk.queue.downloads[0].state == "failed"
            desk.queue.resume(download.id)
    assert_landed(desk.end_of(download.id), tmp_path, small)


def test_an_unresponsive_process_is_reported_and_can_be_replaced(
    desk: Desk, hub_server: HubServer, small: Repository, tmp_path: Path
) -> None:
    hub_server.bytes_per_s = 1e5
    download = desk.queue.add(RemoteModel(repo=REPO))
    desk.wait_until(lambda: desk.queue.downloads[0].num_bytes > 0)
    for is_replaced in (False, True):
        (process,) = downloading()
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        desk.wait_until(lambda: "does not respond" in str(desk.queue.downloads[0].waiting))
        assert desk.queue.downloads[0].bytes_per_s is None
        if not is_replaced:
            os.kill(process.pid, signal.SIGCONT)
            desk.wait_until(lambda: desk.queue.downloads[0].waiting is None)
            continue
        desk.queue.pause(download.id)
        hub_server.bytes_per_s = None
        desk.queue.resume(download.id)
    assert_landed(desk.end_of(download.id), tmp_path, small)


_PROGRAM = """
import sys, threading
from pathlib import Path
from app.catalog.entry import RemoteModel
from app.catalog.download_queue import DownloadQueue
from app.catalog.hub import Hub
from app.places import Places

if __name__ == "__main__":
    def show():
        print(max([download.num_bytes for download in queue.downloads], default=0), flush=True)

    queue = DownloadQueue(Places.under(Path(sys.argv[1])), Hub(sys.argv[2]), show)
    queue.add(RemoteModel(repo=sys.argv[3]))
    threading.Event().wait()
"""


def test_bough_itself_is_killed(
    open_desk: Callable[[], Desk], hub_server: HubServer, small: Repository, tmp_path: Path
) -> None:
    hub_server.bytes_per_s = 3e6
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    arguments = [sys.executable, program, tmp_path / "bough", hub_server.url, REPO]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": "."}) as bough:
        assert bough.stdout is not None
        assert any(int(line) > 500_000 for line in bough.stdout)
        bough.send_signal(signal.SIGKILL)
    hub_server.bytes_per_s = None
    desk = open_desk()
    (download,) = desk.queue.downloads
    assert (download.state, download.is_held) == ("paused", False)
    assert 500_000 < download.num_bytes < len(DATA)
    assert download.total_bytes == sum(map(len, {*FILES.values()}))
    desk.queue.resume(download.id)
    end = desk.end_of(download.id)
    if end.failure_kind == "busy":  # the killed program's process has not ended yet
        desk.queue.resume(download.id)
        end = desk.end_of(download.id)
    assert_landed(end, tmp_path, small)


def test_temporary_failures_are_retried(desk: Desk, hub_server: HubServer, small: Repository, tmp_path: Path) -> None:
    for fault in (
        Fault("cut", 0),
        Fault("cut", 1_000_000),
        Fault("stall", 300_000),
        Fault("status", status=500),
        Fault("status", status=429, headers={"Retry-After": "0"}),
        Fault("cut", 200_000),
        Fault("wrong", 123_456),  # so that all begins again
        Fault("cut", 2_000_000),
        Fault("whole", len(DATA)),
    ):
        hub_server.fail(GET_WEIGHTS, fault)
    assert_landed(downloaded(desk), tmp_path, small)
    ranges = [request.headers.get("Range", "all") for request in hub_server.requests_of(GET_WEIGHTS)]
    assert [range_.removeprefix("bytes=") for range_ in ranges] == [
        *("all", "all", "1000000-", "1300000-", "1300000-", "1300000-", "1500000-", "all", "2000000-"),
    ]


def test_a_file_that_is_damaged_twice(desk: Desk, hub_server: HubServer, small: Repository, tmp_path: Path) -> None:
    hub_server.fail(GET_WEIGHTS, Fault("wrong", 1_234_567), times=2)
    failed = downloaded(desk)
    assert (failed.state, failed.failure_kind) == ("failed", "invalid")
    assert str(failed.failure).startswith("model.safetensors arrived damaged twice")
    assert not list((tmp_path / "huggingface").rglob("refs"))
    desk.queue.resume(failed.id)
    assert_landed(desk.end_of(failed.id), tmp_path, small)


@pytest.mark.long
def test_a_server_that_stays_broken(desk: Desk, hub_server: HubServer, small: Repository) -> None:
    hub_server.fail(GET_WEIGHTS, Fault("status", status=503), times=100)
    failed = downloaded(desk)
    assert (failed.state, failed.failure_kind) == ("failed", "failed")
    assert len(hub_server.requests_of(GET_WEIGHTS)) == 6


def test_a_disk_that_is_too_small(desk: Desk, hub_server: HubServer) -> None:
    (model,) = Hub(hub_server.add(Repository(REPO, FILES, ("mlx",))) and hub_server.url).details(REPO)
    import msgspec

    huge = tuple(msgspec.structs.replace(file, num_bytes=1 << 50) for file in model.files)
    failed = desk.end_of(desk.queue.add(msgspec.structs.replace(model, files=huge)).id)
    assert failed.failure_kind == "invalid"
    assert str(failed.failure).startswith("small needs 3,145,728 GiB on the disk of ")
    assert hub_server.requests_of(GET_WEIGHTS) == []


@pytest.mark.long
def test_two_programs_do_not_download_the_same(
    desk: Desk, open_desk: Callable[[], Desk], hub_server: HubServer, small: Repository, tmp_path: Path
) -> None:
    hub_server.bytes_per_s = 4e5
    download = desk.queue.add(RemoteModel(repo=REPO))
    desk.wait_until(lambda: desk.queue.downloads[0].num_bytes > 0)
    second = downloaded(open_desk())
    assert second.failure_kind == "busy"
    hub_server.bytes_per_s = None
    hub_server.released.set()
    assert_landed(desk.end_of(download.id), tmp_path, small)


def test_the_order_can_change(
    desk: Desk, open_desk: Callable[[], Desk], hub_server: HubServer, small: Repository
) -> None:
    hub_server.bytes_per_s = 3e6
    for number in range(2):
        hub_server.add(Repository(f"someone/tiny-{number}", {**FILES, WEIGHTS: bytes([number])}, ("mlx",)))
    first = desk.queue.add(RemoteModel(repo=REPO))
    tiny = [desk.queue.add(RemoteModel(repo=f"someone/tiny-{number}")) for number in range(2)]
    desk.wait_until(lambda: desk.queue.downloads[0].state == "running")
    desk.queue.run_next(tiny[1].id)
    order = [download.id for download in (first, tiny[1], tiny[0])]
    assert [download.id for download in desk.queue.downloads] == order
    assert [download.id for download in open_desk().queue.downloads] == order
    hub_server.bytes_per_s = None
    hub_server.released.set()
    for download in (first, *tiny):
        assert desk.end_of(download.id).state == "landed"
    order = [request.path.split("/")[2] for request in hub_server.requests_of(rf"GET /[^/]+/[^/]+/{WEIGHTS}")]
    assert order == ["small", "tiny-1", "tiny-0"]


def test_programs_write_only_what_they_changed(open_desk: Callable[[], Desk], hub_server: HubServer) -> None:
    hub_server.add(Repository(REPO, FILES, ("mlx",), is_private=True))
    first = open_desk()
    gone = downloaded(first)
    problem = Sentence("It can't be {what}.", what="used")
    second = open_desk()
    assert [download.failure for download in second.queue.downloads] == [gone.failure]
    first.queue.cancel(gone.id)
    other = downloaded_model(second, RemoteModel(repo="someone/nothing", problem=problem))
    second.queue.move(other.id, 0)
    (left,) = open_desk().queue.downloads
    assert (left.id, getattr(left.model, "problem", None), left.failure_kind) == (other.id, problem, "gone")


# --- Xet ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def in_xet(hub_server: HubServer) -> Repository:
    return hub_server.add(Repository(REPO, FILES, ("mlx",), has_xet=True))


def test_large_files_come_through_xet(desk: Desk, hub_server: HubServer, in_xet: Repository, tmp_path: Path) -> None:
    assert_landed(downloaded(desk), tmp_path, in_xet)
    assert hub_server.requests_of("GET /chunks/") != []
    assert hub_server.requests_of(GET_WEIGHTS) == []
    tokens = {request.headers.get("authorization") for request in hub_server.requests_of("GET /v1/reconstructions/")}
    assert tokens == {"Bearer xet"}
    assert hub_server.requests_of("telemetry") == []


@pytest.mark.long
def test_xet_resumes_after_a_kill(desk: Desk, hub_server: HubServer, in_xet: Repository, tmp_path: Path) -> None:
    hub_server.fail("GET /chunks/", Fault("stall", 2_000_000))
    download = desk.queue.add(RemoteModel(repo=REPO))
    # hf_xet gives whole blocks on, so that nothing has come of the only one.
    kill_process(desk, 1)
    hub_server.requests.clear()
    desk.queue.resume(download.id)
    assert_landed(desk.end_of(download.id), tmp_path, in_xet)


@pytest.mark.parametrize(
    ("pattern", "fault"),
    [
        ("GET /chunks/", Fault("stall", 100_000)),
        ("GET /chunks/", Fault("wrong", 100_003)),
        *in_long_runs(
            [
                ("xet-read-token", Fault("status", status=403)),
                ("/v1/reconstructions/", Fault("status", status=404)),
                ("GET /chunks/", Fault("status", status=403)),
                ("GET /chunks/", Fault("cut", 100_000)),
            ]
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Fault) else value.strip("/").rpartition("/")[2],
)
def test_a_file_that_fails_through_xet_comes_through_http(
    desk: Desk, hub_server: HubServer, in_xet: Repository, tmp_path: Path, pattern: str, fault: Fault
) -> None:
    hub_server.fail(pattern, fault, times=100)
    assert_landed(downloaded(desk), tmp_path, in_xet)
    assert hub_server.requests_of(GET_WEIGHTS) != []


# --- GGUF --------------------------------------------------------------------------------------------------------


@pytest.fixture
def gguf(hub_server: HubServer, tmp_path: Path) -> Repository:
    files: dict[str, bytes | Path] = {"README.md": b"# Llama", "mmproj-F16.gguf": b"eyes"}
    for kind in ("Q4_0", "Q8_0"):
        files[f"llama-{kind}.gguf"] = write_llama(tmp_path / f"{kind}.gguf", kind, layers=4, hidden=512).read_bytes()
    return hub_server.add(Repository("someone/llama-GGUF", files, ("gguf",)))


def assert_converted(download: Download, tmp_path: Path, kind: str) -> None:
    """The model folder is that of a conversion without faults, and nothing else is left."""
    assert download.failure is None
    folder = tmp_path / f"bough/models/llama-{kind}"
    assert (download.state, download.name, download.path) == ("landed", str(folder), str(folder))
    judge = tmp_path / "judge"
    assert list(convert(tmp_path / f"{kind}.gguf", judge))
    expected = {path.name: path.read_bytes() for path in judge.iterdir() if path.name != RECORD}
    assert {path.name: path.read_bytes() for path in folder.iterdir() if path.name != RECORD} == expected | {
        "README.md": b"# Llama"
    }
    assert check_folder(folder).num_parameters > 0
    assert {path.name for path in (tmp_path / "bough").rglob("*") if path.is_dir()} == {
        "models",
        "fetching",
        folder.name,
    }
    assert [path for path in tmp_path.rglob("*") if "incomplete" in path.name or path.name.endswith(".partial")] == []


def test_a_gguf_model_is_converted(desk: Desk, hub_server: HubServer, gguf: Repository, tmp_path: Path) -> None:
    models = Hub(hub_server.url).details(gguf.id)
    assert [(model.gguf, model.quantization) for model in models] == [
        ("llama-Q4_0.gguf", "Q4_0"),
        ("llama-Q8_0.gguf", "Q8_0"),
    ]
    assert_converted(desk.end_of(desk.queue.add(models[1]).id), tmp_path, "Q8_0")
    # Only the beginning of one file is read for the details.
    others = hub_server.requests_of("GET /.*(mmproj|Q4_0)")
    assert {request.headers.get("Range") for request in others} == {"bytes=0-262143"}


@pytest.mark.long
def test_a_gguf_file_with_an_odd_name(desk: Desk, hub_server: HubServer, gguf: Repository, tmp_path: Path) -> None:
    name = "größe/模型 100% #1?-Q4_0.gguf"
    hub_server.add(Repository("someone/odd-GGUF", {name: gguf.files["llama-Q4_0.gguf"]}, ("gguf",)))
    landed = downloaded_model(desk, RemoteModel(repo="someone/odd-GGUF", gguf=name))
    assert landed.failure is None
    assert landed.path == str(tmp_path / "bough/models/模型 100- #1--Q4_0")
    assert check_folder(Path(landed.path)).num_parameters > 0


def test_a_kill_in_the_middle_of_a_conversion(
    desk: Desk, hub_server: HubServer, gguf: Repository, tmp_path: Path
) -> None:
    download = desk.queue.add(RemoteModel(repo=gguf.id, gguf="llama-Q4_0.gguf"))
    desk.wait_until(lambda: desk.queue.downloads[0].phase == "converting")
    for process in downloading():
        process.kill()
    assert desk.end_of(download.id).state == "failed"
    assert not (tmp_path / "bough/models/llama-Q4_0").exists()
    hub_server.requests.clear()
    desk.queue.resume(download.id)
    assert_converted(desk.end_of(download.id), tmp_path, "Q4_0")
    assert hub_server.requests == []


def test_a_conversion_is_cancelled(desk: Desk, gguf: Repository, tmp_path: Path) -> None:
    download = desk.queue.add(RemoteModel(repo=gguf.id, gguf="llama-Q4_0.gguf"))
    desk.wait_until(lambda: desk.queue.downloads[0].phase == "converting")
    assert desk.queue.cancel(download.id) >= (tmp_path / "Q4_0.gguf").stat().st_size
    assert [path for path in (tmp_path / "bough").rglob("*") if path.is_file() or path.name.endswith(".partial")] == []


@pytest.mark.long
def test_bough_is_killed_in_the_middle_of_a_conversion(
    open_desk: Callable[[], Desk], hub_server: HubServer, gguf: Repository, tmp_path: Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM.replace("download.num_bytes", 'download.phase == "converting"'))
    arguments = [sys.executable, program, tmp_path / "bough", hub_server.url, gguf.id]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": "."}) as bough:
        assert bough.stdout is not None
        assert any(line == "True\n" for line in bough.stdout)
        bough.send_signal(signal.SIGKILL)
    program.unlink()
    hub_server.requests.clear()
    desk = open_desk()
    (download,) = desk.queue.downloads
    assert (download.state, download.num_bytes) == ("paused", download.total_bytes)
    assert isinstance(download.model, RemoteModel)
    end = downloaded_model(desk, download.model)
    while end.failure_kind in {"busy", "failed"}:  # the killed program's process has not ended yet
        desk.queue.resume(download.id)
        end = desk.end_of(download.id)
    assert_converted(end, tmp_path, "Q4_0")
    assert hub_server.requests == []
