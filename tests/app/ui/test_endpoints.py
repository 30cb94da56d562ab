"""The real window with models of a real HTTP server beside the guide. It needs about four seconds of CPU."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import signal
import sqlite3
import threading
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import keyring
import psutil
import pytest
from keyring.errors import KeyringLocked
from msgspec import structs
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMessageBox, QPushButton, QWidget
from typing_extensions import override

from app.answers.sessions import GUIDE
from app.application import Application
from app.care.log_file import LogFile
from app.export.exporting import ExportRequest, Scope, run_export
from app.model.backups import Backups
from app.model.endpoints import Endpoint, EndpointModel, Prices
from app.model.exports.files import FORMATS
from app.model.message import ORIGINS
from app.model.project import Project
from app.model.token_pieces import token_pieces
from app.notices import Notice
from app.program import Program
from app.ui.comparing.compare_window import CompareWindow
from app.ui.composer.writing_field import WritingField
from app.ui.dialogs.docs_window import DocsWindow
from app.ui.dialogs.replay_window import ReplayWindow
from app.ui.dialogs.settings_files import SettingsFiles
from app.ui.message.answer_summary import statistics, statistics_in_sentences
from app.ui.message.message_action import MessageAction, row_actions
from app.ui.models.endpoint_window import EndpointWindow
from app.ui.models.models_window import ModelsWindow
from app.ui.parts.cost_text import cost_text, money_text
from tests.app.catalog.conftest import MemoryKeyring
from tests.app.ui import screen_reader
from tests.app.ui.conftest import User
from tests.endpoint_server import EndpointServer, Fault, Script, error
from tests.holders import forms_of, holders
from tests.waiting import PATIENCE_MS
from worker.protocol import Secret
from worker.sentence import Sentence

pytestmark = pytest.mark.own_window

_KEY = "sesame-0451-never-in-a-file"
_TEXT = "".join(Script().pieces)
_NUMBERS = "1 2 3 4 5 6 7 8 9 10 11 12"


_ID = "0451cafe"


class SlowKeyring(MemoryKeyring):
    """A keyring that can be locked, or wait for the user. It notes the threads that read it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_locked = False
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.readers: set[int] = set()

    @override
    def get_password(self, service: str, username: str) -> str | None:
        self.readers.add(threading.get_ident())
        assert self.may_answer.wait(PATIENCE_MS / 1000)
        if self.is_locked:
            raise KeyringLocked
        return super().get_password(service, username)

    @override
    def delete_password(self, service: str, username: str) -> None:
        if self.is_locked:
            raise KeyringLocked
        super().delete_password(service, username)


@pytest.fixture(scope="module", autouse=True)
def keys() -> Iterator[SlowKeyring]:
    before, own = keyring.get_keyring(), SlowKeyring()
    keyring.set_keyring(own)
    yield own
    keyring.set_keyring(before)


@pytest.fixture(scope="module")
def server() -> Iterator[EndpointServer]:
    scripts = {
        "counting": Script((_NUMBERS,), given_answer="rest"),
        "letters": Script(("A", " B", " C", " D"), given_answer="rest", counts=True),
        "org/large": Script(),
        "small": Script(pieces=("Small", ".")),
    }
    with EndpointServer(scripts, key=_KEY) as started:
        yield started


@pytest.fixture(scope="module")
def added(application: Application, server: EndpointServer, keys: SlowKeyring) -> Endpoint:
    """The server, as it was added before, with its key in the keyring."""
    return _add(application.program, server, keys)


def _add(program: Program, server: EndpointServer, keys: SlowKeyring, endpoint_id: str = _ID) -> Endpoint:
    endpoint = Endpoint(
        id=endpoint_id, name="Large machine", url=server.url, models=("counting", "letters", "org/large", "small")
    )
    keys.set_password("Bough", f"{endpoint_id} {endpoint.host}", _KEY)
    (program.preferences.folder / f"endpoint-{endpoint_id}-key-is-kept").touch()
    program.preferences.change(endpoints=(*program.settings.endpoints, endpoint))
    return endpoint


def _models(user: User) -> ModelsWindow:
    user.window.action("models").trigger()
    models = user.window.findChild(ModelsWindow)
    assert models is not None
    return models


def _form(user: User) -> EndpointWindow:
    return _models(user).open_endpoint()


def _press(user: User, form: EndpointWindow, label: str) -> None:
    user.bot.mouseClick(user.button(form, label), Qt.MouseButton.LeftButton)


