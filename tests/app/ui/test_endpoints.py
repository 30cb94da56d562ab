"""The real window with models of a real HTTP server beside the guide. It runs about four seconds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QMessageBox

from app.answers.sessions import GUIDE
from app.model.endpoints import Endpoint, EndpointModel
from app.ui.message.message_action import MessageAction, row_actions
from app.ui.models.endpoint_window import EndpointWindow
from app.ui.models.models_window import ModelsWindow
from tests.app.catalog.conftest import MemoryKeyring
from tests.app.ui.conftest import User
from tests.endpoint_server import EndpointServer, Fault, Script
from tests.waiting import PATIENCE_MS

pytestmark = pytest.mark.own_window

_KEY = "sesame-0451-never-in-a-file"
_TEXT = "".join(Script().pieces)


@pytest.fixture(autouse=True)
def keys() -> Iterator[MemoryKeyring]:
    before, own = keyring.get_keyring(), MemoryKeyring()
    keyring.set_keyring(own)
    yield own
    keyring.set_keyring(before)


@pytest.fixture
def server() -> Iterator[EndpointServer]:
    with EndpointServer({"org/large": Script(), "small": Script(pieces=("Small", "."))}, key=_KEY) as started:
        yield started


@pytest.fixture
def added(user: User, server: EndpointServer) -> Iterator[Endpoint]:
    """The server, added through the window."""
    form = _form(user)
    form.address.setText(server.url.removesuffix("/v1"))
    form.key.setText(_KEY)
    form.name.setText("Large machine")
    models = user.window.findChild(ModelsWindow)
    assert models is not None
    form.check()
    program = user.controller.program
    user.bot.waitUntil(lambda: len(program.settings.endpoints) == 1, timeout=PATIENCE_MS)
    yield program.settings.endpoints[0]
    for endpoint in program.settings.endpoints:
        program.remove_endpoint(endpoint)
    user.controller.shown.new_conversation()
    program.load_model(GUIDE)
    user.bot.waitUntil(lambda: program.session.name == GUIDE and program.session.state == "ready", timeout=PATIENCE_MS)


def _form(user: User) -> EndpointWindow:
    user.window.action("models").trigger()
    models = user.window.findChild(ModelsWindow)
    assert models is not None
    return models.open_endpoint()


def _name(endpoint: Endpoint, model: str) -> str:
    return EndpointModel(endpoint.id, model).name


def _chat(user: User, name: str) -> None:
    user.controller.chat_with(name)
    session = user.controller.program.session
    user.bot.waitUntil(lambda: session.name == name and session.state == "ready", timeout=PATIENCE_MS)


def _answer_question(user: User, label: str) -> list[str]:
    """Press a button of the next question as soon as it opens. Return its text, once it has opened."""
    asked: list[str] = []

    def press() -> None:
        box = next((top for top in QApplication.topLevelWidgets() if top.objectName() == "send_to_server"), None)
        if isinstance(box, QMessageBox) and box.isVisible():
            asked.append(box.text())
            next(button for button in box.buttons() if button.text() == label).click()
        else:
            QTimer.singleShot(10, user.window, press)

    QTimer.singleShot(0, user.window, press)
    return asked


def test_a_server_is_added_and_its_model_answers(user: User, server: EndpointServer, added: Endpoint) -> None:
    assert (added.name, added.models) == ("Large machine", ("org/large", "small"))
    models = user.window.findChild(ModelsWindow)
    assert models is not None
    assert {"org/large", "small"} <= {entry.title for entry in models.entries.all}
    models.close()
    _chat(user, _name(added, "org/large"))
    assert added.host in user.window.composer.hosts.text()
    assert not user.window.composer.hosts.isHidden()
    answer = user.ask("What is a tree?")
    assert (answer.text, answer.state) == (_TEXT, "complete")
    assert answer.record is not None
    assert answer.record.model == _name(added, "org/large")
    assert user.controller.program.offered_models[-1] == _name(added, "small")
    # The prompt of the next turn begins like the one before, so that the server finds it in its cache.
    user.ask("And a forest?")
    first, second = (request.json["messages"] for request in server.requests_of("POST")[-2:])
    assert second[: len(first)] == first


def test_what_a_server_can_not_do_is_not_offered(user: User, added: Endpoint) -> None:
    _chat(user, _name(added, "small"))
    answer = user.ask("Hello")
    can_continue = user.controller.shown.can_continue(answer)
    assert not can_continue
    assert MessageAction.CONTINUE not in row_actions(answer, can_continue=can_continue, is_last=True)
    user.window.action("answer_format").trigger()
    from app.ui.composer.format_popover import FormatPopover

    popover = user.window.findChild(FormatPopover)
    assert popover is not None
    assert list(popover.kinds) == [None, "json_schema"]
    popover.close()
    # It is remembered while another model is loaded; of a model that was never used nothing is known.
    controller = user.controller
    controller.program.load_model(GUIDE)
    user.bot.waitUntil(lambda: controller.program.session.state == "ready", timeout=PATIENCE_MS)
    assert (controller.model.name, controller.model.state) == (_name(added, "small"), "unloaded")
    assert [controller.model.can(ability) for ability in ("json_schema", "continue")] == [True, False]
    controller.model.show(_name(added, "org/large"))
    assert not controller.model.can("json_schema")
    controller.model.show(GUIDE)
    assert controller.model.can("continue")


def test_a_local_conversation_is_sent_only_after_a_question(
    user: User, server: EndpointServer, added: Endpoint
) -> None:
    user.controller.chat_with(GUIDE)
    user.ask("What is a branch?")
    user.controller.choose_model(_name(added, "small"))
    num_before = len(server.requests_of("POST"))
    asked = _answer_question(user, "Don't send")
    user.type("Shorter, please")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    user.bot.waitUntil(lambda: bool(asked), timeout=PATIENCE_MS)
    assert added.host in asked[0]
    assert user.window.composer.text.content == "Shorter, please"
    assert len(server.requests_of("POST")) == num_before
    asked = _answer_question(user, "Send")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    user.bot.waitUntil(lambda: bool(asked), timeout=PATIENCE_MS)
    assert user.answer().text == "Small."
    # The question came once: no box answers it now, and nothing waits.
    assert user.ask("Thanks").text == "Small."


def test_a_server_and_a_model_of_this_machine_answer_one_question(user: User, added: Endpoint) -> None:
    user.controller.chat_with(GUIDE)
    user.ask("What is a branch?")
    answer = user.controller.shown.path[-1]
    asked = _answer_question(user, "Send")
    user.controller.regenerate_by(answer.id, _name(added, "org/large"))
    user.bot.waitUntil(lambda: bool(asked), timeout=PATIENCE_MS)
    second = user.answer()
    assert second.text == _TEXT
    program = user.controller.program
    assert (program.session.name, program.session.state) == (GUIDE, "ready")
    assert program.sessions.far.name == _name(added, "org/large")
    assert list(user.controller.shown.siblings(second.id)) == [answer.id, second.id]


def test_an_answer_that_is_cut_off_stays_and_says_why(user: User, server: EndpointServer, added: Endpoint) -> None:
    _chat(user, _name(added, "org/large"))
    server.fail("POST", Fault(end="cut", after_bytes=1200))
    answer = user.ask("Cut this")
    assert answer.state == "failed"
    assert answer.text
    assert _TEXT.startswith(answer.text)
    assert answer.record is not None
    assert answer.record.error is not None
    assert "The text so far is kept" in answer.record.error
    user.controller.regenerate(answer.id)
    assert user.answer().text == _TEXT


@pytest.mark.parametrize(
    ("address", "key", "why"),
    [
        ("nothing at all", "", "no address"),
        ("http://user:pass@host/v1", "", "as the key instead"),
        ("http://127.0.0.1:9/v1", "", "can't be reached"),
        ("SERVER", "wrong", "refused the key"),
        ("SERVER", "$NO_SUCH_VARIABLE_HERE", "is not set"),
    ],
)
def test_a_server_that_can_not_be_used_is_said(
    user: User, server: EndpointServer, address: str, key: str, why: str
) -> None:
    form = _form(user)
    form.address.setText(address.replace("SERVER", server.url))
    form.key.setText(key)
    form.check()
    user.bot.waitUntil(lambda: not form.is_working, timeout=PATIENCE_MS)
    assert why in form.note.text()
    assert not user.controller.program.settings.endpoints
    form.close()


def test_the_key_is_in_no_file_and_in_no_text(user: User, added: Endpoint, keys: MemoryKeyring) -> None:
    _chat(user, _name(added, "small"))
    user.ask("Where is the key?")
    program = user.controller.program
    program.preferences.save()
    endpoint = program.supply.endpoints.of(_name(added, "small"))
    assert endpoint is not None
    assert endpoint.key is not None
    assert endpoint.key.text == _KEY
    assert _KEY not in repr(endpoint) + str(endpoint)
    assert _KEY in keys.kept.values()
    folder = Path(program.preferences.folder)
    files = [Path(top) / name for top, _, names in os.walk(folder) for name in names]
    assert any(file.name == "settings.json" for file in files)
    assert not [file for file in files if _KEY.encode() in file.read_bytes()]


def test_a_removed_server_is_said_where_it_would_answer(user: User, added: Endpoint) -> None:
    name = _name(added, "small")
    _chat(user, name)
    answer = user.ask("Hello")
    user.controller.program.remove_endpoint(added)
    user.controller.regenerate_by(answer.id, name)
    failed = user.answer()
    assert failed.state == "failed"
    assert failed.record is not None
    assert "was removed from Bough" in (failed.record.error or "")
