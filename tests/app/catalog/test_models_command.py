"""`bough models`: lists, searches, downloads, imports, checks and removes, with a real hub and a real worker."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest

from app.catalog.machine_memory import machine_memory
from app.command_line import parser
from app.places import Places
from app.shell.models_command import run_models
from app.shell.terminal import FailedError
from tests.app.catalog.layouts import gguf_bytes, write_hub_model, write_model
from tests.driver import ROOT
from tests.hub_server import Fault, HubServer, Repository, Request
from tests.models import byte_level_tokenizer, write_random_llama
from tests.worker.gguf.files import write_llama


class Shell:
    """Runs the commands in this process, with the folders of the test as all folders."""

    def __init__(self, home: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.home = home
        self.places = Places.under(home / "bough")
        self._capture = capture

    def run(self, *arguments: str | Path) -> tuple[int, str, str]:
        """Return the exit code, the output and the errors."""
        chosen = parser().parse_args(["models", *map(str, arguments)])
        try:
            code = run_models(chosen, self.places)
        except FailedError as error:
            return 1, "", str(error)
        out, errors = self._capture.readouterr()
        return code, out, errors

    def json(self, *arguments: str | Path) -> Any:
        code, out, errors = self.run(*arguments, "--json")
        assert (code, errors) == (0, "")
        return json.loads(out)


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Shell:
    for name in ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME", "OLLAMA_MODELS", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setenv("HOME", str(tmp_path))
    return Shell(tmp_path, capfd)


class WatchedHub(HubServer):
    """A hub that signals when a file's content is requested."""

    def __init__(self) -> None:
        super().__init__()
        self.was_asked = threading.Event()

    def note(self, request: Request) -> Fault | None:
        fault = super().note(request)
        if fault is not None:
            self.was_asked.set()
        return fault


