"""The real window with models of a real HTTP server beside the guide. It needs about four seconds of CPU."""

from __future__ import annotations

import base64
import contextlib
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
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QLineEdit, QMessageBox, QPushButton, QWidget
from typing_extensions import override

from app.answers.sessions import GUIDE
from app.application import Application
from app.care.log_file import LogFile
from app.export.exporting import ExportRequest, Scope, run_export
from app.model.backups import Backups
from app.model.endpoints import Endpoint, EndpointModel, Prices
from app.model.exports.files import FORMATS
from app.program import Program
from app.ui.composer.writing_field import WritingField
from app.ui.dialogs.docs_window import DocsWindow
from app.ui.dialogs.settings_files import SettingsFiles
from app.ui.message.answer_summary import statistics
from app.ui.message.message_action import MessageAction, row_actions
from app.ui.models.endpoint_window import EndpointWindow
from app.ui.models.models_window import ModelsWindow
from app.ui.parts.cost_text import money_text
from tests.app.catalog.conftest import MemoryKeyring
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
    endpoint = Endpoint(id=endpoint_id, name="Large machine", url=server.url, models=("counting", "org/large", "small"))
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
    far = controller.program.sessions.far
    _load_guide(user)
    assert far.name != controller.model.name
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
    # A try whether the server continues answers, and the question.
    new = server.requests_of("POST")[num_before:]
    assert [request.headers.get("authorization") for request in new] == [f"Bearer {_KEY}"] * 2
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