def _name(endpoint: Endpoint, model: str) -> str:
    return EndpointModel(endpoint.id, model).name


def _chat(user: User, name: str) -> None:
    user.controller.chat_with(name)
    model = user.controller.model
    user.bot.waitUntil(lambda: (model.name, model.state) == (name, "ready"), timeout=PATIENCE_MS)


def _load_guide(user: User) -> None:
    program = user.controller.program
    program.load_model(GUIDE)
    user.bot.waitUntil(lambda: (program.session.name, program.session.state) == (GUIDE, "ready"), timeout=PATIENCE_MS)


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


def test_a_model_of_a_server_answers(user: User, server: EndpointServer, added: Endpoint) -> None:
    models = _models(user)
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


def test_an_edited_answer_is_continued_by_a_server_that_can_continue_answers(
    user: User, server: EndpointServer, added: Endpoint
) -> None:
    _chat(user, _name(added, "counting"))
    answer = user.ask("Count.")
    assert answer.text == _NUMBERS
    assert user.controller.shown.can_continue(answer)
    user.press(answer.id, "e")
    editor = user.window.focusWidget()
    assert isinstance(editor, WritingField)
    editor.setPlainText("1 2 3 4 5 6 7 8 9 1")
    user.bot.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    version = user.answer()
    assert (version.text, version.state) == (_NUMBERS, "complete")
    assert list(user.controller.shown.siblings(answer.id)) == [answer.id, version.id]
    last = server.requests_of("POST")[-1].json
    assert last["messages"][-1] == {"role": "assistant", "content": "1 2 3 4 5 6 7 8 9 1"}


def _sent(server: EndpointServer) -> list[tuple[str, str]]:
    """Return the roles and texts of the last request."""
    return [(turn["role"], turn["content"]) for turn in server.requests_of("POST")[-1].json["messages"]]


def test_files_and_a_project_are_sent_and_answers_are_found_and_compared(
    user: User, server: EndpointServer, added: Endpoint, tmp_path: Path
) -> None:
    controller, program = user.controller, user.controller.program
    _chat(user, _name(added, "small"))
    notes = tmp_path / "orchard.txt"
    notes.write_text("Seven pear trees stand there.")
    composer = user.window.composer
    composer.files_given.emit([notes])
    user.bot.waitUntil(lambda: bool(controller.preparation.unsent.attachments), timeout=PATIENCE_MS)
    answer = user.ask("How many?")
    ((role, text),) = _sent(server)
    assert role == "user"
    assert text.startswith("orchard.txt")
    assert "Seven pear trees stand there." in text
    assert text.endswith("How many?")
    # Another answer to the same question, compared with the first one.
    server.models["small"] = Script(("Large", "."))
    controller.regenerate(answer.id)
    version = user.answer()
    user.press(version.id, "d")
    (compared,) = [each for each in user.window.findChildren(CompareWindow) if each.isVisible()]
    panes = (compared.panes.left, compared.panes.right)
    assert [pane.toPlainText().strip() for pane in panes] == ["Small.", "Large."]
    compared.reject()
    server.models["small"] = Script(("Small", "."))
    # The index is written in the background of the search.
    hits = program.store.search.find("pear")
    assert [hit.message.role for hit in hits] == ["file"]
    # A project's instructions and files begin its conversations.
    assert program.projects.put("Orchard", Project(instructions="Answer gardeners."))
    controller.begin_in("Orchard")
    user.ask("Who are you?")
    assert _sent(server) == [("system", "Answer gardeners."), ("user", "Who are you?")]


def test_an_answer_of_a_server_is_run_again_and_compared(user: User, server: EndpointServer, added: Endpoint) -> None:
    _chat(user, _name(added, "small"))
    user.ask("Hello")
    for pieces, outcome in ((("Small", "."), "wrote the same answer again"), (("Sm", "oke"), "wrote another answer")):
        server.models["small"] = Script(pieces)
        user.window.action("replay").trigger()
        (sheet,) = [each for each in user.window.findChildren(ReplayWindow) if each.isVisible()]
        user.bot.waitUntil(lambda sheet=sheet: sheet.is_over, timeout=PATIENCE_MS)
        assert outcome in sheet.outcome.text()
        assert "Only the text was compared" in sheet.why.text()
        sheet.reject()
    assert "The first 2 of 6 characters" in sheet.outcome.text()
    assert "have changed" in sheet.why.text()
    server.models["small"] = Script(("Small", "."))


