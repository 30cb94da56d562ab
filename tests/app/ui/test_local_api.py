"""The local API of the window: its settings page, other programs that use its model, and the line about them."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot
from typing_extensions import override

from app.application import Application, Places
from app.local_api import LocalApi
from app.model.settings import LocalApiSettings, Settings, save_settings
from app.serving.relay import Relay
from app.serving.request_log import RequestLog
from app.ui.dialogs.docs_window import DocsWindow
from app.ui.parts.list_rows import DETAIL
from app.ui.settings.local_api_page import LocalApiPage
from app.ui.settings.settings_window import SettingsWindow
from tests.app.ui.conftest import User
from tests.driver import PATIENCE_S
from tests.later import openai
from tests.models import byte_level_tokenizer, write_scripted_model
from tests.waiting import PATIENCE_MS
from worker.models.folder import guide_path

pytestmark = pytest.mark.own_window

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessageParam

_EOS: int = json.loads((guide_path() / "config.json").read_bytes())["eos_token_id"]
_NEVER_ENDS = {str(_EOS): -100}


class _Keyring(KeyringBackend):
    """A keyring in memory."""

    priority = 1  # pyright: ignore[reportAssignmentType]

    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[tuple[str, str], str] = {}

    @override
    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    @override
    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Keyring]:
    monkeypatch.delenv("BOUGH_API_KEY", raising=False)
    before, used = keyring.get_keyring(), _Keyring()
    keyring.set_keyring(used)
    yield used
    keyring.set_keyring(before)


@pytest.fixture
def page(user: User) -> Iterator[LocalApiPage]:
    """The settings page, with a port that no program uses."""
    api = user.controller.program.local_api
    user.window.action("settings").trigger()
    settings = user.window.findChild(SettingsWindow)
    assert isinstance(settings, SettingsWindow)
    settings.show_page(settings.local_api)
    settings.local_api.port.setValue(_free_port())
    user.controller.program.preferences.change(local_api=LocalApiSettings(port=settings.local_api.port.value()))
    yield settings.local_api
    api.set_on(is_on=False)
    settings.close()


def _free_port() -> int:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return listener.getsockname()[1]


def _switched_on(user: User, page: LocalApiPage) -> LocalApi:
    page.switch.buttons[1].setFocus()
    user.bot.keyClick(page.switch.buttons[1], Qt.Key.Key_Space)
    api = user.controller.program.local_api
    user.bot.waitUntil(lambda: api.state in {"on", "failed"}, timeout=PATIENCE_MS)
    return api


def _client(api: LocalApi) -> openai.OpenAI:
    assert api.key is not None
    return openai.OpenAI(base_url=api.address, api_key=api.key.text, max_retries=0, timeout=PATIENCE_S)


class _Request(threading.Thread):
    """A streamed request in a thread of its own, as another program sends it."""

    def __init__(self, api: LocalApi, *, model: str = "guide", max_tokens: int = 20) -> None:
        super().__init__(daemon=True)
        self._client, self._model, self._max_tokens = _client(api), model, max_tokens
        self.text = ""
        self.failure: openai.APIError | None = None
        self.start()

    @override
    def run(self) -> None:
        try:
            with (
                self._client,
                self._client.chat.completions.create(
                    model=self._model,
                    messages=[{"role": "user", "content": "How do I fork a message?"}],
                    max_tokens=self._max_tokens,
                    logit_bias=_NEVER_ENDS,
                    stream=True,
                ) as chunks,
            ):
                for chunk in chunks:
                    self.text += (chunk.choices[0].delta.content or "") if chunk.choices else ""
        except openai.APIError as error:
            self.failure = error


def _wait_for(user: User, request: _Request) -> _Request:
    user.bot.waitUntil(lambda: not request.is_alive(), timeout=PATIENCE_MS)
    return request


def test_the_switch_serves_other_programs_with_the_windows_model(
    user: User, page: LocalApiPage, kept: _Keyring
) -> None:
    assert page.isVisible()
    assert not page.port.isVisible()
    api = _switched_on(user, page)
    assert api.state == "on"
    assert page.address.text() == f"http://127.0.0.1:{page.port.value()}/v1"
    request = _wait_for(user, _Request(api))
    assert request.failure is None
    assert request.text
    # The window's own answers go on as before.
    assert user.ask("How do I fork a message?").text

    key = api.key
    assert key is not None
    assert key.source == "keyring"
    assert list(kept.kept.values()) == [key.text]
    user.bot.mouseClick(page.copy_key, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == key.text
    assert key.text not in page.key.text()
    user.bot.mouseClick(page.show_key, Qt.MouseButton.LeftButton)
    assert page.key.text() == key.text
    preferences = user.controller.program.preferences
    preferences.save()
    assert key.text not in (preferences.folder / "settings.json").read_text()

    old = _client(api)
    user.bot.mouseClick(page.new_key, Qt.MouseButton.LeftButton)
    user.bot.waitUntil(lambda: api.state == "on", timeout=PATIENCE_MS)
    assert list(kept.kept.values()) == [api.key.text if api.key else ""] != [key.text]
    with old, pytest.raises(openai.AuthenticationError):
        old.models.list()

    page.switch.buttons[0].click()
    assert not page.address.isVisible()
    user.bot.waitUntil(lambda: _is_free(page.port.value()), timeout=PATIENCE_MS)


def _is_free(port: int) -> bool:
    with contextlib.closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def test_a_port_in_use_is_a_sentence_at_the_switch_and_another_port_helps(user: User, page: LocalApiPage) -> None:
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as other:
        page.port.setValue(other.getsockname()[1])
        page.port.editingFinished.emit()
        page.switch.buttons[1].click()
        api = user.controller.program.local_api
        user.bot.waitUntil(lambda: api.state == "failed", timeout=PATIENCE_MS)
        assert "another program may have it" in page.state.text()
        assert not page.address.isVisible()
        page.port.setValue(_free_port())
        page.port.editingFinished.emit()
        user.bot.waitUntil(lambda: api.state == "on", timeout=PATIENCE_MS)
        assert not page.state.isVisible()


def test_a_request_wakes_an_unloaded_model_and_loads_no_other_one(user: User, page: LocalApiPage) -> None:
    api = _switched_on(user, page)
    user.application.session.unload()
    request = _wait_for(user, _Request(api))
    assert request.failure is None
    assert request.text
    assert user.application.session.state == "ready"
    refused = _wait_for(user, _Request(api, model="no-such-model"))
    assert isinstance(refused.failure, openai.NotFoundError)


def test_requests_fail_when_the_worker_dies_and_the_next_one_is_answered(user: User, page: LocalApiPage) -> None:
    api = _switched_on(user, page)
    request = _Request(api, max_tokens=100_000)
    user.bot.waitUntil(lambda: bool(request.text), timeout=PATIENCE_MS)
    pid = user.application.link.pid
    assert pid is not None
    os.kill(pid, 9)
    assert isinstance(_wait_for(user, request).failure, openai.APIError)
    user.bot.waitUntil(lambda: user.application.session.state == "ready", timeout=PATIENCE_MS)
    assert _wait_for(user, _Request(api)).text
    user.window.banner.dismiss()


def test_a_line_says_who_is_served_and_its_panel_stops_a_request(user: User, page: LocalApiPage) -> None:
    api = _switched_on(user, page)
    line = user.window.sidebar.serving_line
    assert line is not None
    assert not line.isVisible()
    one, other = (_Request(api, max_tokens=100_000) for _ in range(2))
    user.bot.waitUntil(lambda: len(api.served) == 2 and "tokens/s" in line.accessibleName(), timeout=PATIENCE_MS)
    assert line.isVisible()
    assert line.accessibleName().startswith("Serving OpenAI/Python · ")
    # The sidebar has no room for the speed, too.
    assert line.text() == "Serving OpenAI/Python"
    assert "tokens/s" in line.toolTip()
    user.bot.mouseClick(line, Qt.MouseButton.LeftButton)
    panel = line.panel
    assert panel is not None
    user.bot.waitUntil(lambda: all("written" in text for text in panel.texts), timeout=PATIENCE_MS)
    assert panel.texts[0].startswith("OpenAI/Python · guide\n")
    assert panel.stop_buttons[0].hasFocus()
    user.bot.keyClick(panel.stop_buttons[0], Qt.Key.Key_Space)
    user.bot.waitUntil(lambda: len(panel.stop_buttons) == 1, timeout=PATIENCE_MS)
    # The client reads the end of its stream a little later.
    user.bot.waitUntil(lambda: not (one.is_alive() and other.is_alive()), timeout=PATIENCE_MS)
    assert one.is_alive() or other.is_alive()
    # The panel of one request has no button for all of them.
    assert [button.text() for button in panel.findChildren(QPushButton) if button.isVisible()] == ["Stop"]
    api.stop_all()
    for request in (one, other):
        assert _wait_for(user, request).text
    user.bot.waitUntil(lambda: not line.isVisible(), timeout=PATIENCE_MS)
    assert line.panel is None or not line.panel.isVisible()


def test_serving_keeps_an_idle_model_loaded(user: User, page: LocalApiPage) -> None:
    api = _switched_on(user, page)
    program = user.controller.program
    program.set_unload_after(1)
    request = _Request(api, max_tokens=100_000)
    user.bot.waitUntil(lambda: bool(request.text), timeout=PATIENCE_MS)
    # As if the minute were over.
    program.idle_unloading.timer.timeout.emit()
    assert user.application.session.state == "ready"
    api.stop_all()
    _wait_for(user, request)
    program.set_unload_after(0)


def test_requests_are_kept_as_a_conversation_that_grows_without_moving_the_window(
    user: User, page: LocalApiPage
) -> None:
    api = _switched_on(user, page)
    assert page.keeping.chosen == 0
    page.keeping.buttons[1].setFocus()
    user.bot.keyClick(page.keeping.buttons[1], Qt.Key.Key_Space)
    assert user.controller.program.settings.local_api.keeps_requests
    shown = user.controller.shown
    conversations = user.controller.program.conversations
    first = _chat(user, api, [{"role": "user", "content": "How do I fork a message?"}])
    num_others = len(conversations.all) - 1
    kept = conversations.all[0]
    assert (kept.name, kept.folder) == ("OpenAI/Python: How do I fork a message?", "Local API")
    assert shown.conversation is None

    shown.open_conversation(kept.id)
    assert [message.text for message in shown.path] == ["", "How do I fork a message?", first]
    session: list[ChatCompletionMessageParam] = [
        {"role": "user", "content": "How do I fork a message?"},
        {"role": "assistant", "content": first.strip()},
        {"role": "user", "content": "And how do I edit one?"},
    ]
    second = _chat(user, api, session)
    assert [message.text for message in shown.path][3:] == ["And how do I edit one?", second]
    # A request that differs from the conversation makes a branch, and the window still shows the old branch.
    _chat(user, api, [*session[:2], {"role": "user", "content": "How do I search?"}])
    assert [message.text for message in shown.path][4] == second
    question = shown.path[3]
    assert len(shown.siblings(question.id)) == 2
    assert len(conversations.all) == num_others + 1

    # An answer that the user asks for there has the same prompt, which was read before.
    answer = shown.path[4]
    user.controller.regenerate(answer.id)
    user.bot.waitUntil(lambda: shown.streaming_message is None, timeout=PATIENCE_MS)
    again = shown.path[4]
    assert again.id != answer.id
    assert again.record is not None
    assert answer.record is not None
    assert again.record.figures.prompt_tokens == answer.record.figures.prompt_tokens
    assert again.record.figures.read_tokens <= 1
    assert again.record.sampling == answer.record.sampling
    # The same is true for a request that continues the conversation.
    user.controller.continue_answer(again.id)
    user.bot.waitUntil(lambda: shown.streaming_message is None, timeout=PATIENCE_MS)
    longer = shown.path[4]
    assert longer.text.startswith(again.text)
    assert len(longer.text) > len(again.text)
    assert longer.record is not None
    assert longer.record.figures.read_tokens <= 1


def test_the_page_lists_the_last_requests_and_why_something_was_read_again(user: User, page: LocalApiPage) -> None:
    api = _switched_on(user, page)
    page.advanced.button.click()
    page.advanced.aliases.setPlainText("gpt-*")
    page.advanced.rules.setPlainText("(")
    page.advanced.apply.click()
    assert page.advanced.problem.isVisible()
    assert "not a regular expression" in page.advanced.problem.text()
    assert user.controller.program.settings.local_api.aliases == ()
    page.advanced.rules.setPlainText(r"Today is .*\. ")
    user.bot.keyClick(page.advanced.apply, Qt.Key.Key_Space)
    user.bot.waitUntil(lambda: api.state == "on", timeout=PATIENCE_MS)
    assert not page.advanced.problem.isVisible()
    assert not page.advanced.apply.isVisible()

    for day, prompt in (("Monday", "Be brief."), ("Tuesday", "Be brief."), ("Tuesday", "Be long.")):
        messages: list[ChatCompletionMessageParam] = [
            {"role": "system", "content": f"Today is {day}. {prompt}"},
            {"role": "user", "content": "How do I fork a message?"},
        ]
        # The request is listed a moment after its answer has come.
        with user.bot.waitSignal(api.logged, timeout=PATIENCE_MS):
            _ask(user, api, messages, model="gpt-5")
        user.bot.waitUntil(lambda: not api.served, timeout=PATIENCE_MS)
    rows = [page.requests.item(number) for number in range(3)]
    assert all("OpenAI/Python · guide" in row.text() for row in rows)
    assert [row.data(DETAIL).startswith("system text changed · ") for row in rows] == [True, False, False]
    assert " 0 kept" not in rows[1].data(DETAIL)
    assert "The system text had changed since the last request" in rows[0].toolTip()
    assert r"Left out of the request by your rule: Today is .*\. " in rows[0].toolTip()
    assert page.requests.accessibleName() == "Last requests"
    # They are there at the next start, too.
    path = user.controller.program.models_folder.parent / "served-requests.jsonl"
    assert RequestLog(path).requests == api.log.requests
    assert path.stat().st_mode & 0o077 == 0


def test_the_page_shows_how_programs_connect(user: User, page: LocalApiPage) -> None:
    page.guide.click()
    guide = page.findChild(DocsWindow)
    assert isinstance(guide, DocsWindow)
    # A long text is written in slices.
    user.bot.waitUntil(lambda: "Access" in guide.text.toPlainText().splitlines(), timeout=PATIENCE_MS)
    guide.close_button.click()


def test_a_folded_sidebar_leaves_a_mark_of_served_programs_in_the_header(user: User, page: LocalApiPage) -> None:
    api = _switched_on(user, page)
    request = _Request(api, max_tokens=100_000)
    user.bot.waitUntil(lambda: bool(request.text), timeout=PATIENCE_MS)
    mark = user.window.header.serving_mark
    assert mark is not None
    assert not mark.isVisible()
    user.window.action("sidebar").trigger()
    assert mark.isVisible()
    assert mark.accessibleName().startswith("Serving OpenAI/Python")
    user.bot.mouseClick(mark, Qt.MouseButton.LeftButton)
    assert mark.panel is not None
    user.bot.keyClick(mark.panel.stop_buttons[0], Qt.Key.Key_Space)
    assert _wait_for(user, request).text
    user.bot.waitUntil(lambda: not mark.isVisible(), timeout=PATIENCE_MS)
    user.window.action("sidebar").trigger()


def test_other_computers_may_connect_only_if_the_user_says_so(user: User, page: LocalApiPage) -> None:
    api = _switched_on(user, page)
    assert page.switch.buttons[1].accessibleDescription().startswith("Only programs on this computer")
    assert not page.network_address.isVisible()
    page.advanced.button.click()
    assert "not encrypted" in page.advanced.network.buttons[1].accessibleDescription()
    user.bot.keyClick(page.advanced.network.buttons[1], Qt.Key.Key_Space)
    user.bot.waitUntil(lambda: api.state == "on", timeout=PATIENCE_MS)
    assert page.switch.buttons[1].accessibleDescription().endswith("also from other computers.")
    assert page.network_address.text() == api.network_address
    assert page.address.text() == f"http://127.0.0.1:{page.port.value()}/v1"
    if api.network_address:
        # Also from there only with the key.
        place = urlsplit(api.network_address)
        with contextlib.closing(HTTPConnection(place.hostname or "", place.port, timeout=PATIENCE_S)) as stranger:
            stranger.request("GET", "/v1/models", headers={"Authorization": "Bearer wrong"})
            assert stranger.getresponse().status == 401
    page.advanced.network.buttons[0].click()
    user.bot.waitUntil(lambda: api.state == "on", timeout=PATIENCE_MS)
    assert not page.network_address.isVisible()


def test_an_allowed_request_loads_another_model(user: User, page: LocalApiPage, tmp_path: Path) -> None:
    model = write_scripted_model(tmp_path / "models" / "other", byte_level_tokenizer(), {})
    program = user.controller.program
    program.preferences.change(model_folders=(str(model.parent),))
    api = _switched_on(user, page)
    refused = _wait_for(user, _Request(api, model=str(model)))
    assert isinstance(refused.failure, openai.NotFoundError)
    assert "Local API" in str(refused.failure)
    user.bot.keyClick(page.models.buttons[1], Qt.Key.Key_Space)
    assert _wait_for(user, _Request(api, model=str(model))).failure is None
    assert user.application.session.name == str(model)
    # And the one before, by its name.
    assert _wait_for(user, _Request(api)).text
    assert user.application.session.name == "guide"
    program.preferences.change(model_folders=())


def test_a_start_with_the_switch_on_serves_at_once_also_without_a_keyring(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path
) -> None:
    assert qapp
    keyring.set_keyring(NoKeyring())
    settings = Settings(local_api=LocalApiSettings(is_on=True, port=_free_port()))
    save_settings(tmp_path / "settings.json", settings)
    application = Application(Places.under(tmp_path))
    try:
        application.window.show()
        api = application.controller.program.local_api
        qtbot.waitUntil(lambda: api.state == "on", timeout=PATIENCE_MS)
        assert api.address == f"http://127.0.0.1:{settings.local_api.port}/v1"
        api.set_on(is_on=True)
        qtbot.waitUntil(lambda: api.state == "on", timeout=PATIENCE_MS)
        assert api.key is not None
        assert api.key.source == "made"
        assert not (tmp_path / "api-key-is-kept").exists()
        application.window.action("settings").trigger()
        window = application.window.findChild(SettingsWindow)
        assert isinstance(window, SettingsWindow)
        texts = [label.text() for label in window.local_api.findChildren(QLabel)]
        assert any("keyring can't be used" in text for text in texts)
        window.close()
    finally:
        application.window.close()
        application.close()
        application.window.deleteLater()
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)


def _in_thread(user: User, act: Callable[[], None]) -> None:
    """Let another program act while the window keeps running."""
    thread = threading.Thread(target=act, daemon=True)
    thread.start()
    user.bot.waitUntil(lambda: not thread.is_alive(), timeout=PATIENCE_MS)


def _chat(user: User, api: LocalApi, messages: list[ChatCompletionMessageParam]) -> str:
    """Send a request as another program does, and wait until it is kept."""
    with user.bot.waitSignal(user.controller.program.conversations.changed, timeout=PATIENCE_MS):
        return _ask(user, api, messages)


def _ask(user: User, api: LocalApi, messages: list[ChatCompletionMessageParam], model: str = "guide") -> str:
    texts: list[str | None] = []

    def ask() -> None:
        with _client(api) as client:
            reply = client.chat.completions.create(model=model, messages=messages, max_tokens=12, temperature=0)
            texts.append(reply.choices[0].message.content)

    _in_thread(user, ask)
    return texts[0] or ""


def test_an_unresponsive_server_process_is_reported_and_ends_at_once(user: User, page: LocalApiPage) -> None:
    api = _switched_on(user, page)
    notices = user.controller.program.notices

    def is_said() -> bool:
        return any("process does not respond" in notice.text for notice in notices.lasting)

    for is_continued in (True, False):
        (process,) = [one for one in multiprocessing.active_children() if one.name == "bough-server"]
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        user.bot.waitUntil(is_said, timeout=PATIENCE_MS)
        if is_continued:
            os.kill(process.pid, signal.SIGCONT)
            user.bot.waitUntil(lambda: not is_said(), timeout=PATIENCE_MS)
    # As the notice says: off and on again.
    api.set_on(is_on=False)
    user.bot.waitUntil(lambda: not is_said(), timeout=PATIENCE_MS)
    api.set_on(is_on=True)
    user.bot.waitUntil(lambda: api.state == "on", timeout=PATIENCE_MS)
    assert _wait_for(user, _Request(api)).text


def test_switched_on_while_the_process_before_still_ends_it_waits_for_the_port(
    user: User, page: LocalApiPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    api, may_end, order = _switched_on(user, page), threading.Event(), list[str]()
    stop = Relay.stop

    def stop_later(relay: Relay) -> None:
        may_end.wait()
        stop(relay)
        order.append("stopped")

    monkeypatch.setattr(Relay, "stop", stop_later)
    api._prepared.connect(lambda: order.append("prepared"))  # pyright: ignore[reportPrivateUsage]
    api.set_on(is_on=False)
    api.set_on(is_on=True)
    assert api.state == "starting"
    may_end.set()
    user.bot.waitUntil(lambda: api.state == "on", timeout=PATIENCE_MS)
    assert order == ["stopped", "prepared"]
    assert _wait_for(user, _Request(api)).text
