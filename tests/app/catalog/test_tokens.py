"""The user's access token: where it is found, where it is kept, and where it never appears."""

from __future__ import annotations

import logging
from pathlib import Path

import keyring
import pytest

from app.catalog.hub import Hub
from app.catalog.tokens import TokenError, Tokens
from tests.app.catalog.conftest import Desk, MemoryKeyring
from tests.app.catalog.test_hub import FILES, MLX
from tests.hub_server import Fault, HubServer, Repository

HUB = "https://huggingface.co"


def test_a_typed_token_is_kept_in_the_keyring() -> None:
    kept = MemoryKeyring()
    keyring.set_keyring(kept)
    assert Tokens(HUB).enter(" hf_typed\n") is None
    assert kept.kept == {("Bough", "huggingface.co"): "hf_typed"}
    assert (Tokens(HUB).token, Tokens(HUB).source) == ("hf_typed", "typed")
    # A token of one hub is not sent to another.
    assert Tokens("https://hub.example").token is None
    Tokens(HUB).forget()
    assert kept.kept == {}
    assert Tokens(HUB).token is None


def test_without_a_keyring_a_token_is_kept_until_bough_ends() -> None:
    tokens = Tokens(HUB)
    assert "only until Bough ends" in str(tokens.enter("hf_typed"))
    assert tokens.token == "hf_typed"
    assert Tokens(HUB).token is None
    tokens.forget()
    assert tokens.token is None


@pytest.mark.parametrize("text", ["", "  ", "hf_with space", "hf_ä", "hf_a\nb", "x" * 2000])
def test_a_text_that_cannot_be_a_token_is_refused(text: str) -> None:
    with pytest.raises(TokenError):
        Tokens(HUB).enter(text)


def test_the_environment_and_a_login_are_respected(
    hub_server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub_server.add(Repository("someone/private", FILES, MLX, is_private=True))
    hub = Hub(hub_server.url)
    assert hub.tokens.source == "none"
    (tmp_path / "huggingface").mkdir()
    (tmp_path / "huggingface/token").write_text(hub_server.token)
    assert hub.tokens.source == "login"
    assert hub.details("someone/private")
    (tmp_path / "huggingface/token").unlink()
    hub.tokens.enter("hf_wrong")
    monkeypatch.setenv("HF_TOKEN", hub_server.token)
    assert hub.tokens.source == "environment"
    assert hub.details("someone/private")
    assert not (tmp_path / "huggingface/token").exists()


def test_a_typed_token_appears_nowhere(
    desk: Desk,
    hub_server: HubServer,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    repository = hub_server.add(Repository("someone/private", FILES, MLX, is_private=True))
    desk.hub.tokens.enter(hub_server.token)
    hub_server.fail("GET /someone/private/model", Fault("stall", 3))
    (model,) = desk.hub.details(repository.id)
    download = desk.queue.add(model)
    desk.wait_until(lambda: hub_server.requests_of("GET /someone/private/model") != [])
    arguments = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert desk.end_of(download.id).state == "landed"
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    seen = [*arguments, *files, caplog.text.encode(), "".join(capfd.readouterr()).encode()]
    assert [text for text in seen if hub_server.token.encode() in text] == []
    assert all(hub_server.token not in request.path for request in hub_server.requests)


def test_a_keyring_without_bough_s_token_is_not_asked(tmp_path: Path) -> None:
    kept = MemoryKeyring()
    keyring.set_keyring(kept)
    kept.kept["Bough", "huggingface.co"] = "hf_of_another_time"
    note = tmp_path / "bough" / "note"
    assert Tokens(HUB, note).token is None
    Tokens(HUB, note).enter("hf_typed")
    assert Tokens(HUB, note).token == "hf_typed"
    assert note.read_bytes() == b""