def test_a_server_and_a_model_of_this_machine_answer_side_by_side(user: User, added: Endpoint) -> None:
    _load_guide(user)
    user.controller.shown.new_conversation()
    preparation = user.controller.preparation
    name = _name(added, "org/large")
    preparation.set_generation(structs.replace(preparation.generation, models=(GUIDE, name)))
    asked = _answer_question(user, "Send")
    user.type("What is a branch?")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    page = user.window.side_by_side
    user.bot.waitUntil(page.isVisible, timeout=PATIENCE_MS)
    shown = user.controller.shown
    answers = page.message_ids
    user.bot.waitUntil(lambda: not any(map(shown.is_streaming, answers)), timeout=PATIENCE_MS)
    here, there = (shown.message(found) for found in answers)
    assert (there.text, there.state) == (_TEXT, "complete")
    assert here.text not in {"", _TEXT}
    assert [each.record.model for each in (here, there) if each.record] == [GUIDE, name]
    # A new conversation has nothing that was local before, so no question was asked.
    assert asked == []
    page.close_page()


@pytest.fixture
def tokens(user: User) -> Iterator[User]:
    user.window.action("tokens").trigger()
    yield user
    user.window.action("tokens").trigger()


def test_another_token_of_a_server_is_chosen_and_its_answer_goes_on(
    tokens: User, server: EndpointServer, added: Endpoint
) -> None:
    user = tokens
    _chat(user, _name(added, "letters"))
    answer = user.ask("Letters?")
    assert answer.text == "A B C D"
    pieces = token_pieces(answer)
    assert [(piece.start, piece.end) for piece in pieces] == [(0, 1), (1, 3), (3, 5), (5, 7)]
    assert [other.text for other in pieces[1].alternatives] == [" B", *(f"alternative {n}" for n in range(1, 5))]
    assert {piece.logprob for piece in pieces} == {-0.25}
    # They are in the store, and no ids of them are invented.
    stored = user.controller.program.store.messages.get(answer.id)
    assert stored.record == answer.record
    assert answer.record is not None
    assert answer.record.token_ids == ()
    view = user.view(answer.id)
    view.text.setFocus()
    for _ in range(3):
        user.bot.keyClick(view.text, Qt.Key.Key_Right)
    reader = view.text.tokens
    assert reader is not None
    assert reader.current == 2
    user.bot.keyClick(view.text, Qt.Key.Key_Down)
    assert reader.popover is not None
    assert "continue with another token" in reader.popover.findChildren(QLabel)[-1].text()
    user.bot.keyClick(view.text, Qt.Key.Key_Return)
    fork = user.answer()
    assert list(user.controller.shown.siblings(answer.id)) == [answer.id, fork.id]
    given = "A Balternative 1"
    assert server.requests_of("POST")[-1].json["messages"][-1] == {"role": "assistant", "content": given}
    assert fork.text.startswith(given)
    assert fork.record is not None
    assert fork.record.origins[:3] == ORIGINS["sampled"] * 2 + ORIGINS["chosen"]
    assert sum(fork.record.token_chars) == len(fork.text)
    assert fork.record.alternatives[2] == pieces[2].alternatives
    # The other branch is asked for as text, without ids.
    user.ask("And then?")
    assert server.requests_of("POST")[-1].json["messages"][1] == {"role": "assistant", "content": fork.text}


def test_a_token_is_not_chosen_where_its_server_does_not_go_on(tokens: User, added: Endpoint) -> None:
    user = tokens
    _chat(user, _name(added, "small"))
    answer = user.ask("Hello")
    assert len(token_pieces(answer)) == 2
    view = user.view(answer.id)
    view.text.setFocus()
    user.bot.keyClick(view.text, Qt.Key.Key_Right)
    reader = view.text.tokens
    assert reader is not None
    user.bot.keyClick(view.text, Qt.Key.Key_Down)
    assert reader.popover is not None
    assert not any("another token" in label.text() for label in reader.popover.findChildren(QLabel))
    posted: list[Notice] = []
    user.controller.program.notices.posted.connect(posted.append)
    user.controller.forks.fork_at_token(answer.id, 0, -2)
    assert "does not continue a given answer" in str(posted[-1].text)
    assert list(user.controller.shown.siblings(answer.id)) == [answer.id]