@pytest.fixture
def hub(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[WatchedHub]:
    with WatchedHub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def put_small_model(hub: HubServer, folder: Path, repo: str = "owner/little") -> None:
    """Put a model that a worker can load on the hub."""
    write_random_llama(folder, byte_level_tokenizer())
    hub.add(
        Repository(repo, {file.name: file.read_bytes() for file in folder.iterdir()}, tags=("mlx", "text-generation"))
    )


def test_list(shell: Shell):
    folder = write_model(shell.places.models / "owner" / "b\x1b[31m")
    write_hub_model(shell.home / ".cache" / "huggingface" / "hub", "owner/a", write_model(shell.home / "x"))
    cut = write_model(shell.places.models / "owner" / "cut") / "model.safetensors"
    cut.write_bytes(b"")
    code, out, errors = shell.run("list")
    assert (code, errors) == (0, "")
    lines = [line.split("\t") for line in out.splitlines()]
    assert [line[0] for line in lines] == ["a", "b\ufffd[31m", "cut"]
    assert lines[0][4] == "owner/a"
    assert lines[2][3].startswith("problem: ")
    first, second, third = shell.json("list")
    assert (first["name"], first["source"], first["bytes"] > 0, first["fits"]) == ("owner/a", "hub", True, "fits")
    assert second["path"] == str(folder)
    assert "damaged" in third["problem"]


def test_folders_of_the_settings_are_listed(shell: Shell):
    write_model(shell.home / "mine" / "one")
    shell.places.config.mkdir()
    settings = shell.places.config / "settings.json"
    settings.write_text(json.dumps({"model_folders": [str(shell.home / "mine"), 7]}))
    assert [model["title"] for model in shell.json("list")] == ["one"]
    settings.write_text("{")
    assert shell.json("list") == []
    assert settings.read_text() == "{"


def test_search_and_fetch(shell: Shell, hub: HubServer):
    put_small_model(hub, shell.home / "x")
    (hit,) = shell.json("search", "little")
    assert (hit["name"], hit["path"], hit["format"]) == ("owner/little", None, "mlx")
    code, out, errors = shell.run("fetch", "owner/little")
    assert (code, errors) == (0, "")
    (model,) = shell.json("list")
    assert out.strip() == model["path"]
    assert (model["name"], model["repo"], model["source"]) == ("owner/little", "owner/little", "hub")
    assert shell.json("fetch", "owner/little") == {**model, "fits": "fits"}
    checked = shell.json("check", "owner/little")
    assert (checked["is_whole"], checked["is_loaded"], checked["num_hashed"]) == (True, True, 4)


def test_models_that_can_not_be_downloaded(shell: Shell, hub: HubServer, monkeypatch: pytest.MonkeyPatch):
    assert "owner/name" in shell.run("fetch", "no name")[2]
    code, out, errors = shell.run("fetch", "owner/gone")
    assert (code, out, "is not on" in errors) == (1, "", True)
    put_small_model(hub, shell.home / "x")
    assert "has no model" in shell.run("fetch", "owner/little:a.gguf")[2]
    memory = machine_memory()
    little = type(memory)(total_bytes=1 << 20, available_bytes=1 << 20)
    monkeypatch.setattr("app.shell.models_command.machine_memory", lambda: little)
    code, out, errors = shell.run("fetch", "owner/little")
    assert (code, out) == (1, "")
    assert "It does not fit." in errors
    assert "--anyway" in errors
    assert shell.run("fetch", "owner/little", "--anyway")[0] == 0


def test_import(shell: Shell, tmp_path: Path):
    file = tmp_path / "novel.gguf"
    file.write_bytes(gguf_bytes(general__architecture="novel"))
    code, out, errors = shell.run("import", file)
    assert (code, out, "novel" in errors) == (1, "", True)
    assert "There is no GGUF file" in shell.run("import", tmp_path / "gone.gguf")[2]
    assert "There is no GGUF file" in shell.run("import", write_model(tmp_path / "m"))[2]


def test_import_converts_once_and_leaves_no_entry(shell: Shell, tmp_path: Path):
    file = write_llama(tmp_path / "Größe.gguf")
    folder = shell.places.models / "Größe"
    assert shell.run("import", file) == (0, f"{folder}\n", "")
    (listed,) = shell.json("list")
    again = shell.json("import", file)
    assert (listed["name"], again["name"], again["source"]) == (str(folder), str(folder), "bough")
    assert file.exists()
    file.write_bytes(file.read_bytes()[:-50])
    code, out, errors = shell.run("import", file)
    assert (code, out, "50 bytes are missing" in errors) == (1, "", True)
    assert list((shell.places.data / "fetching").iterdir()) == []
    (tmp_path / "many").mkdir()
    write_llama(tmp_path / "many" / "a.gguf")
    (tmp_path / "many" / "b.gguf").write_bytes(b"GGUF" + b"\xff" * 100)
    code, out, errors = shell.run("import", tmp_path / "many", "--json")
    assert (code, [model["name"] for model in json.loads(out)]) == (1, [str(shell.places.models / "a")])
    assert "b.gguf" in errors


def test_check_finds_damage(shell: Shell):
    cache = shell.home / ".cache" / "huggingface" / "hub"
    snapshot = write_hub_model(cache, "owner/a", write_random_llama(shell.home / "x", byte_level_tokenizer()))
    weights = (snapshot / "model.safetensors").resolve()
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    code, out, errors = shell.run("check", "owner/a")
    assert (code, out) == (1, "")
    assert f"{weights} is damaged" in errors
    assert "There is no model" in shell.run("check", "owner/b")[2]


def test_check_of_a_gguf_file(shell: Shell, tmp_path: Path):
    file = tmp_path / "a.gguf"
    file.write_bytes(gguf_bytes())
    assert shell.run("check", file) == (0, "a: The file's header can be read.\n", "")
    file.write_bytes(gguf_bytes()[:-20])
    assert "20 bytes are missing" in shell.run("check", file)[2]


def test_remove(shell: Shell, tmp_path: Path):
    own = write_model(shell.places.models / "owner" / "one")
    other = write_model(tmp_path / "other" / "two")
    assert "add --yes" in shell.run("remove", "one")[2]
    assert own.exists()
    freed = shell.json("remove", "one", "--yes")["freed_bytes"]
    assert freed > 0
    assert not own.exists()
    for part in (1, 2):
        (shell.places.models / f"split-{part:05}-of-00002.gguf").write_bytes(gguf_bytes())
    assert shell.json("remove", "split", "--yes")["freed_bytes"] == 2 * len(gguf_bytes())
    assert list(shell.places.models.glob("*.gguf")) == []
    code, out, errors = shell.run("remove", other, "--yes")
    assert (code, out) == (1, "")
    assert "another program" in errors
    assert other.exists()


def test_a_name_that_several_models_have(shell: Shell):
    for owner in ("a", "b"):
        write_model(shell.places.models / owner / "same")
    errors = shell.run("check", "same")[2]
    assert "names 2 models" in errors


def test_ctrl_c_keeps_what_has_come(shell: Shell, hub: WatchedHub):
    put_small_model(hub, shell.home / "x")
    hub.fail("GET /owner/little/model", Fault("stall", after_bytes=1 << 12))
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "models", "fetch", "owner/little", "--data-dir", str(shell.places.data)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert hub.was_asked.wait(60)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=500)
    assert (process.returncode, out) == (130, "")
    assert "goes on from there" in errors
    assert shell.json("list") == []
    assert shell.run("fetch", "owner/little")[0] == 0


def test_every_command_is_described():
    page = (ROOT / "docs" / "shell.md").read_text(encoding="utf-8")
    inner = inner_commands(inner_commands(parser())["models"])
    assert [name for name in inner if f"bough models {name}" not in page] == []


def inner_commands(made: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    return next(action.choices for action in made._actions if isinstance(action, argparse._SubParsersAction))  # pyright: ignore[reportPrivateUsage]
