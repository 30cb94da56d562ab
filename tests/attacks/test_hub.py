"""Hostile answers of the hub, met by the shell: models or a sentence, and no byte that acts on a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import huggingface_hub.constants
import pytest

from app.command_line import parser
from app.places import Places
from app.shell.models_command import run_models
from app.shell.terminal import FailedError, print_error
from tests.attacks.gguf_bytes import TEXT, Entry, raw_file
from tests.attacks.hub_answers import ESCAPES, QUICK, REPO, ROWS, WHOLE_PAGES, listing
from tests.hub_server import Fault, HubServer
from tests.long import in_long_runs
from tests.worker.gguf.files import write_llama
from worker.printable import printable


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    with HubServer() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


def _answer(hub: HubServer, pattern: str, body: bytes) -> None:
    hub.forget_faults()
    hub.fail(pattern, Fault("status", status=200, body=body), times=9)


def _run(capfd: pytest.CaptureFixture[str], places: Places, *arguments: str) -> tuple[int, str]:
    """Run a command; return its exit code and all that it printed, which acts on no terminal."""
    try:
        code = run_models(parser().parse_args(["models", *arguments]), places)
    except FailedError as error:
        print_error(str(error))
        code = 1
    out, errors = capfd.readouterr()
    assert printable(out) == out
    assert printable(errors) == errors
    assert len(errors) < 2000
    return code, out


def _download_all(hub: HubServer, rows: list[tuple[str, dict[str, Any]]], places: Places, capfd: Any) -> None:
    for _, row in rows:
        _answer(hub, f"GET /api/models/{REPO}", json.dumps(row).encode())
        # The file names no model, so nothing is downloaded when the description is good.
        code, _ = _run(capfd, places, "fetch", f"{REPO}:no.gguf")
        assert code == 1


@pytest.mark.parametrize(
    "rows", [QUICK, *in_long_runs([ROWS[:64], ROWS[64:]])], ids=["one of a kind", "numbers", "texts"]
)
def test_hostile_descriptions_are_listed_and_refused_in_words(
    rows: list[tuple[str, dict[str, Any]]], hub: HubServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    places = Places.under(tmp_path / "bough")
    _answer(hub, "GET /api/models", listing(rows))
    code, out = _run(capfd, places, "search", "x")
    assert code == 0
    # Each row has a name, so each is listed, even if everything else is wrong.
    assert len(out.splitlines()) == len(rows)
    assert max(map(len, out.splitlines())) < 500
    code, out = _run(capfd, places, "search", "x", "--json")
    assert len(json.loads(out)) == len(rows)
    _download_all(hub, rows, places, capfd)


@pytest.mark.parametrize(
    ("body", "code"),
    [pytest.param(body, 0 if name in {"names", "10,000 results"} else 1, id=name) for name, body in WHOLE_PAGES],
)
def test_hostile_pages_are_hits_or_a_sentence(
    body: bytes, code: int, hub: HubServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    _answer(hub, "GET /api/models", body)
    assert _run(capfd, Places.under(tmp_path / "bough"), "search", "x")[0] == code


@pytest.mark.long
def test_a_gguf_file_with_a_hostile_title_and_template_is_imported(
    hub: HubServer, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The template is only run when the model answers, within its limits."""
    places, path = Places.under(tmp_path / "bough"), write_llama(tmp_path / "x.gguf")
    endless = "{% for a in range(10**9) %}{% for b in range(10**9) %}x{% endfor %}{% endfor %}"
    file = raw_file(path).with_entry(Entry("general.name", TEXT, ESCAPES + "x" * 2**20))
    path.write_bytes(bytes(file.with_entry(Entry("tokenizer.chat_template", TEXT, endless))))
    assert _run(capfd, places, "import", str(path)) == (0, f"{places.models / 'x'}\n")
    code, out = _run(capfd, places, "list")
    assert code == 0
    assert len(out) < 1000