def test_known_abilities_are_kept_until_the_server_refuses_one(
    user: User, server: EndpointServer, added: Endpoint
) -> None:
    controller, program = user.controller, user.controller.program
    name = _name(added, "counting")
    _chat(user, name)
    answer = user.ask("Count.")
    opened = controller.shown.conversation
    assert opened is not None
    facts = program.settings.endpoints[0].facts["counting"]
    assert (facts.continued_by, facts.keeps_end, facts.has_logprobs) == ("fields", True, True)
    _load_guide(user)
    num_before = len(server.requests_of("POST"))
    _chat(user, name)
    assert len(server.requests_of("POST")) == num_before
    controller.shown.open_conversation(opened.id)
    server.models["counting"] = Script((_NUMBERS,), refuses_fields=frozenset({"continue_final_message"}))
    controller.forks.continue_with(answer.id, "1 2 3")
    failed = user.answer()
    assert failed.record is not None
    assert "refused the request" in (failed.record.error or "")
    assert failed.text == "1 2 3"
    user.bot.waitUntil(
        lambda: controller.model.state == "ready" and not controller.model.can("continue"), timeout=PATIENCE_MS
    )
    server.models["counting"] = Script((_NUMBERS,), given_answer="rest")
    program.preferences.change(endpoints=(added,))


def test_costs_are_what_the_server_reported(user: User, server: EndpointServer, added: Endpoint) -> None:
    controller = user.controller
    _chat(user, _name(added, "org/large"))
    first = user.ask("What is a tree?")
    second = user.ask("And a forest?")
    opened = controller.shown.opened
    assert opened is not None
    costs = controller.costs
    costs.show(opened.lineage, opened.tree)

    def kept(message_id: int) -> str:
        return cost_text(costs.get(message_id))

    assert first.record is not None
    assert second.record is not None
    figures, later = first.record.figures, second.record.figures
    # All of the first prompt was kept when the second one was sent, as the server said.
    assert later.kept_tokens >= figures.prompt_tokens - 1
    num_kept = min(later.kept_tokens, figures.prompt_tokens)
    assert kept(first.id) == f"Kept there, as last reported: {num_kept} of {figures.prompt_tokens}"
    assert kept(opened.lineage(first.id)[-2].id) == kept(first.id)
    assert kept(second.id) == f"Kept there, as last reported: {later.kept_tokens} of {later.prompt_tokens}"
    assert costs.last_tier(first.id) is None
    # A server that reports nothing: nothing is said, and its figures claim nothing.
    server.models["small"] = Script(("Small", "."), reports_cached=False)
    _chat(user, _name(added, "small"))
    answer = user.ask("Hello")
    opened = controller.shown.opened
    assert opened is not None
    costs.show(opened.lineage, opened.tree)
    assert kept(answer.id) == ""
    assert answer.record is not None
    assert "kept" not in statistics(answer.record)
    assert "does not say how many" in statistics_in_sentences(answer.record)
    server.models["small"] = Script(("Small", "."))


def test_no_seed_is_promised_to_give_the_same_answer(user: User, added: Endpoint) -> None:
    _chat(user, _name(added, "small"))
    answer = user.ask("Hello")
    assert answer.record is not None
    assert answer.record.seed is not None
    assert "the same seed" not in statistics_in_sentences(answer.record)


def test_while_a_server_is_silent_the_page_says_so_and_the_answer_can_be_stopped(
    user: User, server: EndpointServer, added: Endpoint
) -> None:
    _chat(user, _name(added, "small"))
    server.fail("POST", Fault(stalls_before_headers=True))
    user.type("Are you there?")
    user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
    user.bot.waitUntil(lambda: bool(user.controller.shown.streaming_message), timeout=PATIENCE_MS)
    answer = user.controller.shown.streaming_message
    assert answer is not None
    line = re.compile(rf"waiting for {re.escape(added.host)}, \d+ s")
    view = user.view(answer.id)
    user.bot.waitUntil(
        lambda: any(line.search(text) for text in screen_reader.found(view, QAccessible.Role.StaticText)),
        timeout=PATIENCE_MS,
    )
    request = server.requests_of("POST")[-1]
    user.controller.stop()
    user.bot.waitUntil(lambda: not user.controller.program.answers.is_pending(answer.id), timeout=PATIENCE_MS)
    assert request.over.wait(PATIENCE_MS / 1000)
    assert request.ended == "by client"


