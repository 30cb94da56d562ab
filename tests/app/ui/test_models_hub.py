"""The Models window and a hub on loopback: searched, downloaded with a real process, and chatted with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import huggingface_hub.constants
import keyring.backends.fail
import keyring.core
import pytest
from PySide6.QtCore import Qt
from tokenizers import Tokenizer

from app.catalog.entry import RemoteModel
from app.model.message import Sampling
from app.notices import ChatWith, OpenModels
from app.ui.models.models_window import ModelsWindow
from tests.app.sampling import set_sampling
from tests.app.ui.conftest import User
from tests.attacks.hub_answers import QUICK, WHOLE_PAGES, listing
from tests.hub_server import Fault, HubServer, Repository
from tests.models import write_random_llama
from tests.waiting import PATIENCE_MS
from worker.printable import printable

pytestmark = pytest.mark.own_window


@pytest.fixture(scope="module", autouse=True)
def hub(tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Iterator[HubServer]:
    """A hub with a model in MLX format, and one that its owner guards. It is there before Bough starts."""
    folder = write_random_llama(tmp_path_factory.mktemp("uploaded") / "model", byte_level)
    files: dict[str, bytes | Path] = {file.name: file for file in folder.iterdir()}
    with HubServer() as server, pytest.MonkeyPatch.context() as patch:
        patch.delenv("HF_HUB_OFFLINE")
        patch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
        patch.setenv("HF_HOME", str(tmp_path_factory.mktemp("huggingface")))
        patch.setenv("HF_ENDPOINT", server.url)
        patch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
        tags = ("mlx", "text-generation", "license:apache-2.0")
        server.add(Repository("mlx-community/Tiny-1B-4bit", files, tags, downloads=900))
        server.add(Repository("mlx-community/Guarded-1B-4bit", files, tags, downloads=100, gated="manual"))
        yield server


def _uploaded(hub: HubServer) -> tuple[Mapping[str, bytes | Path], tuple[str, ...]]:
    """Return the files and the tags of the first repository."""
    first = next(iter(hub.repositories.values()))
    return first.files, first.tags


@pytest.fixture
def window(user: User) -> Iterator[ModelsWindow]:
    user.window.action("models").trigger()
    opened = user.window.findChild(ModelsWindow)
    assert isinstance(opened, ModelsWindow)
    yield opened
    for transfer in user.controller.program.supply.transfers.all:
        user.controller.program.supply.transfers.cancel(transfer.key)


def _search(user: User, window: ModelsWindow, words: str) -> None:
    window.field.clear()
    user.bot.keyClicks(window.field, words)
    search = user.controller.program.supply.hub_search
    user.bot.waitUntil(lambda: not search.is_searching, timeout=PATIENCE_MS)


def _choose(user: User, window: ModelsWindow, key: str) -> None:
    window.list.choose_next(key)
    user.bot.waitUntil(lambda: window.page.entry is not None and window.page.entry.key == key, timeout=PATIENCE_MS)


def test_a_model_is_found_downloaded_and_chatted_with(user: User, window: ModelsWindow, hub: HubServer) -> None:
    _search(user, window, "tiny")
    key = "hub:mlx-community/Tiny-1B-4bit"
    _choose(user, window, key)
    user.bot.waitUntil(lambda: bool(window.page.entry and window.page.entry.variants), timeout=PATIENCE_MS)
    assert window.page.facts.shown["Licence"] == "apache-2.0"
    assert window.page.main_button.text() == "Download"
    user.bot.keyClick(window.field, Qt.Key.Key_Return)
    user.bot.waitUntil(lambda: window.list.chosen_key == "local:mlx-community/Tiny-1B-4bit", timeout=PATIENCE_MS)
    # It is listed once, though the hub still has it.
    assert [row.title for row in window.list.rows if row.key] == ["Tiny-1B-4bit"]
    assert window.page.main_button.text() == "Start a chat"
    window.page.main_button.click()
    set_sampling(user.controller.program, Sampling(temperature=0.0, max_tokens=8))
    assert user.ask("Hello").state in {"complete", "cut"}
    assert user.application.session.name == "mlx-community/Tiny-1B-4bit"
    user.controller.program.load_model("guide")


def test_a_guarded_model_asks_for_a_token_which_is_sent_and_not_shown(
    user: User, window: ModelsWindow, hub: HubServer
) -> None:
    _search(user, window, "guarded")
    _choose(user, window, "hub:mlx-community/Guarded-1B-4bit")
    user.bot.waitUntil(lambda: bool(window.page.entry and window.page.entry.variants), timeout=PATIENCE_MS)
    user.bot.mouseClick(window.page.main_button, Qt.MouseButton.LeftButton)
    user.bot.waitUntil(window.page.token.isVisible, timeout=PATIENCE_MS)
    assert "ask for access" in window.page.problem.text()
    user.bot.keyClicks(window.page.token.field, hub.token)
    user.bot.keyClick(window.page.token.field, Qt.Key.Key_Return)
    assert window.page.token.field.text() == ""
    user.bot.waitUntil(lambda: window.list.chosen_key == "local:mlx-community/Guarded-1B-4bit", timeout=PATIENCE_MS)
    last = hub.requests_of("GET .*Guarded.*resolve")[-1]
    assert f"Bearer {hub.token}" in last.headers.values()


def test_without_a_keyring_the_token_is_used_until_bough_ends(
    user: User, window: ModelsWindow, hub: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.add(Repository("mlx-community/Locked-1B-4bit", *_uploaded(hub), gated="manual"))
    monkeypatch.setattr(keyring.core, "_keyring_backend", keyring.backends.fail.Keyring())
    program = user.controller.program
    program.supply.hub_search.enter_token("hf_wrong")
    user.bot.waitSignal(program.supply.hub_search.token_answered, timeout=PATIENCE_MS).wait()
    _choose(user, window, program.supply.transfers.download(RemoteModel(repo="mlx-community/Locked-1B-4bit")))
    user.bot.waitUntil(window.page.token.isVisible, timeout=PATIENCE_MS)
    window.page.token.field.setText(hub.token)
    said: list[str] = []

    def note(why: object, _is_used: bool) -> None:
        said.append(str(why))

    program.supply.hub_search.token_answered.connect(note)
    window.page.token.button.click()
    user.bot.waitUntil(lambda: window.list.chosen_key == "local:mlx-community/Locked-1B-4bit", timeout=PATIENCE_MS)
    assert "until Bough ends" in said[0]


def test_a_listed_model_that_is_gone_is_hidden_and_reported(user: User, window: ModelsWindow) -> None:
    window.field.clear()
    key = next(row.key for row in window.list.rows if row.key.startswith("hub:"))
    _choose(user, window, key)
    # The model that takes its place is gone, too, so the name in the sentence changes.
    user.bot.waitUntil(lambda: "no longer on the hub" in window.status.text(), timeout=PATIENCE_MS)
    assert key not in {row.key for row in window.list.rows}


def test_a_failed_search_says_why_and_can_be_repeated(user: User, window: ModelsWindow, hub: HubServer) -> None:
    hub.fail("GET /api/models", Fault("status"), times=10)
    _search(user, window, "tin")
    assert "has a problem" in window.status.text()
    hub.forget_faults()
    window.again_button.click()
    search = user.controller.program.supply.hub_search
    user.bot.waitUntil(lambda: not search.is_searching, timeout=PATIENCE_MS)
    assert window.status.text() == ""


def test_two_windows_follow_one_download_while_a_model_loads(user: User, window: ModelsWindow, hub: HubServer) -> None:
    hub.add(Repository("mlx-community/Slow-1B-4bit", *_uploaded(hub)))
    program, session = user.controller.program, user.application.session
    second = user.application.windows.open(None)
    second.action("models").trigger()
    other = second.findChild(ModelsWindow)
    assert isinstance(other, ModelsWindow)
    hub.bytes_per_s = 5_000
    key = program.supply.transfers.download(RemoteModel(repo="mlx-community/Slow-1B-4bit", title="Slow-1B-4bit"))
    for each in (window, other):
        _choose(user, each, key)
    user.bot.waitUntil(lambda: program.supply.transfers.all[0].phase == "downloading", timeout=PATIENCE_MS)
    program.load_model("guide")
    other.page.requested.emit("pause")
    user.bot.waitUntil(lambda: window.page.main_button.text() == "Resume", timeout=PATIENCE_MS)
    user.bot.waitUntil(lambda: session.state == "ready", timeout=PATIENCE_MS)
    hub.bytes_per_s = None
    window.page.main_button.click()
    landed = "local:mlx-community/Slow-1B-4bit"
    user.bot.waitUntil(
        lambda: all(landed in {row.key for row in each.list.rows} for each in (window, other)), timeout=PATIENCE_MS
    )
    assert not program.supply.transfers.all
    second.close()


def test_a_closed_models_window_leaves_the_news_to_the_banner(user: User, window: ModelsWindow, hub: HubServer) -> None:
    hub.add(Repository("mlx-community/Late-1B-4bit", *_uploaded(hub)))
    program, banner = user.controller.program, user.window.banner
    window.close()
    user.bot.waitUntil(lambda: user.window.findChild(ModelsWindow) is None, timeout=PATIENCE_MS)
    gone = program.supply.transfers.download(RemoteModel(repo="mlx-community/Nothing-1B", title="Nothing-1B"))
    user.bot.waitUntil(lambda: isinstance(banner.action, OpenModels), timeout=PATIENCE_MS)
    assert "Nothing-1B could not be downloaded or converted: mlx-community/Nothing-1B is not on" in banner.label.text()
    program.supply.transfers.cancel(gone)
    user.bot.waitUntil(banner.isHidden, timeout=PATIENCE_MS)
    program.supply.transfers.download(RemoteModel(repo="mlx-community/Late-1B-4bit", title="Late-1B-4bit"))
    user.bot.waitUntil(lambda: banner.action == ChatWith("mlx-community/Late-1B-4bit"), timeout=PATIENCE_MS)
    assert banner.label.text() == "Late-1B-4bit can be used now."
    user.window.action("models").trigger()
    assert banner.isHidden()


def _wait_for_details(user: User, repo: str) -> None:
    search = user.controller.program.supply.hub_search
    user.bot.waitUntil(lambda: search.known_details(repo) is not None, timeout=PATIENCE_MS)


def test_hostile_answers_are_shown_in_lines_that_do_nothing(
    user: User, window: ModelsWindow, hub: HubServer, caplog: pytest.LogCaptureFixture
) -> None:
    hub.fail(r"GET /api/models\?.*search", Fault("status", status=200, body=listing(QUICK)), times=3)
    _search(user, window, "hostile")
    keys = [row.key for row in window.list.rows if row.key]
    assert len(keys) == len(QUICK)
    for (_, row), key in zip(QUICK, keys, strict=True):
        repo = key.removeprefix("hub:")
        described = json.dumps({**row, "id": repo}).encode()
        hub.fail(f"GET /api/models/{repo}", Fault("status", status=200, body=described))
        _choose(user, window, key)
        _wait_for_details(user, repo)
        texts = [window.page.title.text(), window.page.problem.text(), *window.page.facts.shown.values()]
        texts += [text for shown in window.list.rows for text in (shown.title, shown.detail, shown.word)]
        assert all(printable(text) == text and len(text) < 500 for text in texts)
    assert not window.grab().isNull()
    assert not caplog.records


def test_ten_thousand_hits_are_listed(user: User, window: ModelsWindow, hub: HubServer) -> None:
    hub.fail(
        r"GET /api/models\?.*search", Fault("status", status=200, body=dict(WHOLE_PAGES)["10,000 results"]), times=3
    )
    _search(user, window, "many")
    assert len(window.list.rows) > 30
    assert not window.grab().isNull()