def test_actions_that_a_server_does_not_support_are_not_offered(user: User, added: Endpoint) -> None:
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
    # The capability is remembered while another model is loaded. Nothing is known about a model that was never used.
    controller = user.controller
    remote = controller.program.sessions.remote
    _load_guide(user)
    assert remote.name != controller.model.name
    assert (controller.model.name, controller.model.state) == (_name(added, "small"), "unloaded")
    assert [controller.model.can(ability) for ability in ("json_schema", "continue")] == [True, False]
    controller.model.show(f"endpoint:{_ID}/never used")
    assert not controller.model.can("json_schema")
    controller.model.show(GUIDE)
    assert controller.model.can("continue")


def test_a_local_conversation_is_sent_only_after_a_question(
    user: User, server: EndpointServer, added: Endpoint
) -> None:
    _load_guide(user)
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
    _load_guide(user)
    user.ask("What is a branch?")
    answer = user.controller.shown.path[-1]
    asked = _answer_question(user, "Send")
    user.controller.regenerate_by(answer.id, _name(added, "org/large"))
    user.bot.waitUntil(lambda: bool(asked), timeout=PATIENCE_MS)
    second = user.answer()
    assert second.text == _TEXT
    program = user.controller.program
    assert (program.session.name, program.session.state) == (GUIDE, "ready")
    assert program.sessions.remote.name == _name(added, "org/large")
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
        ("nothing at all", "", "not the address"),
        pytest.param("http://user:pass@host/v1", "", "as the key instead", marks=pytest.mark.long),
        pytest.param("http://127.0.0.1:9/v1", "", "can't be reached", marks=pytest.mark.long),
        pytest.param("SERVER", "wrong", "refused the key", marks=pytest.mark.long),
        ("SERVER", "$NO_SUCH_VARIABLE_HERE", "is not set"),
    ],
)
def test_a_server_that_cannot_be_used_is_reported(
    user: User, server: EndpointServer, added: Endpoint, address: str, key: str, why: str
) -> None:
    form = _form(user)
    form.address.setText(address.replace("SERVER", server.url))
    form.key.setText(key)
    form.check()
    user.bot.waitUntil(lambda: not form.is_working, timeout=PATIENCE_MS)
    assert why in form.note.text()
    assert [each.id for each in user.controller.program.settings.endpoints] == [added.id]
    form.close()


def test_the_key_is_in_no_file_and_in_no_text(user: User, added: Endpoint, keys: SlowKeyring) -> None:
    _chat(user, _name(added, "small"))
    user.ask("Where is the key?")
    program = user.controller.program
    program.preferences.save()
    read: list[Secret | Sentence | None] = []
    program.supply.endpoints.read_key(_name(added, "small"), read.append)
    user.bot.waitUntil(lambda: bool(read), timeout=PATIENCE_MS)
    assert isinstance(read[0], Secret)
    assert read[0].text == _KEY
    assert _KEY not in repr(read[0]) + str(read[0])
    assert _KEY in keys.kept.values()
    folder = Path(program.preferences.folder)
    assert (folder / "settings.json").is_file()
    assert not holders(folder, {_KEY.encode()})


def test_a_search_for_a_key_finds_each_form(tmp_path: Path) -> None:
    """Shows that the search of the next test would find a key."""
    key = "sk/0451+never=in&a:file"
    with zipfile.ZipFile(tmp_path / "packed", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("page", f"{'a' * 500}{key}")
    (tmp_path / "url").write_text(f"?key={quote(key, safe='')}&x=1")
    for before in range(3):
        (tmp_path / f"base64 {before}").write_bytes(base64.b64encode(b"a" * before + key.encode() + b"bcd"))
    (tmp_path / "pdf").write_bytes(b"%PDF-1.4\nstream\n" + zlib.compress(key.encode()) + b"\nendstream")
    (tmp_path / "other").write_text(key[:-1])
    assert {file.name for file in holders(tmp_path, forms_of(key))} == {
        "packed", "url", "pdf", "base64 0", "base64 1", "base64 2"
    }  # fmt: skip


def test_a_key_is_used_until_the_server_is_removed_and_is_in_no_file(
    user: User,
    keys: SlowKeyring,
    added: Endpoint,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Logs, exports, backups, temporary files, and the command lines and variables of processes are searched, too."""
    key = "sk/0451+never=in&a:file"
    forms, temporary, out = forms_of(key), tmp_path / "temporary", tmp_path / "out"
    for folder in (temporary, out):
        folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    program = user.controller.program
    log = LogFile(tmp_path / "logs", "bough.log")
    with EndpointServer({"tiny": Script(pieces=("T", "iny"))}, key=key) as server, caplog.at_level("DEBUG"):
        form = _form(user)
        form.address.setText(server.url)
        form.key.setText(key)
        form.check()
        user.bot.waitUntil(lambda: len(program.settings.endpoints) == 2, timeout=PATIENCE_MS)
        endpoint = program.settings.endpoints[1]
        name = _name(endpoint, "tiny")
        _chat(user, name)
        assert user.ask("Where is the key?").text == "Tiny"
        server.fail("POST", Fault(reply=error(401, f"Wrong key: {key}, Authorization: Bearer {key}")))
        refused = user.ask("And now?")
        assert refused.record is not None
        assert refused.record.error
        # Two answers to one question, as formats for preferences need them; they differ.
        for pieces in (("T", "iny"), ("Sm", "all")):
            server.models["tiny"] = Script(pieces=pieces)
            user.controller.regenerate(refused.id)
            assert user.answer().text == "".join(pieces)
        assert [request.headers["authorization"] for request in server.requests_of("POST")][-1] == f"Bearer {key}"
        # The process that has the key crashes in the middle of an answer, which leaves a report.
        server.fail("POST", Fault(end="stall", after_bytes=300))
        user.type("Crash")
        user.bot.keyClick(user.window.composer.text, Qt.Key.Key_Return)
        user.bot.waitUntil(lambda: server.requests_of("POST")[-1].stalled.is_set(), timeout=PATIENCE_MS)
        pid = program.session.link.pid
        assert pid is not None
        os.kill(pid, signal.SIGSEGV)
        assert user.answer().state == "stopped"
        user.bot.waitUntil(lambda: program.session.state == "ready", timeout=PATIENCE_MS)
        for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
                words = "\0".join([*process.cmdline(), *process.environ().values()]).encode()
                assert not any(form in words for form in forms), process
    conversation = user.controller.shown.conversation
    assert conversation is not None
    for format_ in FORMATS:
        request = ExportRequest(scope=Scope(conversation_ids=(conversation.id,)), format=format_)
        for _ in run_export(program.store, request, out / format_):
            pass
    SettingsFiles(program, user.window, out).write(out / "settings.json")
    with contextlib.closing(sqlite3.connect(program.store.path)) as store:
        backup = Backups(program.store.path).make(store)
    program.preferences.save()
    data = Path(program.preferences.folder)
    assert backup.is_relative_to(data)
    assert {path.name for path in out.iterdir()} == {*FORMATS, "settings.json"}
    # A file that must have the text is searched as the rest is.
    assert holders(out, {b"Where is the key?"})
    assert holders(data, {b"Where is the key?"})
    log.close()
    assert holders(log.path.parent, {b"Notice: "})
    assert holders(data, {b"SIGSEGV"})
    assert not [file for folder in (data, temporary, out, log.path.parent) for file in holders(folder, forms)]
    printed = capfd.readouterr()
    said = (printed.out + printed.err + caplog.text + "".join(user.texts) + refused.record.error).encode()
    assert not any(form in said for form in forms)
    program.remove_endpoint(endpoint)
    # A keyring may take its time, so a thread asks it.
    user.bot.waitUntil(lambda: key not in keys.kept.values(), timeout=PATIENCE_MS)
    _load_guide(user)


def test_a_waiting_or_locked_keyring_does_not_block_the_window(
    user: User, server: EndpointServer, keys: SlowKeyring, added: Endpoint
) -> None:
    controller, program = user.controller, user.controller.program
    unread = _add(program, server, keys, "0451beef")
    _load_guide(user)
    keys.may_answer.clear()
    keys.readers.clear()
    num_before = len(server.requests_of("POST"))
    controller.chat_with(_name(unread, "small"))
    user.bot.waitUntil(lambda: bool(keys.readers), timeout=PATIENCE_MS)
    assert program.session.state == "loading"
    # The system still asks for the keyring's password, and the user gives up.
    program.session.cancel_load()
    assert program.session.state == "unloaded"
    keys.is_locked = True
    controller.chat_with(_name(unread, "small"))
    keys.may_answer.set()
    session = program.session
    user.bot.waitUntil(lambda: session.why_not(_name(unread, "small")) is not None, timeout=PATIENCE_MS)
    assert "can't be read" in str(session.why_not(_name(unread, "small")))
    keys.is_locked = False
    _chat(user, _name(unread, "small"))
    assert user.ask("Open again?").text == "Small."
    assert threading.get_ident() not in keys.readers
    # Tries of what the server can do, and the question.
    new = server.requests_of("POST")[num_before:]
    assert len(new) > 1
    assert {request.headers.get("authorization") for request in new} == {f"Bearer {_KEY}"}
    program.preferences.change(endpoints=(added,))


def test_an_endpoint_is_added_edited_and_removed(user: User, keys: SlowKeyring, added: Endpoint) -> None:
    program = user.controller.program
    with EndpointServer({"tiny": Script(pieces=("T", "iny"))}, key=_KEY) as other:
        form = _form(user)
        # By the keyboard, in the order of the fields.
        for text in (other.url.removesuffix("/v1"), _KEY, "Other machine", "2.5", "", "10", "EUR"):
            field = form.focusWidget()
            assert isinstance(field, QLineEdit)
            assert field.accessibleName()
            user.bot.keyClicks(field, text)
            user.bot.keyClick(field, Qt.Key.Key_Tab)
        assert form.key.echoMode() == QLineEdit.EchoMode.Password
        user.bot.keyClick(form.address, Qt.Key.Key_Return)
        user.bot.waitUntil(lambda: len(program.settings.endpoints) == 2, timeout=PATIENCE_MS)
        endpoint = program.settings.endpoints[1]
        assert (endpoint.name, endpoint.models, endpoint.variable) == ("Other machine", ("tiny",), "")
        assert endpoint.prices == Prices(prompt=2.5, answer=10.0, currency="EUR")
        entry = ("Bough", f"{endpoint.id} {endpoint.host}")
        assert keys.kept[entry] == _KEY
        _chat(user, _name(endpoint, "tiny"))
        answer = user.ask("How much?")
        assert answer.record is not None
        figures = answer.record.figures
        assert figures.prompt_tokens > 0
        cost = (figures.prompt_tokens * 2.5 + figures.new_tokens * 10) / 1e6
        assert f"about {money_text(cost, 'EUR').removeprefix('about ')}" in statistics(answer.record)
        assert money_text(0.00312, "€") == "about 0.0031 €"
        # By the mouse: the key is kept, then emptied, which this server refuses. Nothing is lost.
        form = _models(user).open_endpoint(endpoint)
        assert (form.key.text(), form.key.placeholderText()) == ("", "unchanged")
        names = {_accessible(widget) for widget in (*form.findChildren(QLineEdit), *form.findChildren(QPushButton))}
        assert {"Address", "Key", "Name", "Currency", "Save", "Cancel", "Help"} <= names
        user.bot.mouseClick(form.without_key, Qt.MouseButton.LeftButton, pos=QPoint(10, form.without_key.height() // 2))
        assert form.without_key.isChecked()
        _press(user, form, "Save")
        user.bot.waitUntil(lambda: not form.is_working, timeout=PATIENCE_MS)
        assert "refused" in form.note.text() or "key" in form.note.text()
        assert keys.kept[entry] == _KEY
        other.key = None
        _press(user, form, "Save")
        user.bot.waitUntil(lambda: entry not in keys.kept, timeout=PATIENCE_MS)
        user.bot.waitUntil(lambda: user.controller.model.state == "ready", timeout=PATIENCE_MS)
        assert not program.supply.endpoints.has_key(program.settings.endpoints[1])
        assert user.ask("And without a key?").text == "Tiny"
        assert "authorization" not in other.requests_of("POST")[-1].headers
        # The conversation keeps its answers when the server is removed, and a further question says what to do.
        program.remove_endpoint(program.settings.endpoints[1])
        user.controller.regenerate_by(answer.id, _name(endpoint, "tiny"))
        failed = user.answer()
        assert failed.record is not None
        assert "was removed from Bough" in (failed.record.error or "")
        assert answer.text == "Tiny"
        _load_guide(user)


def _accessible(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    return "" if interface is None else interface.text(QAccessible.Text.Name)


def test_the_help_of_the_form_opens(user: User) -> None:
    form = _form(user)
    _press(user, form, "Help")
    page = form.findChild(DocsWindow)
    assert isinstance(page, DocsWindow)
    assert "leaves" in page.text.content
    page.close()
    form.close()
