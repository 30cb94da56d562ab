"""The local API of the window, through which other programs use its model. Starts and ends the server process.

The threads of the relay call `_Owner`; everything else runs in the GUI thread.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import msgspec
from PySide6.QtCore import QObject, QTimer, Signal

from app.answers.model_session import ModelSession
from app.answers.worker_link import WorkerLink
from app.model.kept_requests import KeptRequest
from app.preferences import Preferences
from app.serving.drop_rules import DropRuleError, DropRules
from app.serving.keeping import kept_request
from app.serving.keys import Key, KeyProblemError, find_key, keep_key, made_key
from app.serving.messages import (
    Listening,
    ListModels,
    ModelRefused,
    ModelsListed,
    ModelStatus,
    ModelUsed,
    NotListening,
    ServedModel,
    ServerSettings,
    Suggested,
    Unremembered,
    UseModel,
    digest,
)
from app.serving.model_names import find, load_name, served_model, suggested
from app.serving.relay import Exchange, Relay, Served
from app.serving.request_log import RequestLog, logged
from worker.protocol import Command, Event, Generate, RequestId
from worker.sentence import Sentence, verbatim

State: TypeAlias = Literal["off", "starting", "on", "failed"]

_LOOK_MS = 500
_PING_MS = 1000
_THIS_COMPUTER = "127.0.0.1"
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 (only if the user allows it)
_SOMEWHERE = ("192.0.2.1", 9)
"""An address and a port that no computer has. The system's route to it shows this computer's own network address."""


class _Wanted(NamedTuple):
    """A request names a model."""

    question: UseModel
    model: ServedModel | None
    """The model; None if there is none of this name."""


class _Ended(NamedTuple):
    """The server process has ended by itself."""

    exit_code: int | None


class _Begun(NamedTuple):
    """A request is being answered."""


class _Waiting(NamedTuple):
    """A request waits for a model."""

    question: UseModel
    name: str
    """The model's name for `load_model`."""


_News: TypeAlias = Listening | NotListening | Exchange | _Wanted | _Ended | _Begun


class _Owner:
    """The interface of the window for the threads of one relay."""

    def __init__(
        self,
        link: WorkerLink,
        status: ModelStatus,
        models: Callable[[], Sequence[ServedModel]],
        say: Callable[[_Owner, _News], None],
    ) -> None:
        self.relay: Relay | None = None
        self.status = status
        self._link = link
        self._models = models
        self._say = say

    def send(self, command: Command) -> bool:
        is_sent = self._link.send(command)
        if isinstance(command, Generate):
            self._say(self, _Begun())
        return is_sent

    def list_models(self, question: ListModels) -> None:
        def find_all() -> None:
            if self.relay is not None:
                self.relay.tell(ModelsListed(request_id=question.request_id, models=list(self._models())))

        threading.Thread(target=find_all, name="models", daemon=True).start()

    def use_model(self, question: UseModel) -> None:
        def find_one() -> None:
            present = self.status.model
            named = present if present.is_named(question.model) else find(question.model, self._models())
            self._say(self, _Wanted(question, named))

        threading.Thread(target=find_one, name="model", daemon=True).start()

    def on_listening(self, report: Listening | NotListening) -> None:
        self._say(self, report)

    def on_server_ended(self, exit_code: int | None) -> None:
        self._say(self, _Ended(exit_code))

    def on_exchange(self, exchange: Exchange) -> None:
        self._say(self, exchange)


class LocalApi(QObject):
    """Switches the local API on and off. Once the user has switched it on, it is also on after a restart.

    The owner must call `close`.
    """

    changed = Signal()
    """The state, the address or the key changed."""
    served_changed = Signal()
    """Requests began, made progress or ended. Emitted twice a second while there are any."""
    logged = Signal()
    """A request was answered, and `log` has it."""
    failed = Signal(object)
    """A `Sentence` that says why no program can be served now."""
    set_aside = Signal(object)
    """A `Sentence` that says that the file of remembered turns can't be used."""
    _received = Signal(object, object)
    _prepared = Signal(int, object)

    def __init__(
        self,
        session: ModelSession,
        preferences: Preferences,
        *,
        models: Callable[[], Sequence[ServedModel]],
        load: Callable[[str], None],
        why_not_load: Callable[[str], Sentence | None],
        keep: Callable[[KeptRequest], None],
        note: Path,
        turns: Path,
        log: Path,
    ) -> None:
        """`models` returns the models on this machine and is called in threads. `load` loads one of them.

        `why_not_load` returns why a model can't be loaded now; None if it can. `keep` stores a request as messages.

        `note` is the file that says that the keyring has a key, `turns` the file of turns that the model has written,
        and `log` the file with the last requests.
        """
        super().__init__()
        self._session = session
        self._preferences = preferences
        self._models = models
        self._load = load
        self._why_not_load = why_not_load
        self._keep = keep
        self.log = RequestLog(log)
        self._note = note
        self._turns = turns
        self._owner: _Owner | None = None
        self._num_starts = 0
        self._threads: list[threading.Thread] = []
        self._waiting: list[_Waiting] = []
        self._model = served_model(session.name)
        self._suggested: Suggested | None = None
        self._timer = QTimer(self, interval=_LOOK_MS)
        self._timer.timeout.connect(self._look)
        self._pings = QTimer(self, interval=_PING_MS)
        self._pings.timeout.connect(self._ping)
        self.state: State = "off"
        self.problem: Sentence | None = None
        """Why the API can't be switched on or has stopped; None unless the state is `failed`."""
        self.key: Key | None = None
        self.address = ""
        """The URL of the API for clients; empty unless the state is `on`."""
        self.network_address = ""
        """The URL for clients on other computers; empty unless they may send requests and there is a network."""
        self._received.connect(self._on_news)
        self._prepared.connect(self._on_prepared)
        session.changed.connect(self._on_session)
        session.exited.connect(self._on_worker_ended)
        session.ended.connect(self._on_worker_ended)

    @property
    def served(self) -> Sequence[Served]:
        """The requests that are being answered, the oldest first."""
        return () if self._relay is None else self._relay.served

    @property
    def _relay(self) -> Relay | None:
        return None if self._owner is None else self._owner.relay

    def stop_request(self, request_id: RequestId) -> None:
        """Stop answering a request; its client gets the text so far."""
        if self._relay is not None:
            self._relay.stop_request(request_id)

    def stop_all(self) -> None:
        """Stop answering all requests."""
        for served in self.served:
            self.stop_request(served.request_id)

    # --- settings ------------------------------------------------------------------------------------------

    def set_on(self, *, is_on: bool) -> None:
        """Switch the API on or off, now and for the next starts."""
        self._change(is_on=is_on)
        if is_on:
            self.start(keeps_key=True)
        else:
            self._begin_end()
            self._be("off")

    def set_port(self, port: int) -> None:
        """Listen on another port. This ends the requests that are being answered."""
        if port != self._preferences.settings.local_api.port or self.state == "failed":
            self._change(port=port)
            self.start()

    def set_allows_load(self, *, allows_load: bool) -> None:
        """Change whether requests may load other models."""
        self._change(allows_load=allows_load)

    def set_allows_network(self, *, allows_network: bool) -> None:
        """Change whether programs on other computers may send requests. This ends requests that are being answered."""
        if allows_network != self._preferences.settings.local_api.allows_network:
            self._change(allows_network=allows_network)
            self._restart()

    def set_patterns(self, aliases: Sequence[str], drop_rules: Sequence[str]) -> Sentence | None:
        """Change the aliases of the loaded model, and the rules by which parts of requests are left out.

        This ends the requests that are being answered. If a rule is invalid, return why, and change nothing.
        """
        try:
            DropRules(drop_rules)
        except DropRuleError as error:
            return error.sentence
        self._change(aliases=tuple(aliases), drop_rules=tuple(drop_rules))
        self._restart()
        return None

    def _restart(self) -> None:
        if self.state != "off":
            self.start()

    def set_keeps_requests(self, *, keeps_requests: bool) -> None:
        """Change whether requests are stored as conversations from now on."""
        self._change(keeps_requests=keeps_requests)

    def make_key(self) -> None:
        """Replace the API key. The old key is refused from now on."""
        self.key = Key(made_key(), "made")
        self.start(keeps_key=True)

    def _change(self, **changes: object) -> None:
        settings = self._preferences.settings.local_api
        self._preferences.change(local_api=msgspec.structs.replace(settings, **changes))

    # --- start and end -------------------------------------------------------------------------------------

    def start(self, *, keeps_key: bool = False) -> None:
        """Start or restart the server process. With `keeps_key`, a newly made key is stored in the keyring."""
        relay = self._forget_relay()
        self._num_starts += 1
        number, key, note = self._num_starts, self.key, self._note
        self._be("starting")

        def prepare() -> None:
            # The port is free once the process before has ended. The keyring may ask for its password.
            if relay is not None:
                relay.stop()
            self._prepared.emit(number, _found_key(key, note, keeps=keeps_key))

        self._run(prepare)

    def close(self) -> None:
        """End all streams and the server process, and wait until they have ended."""
        self._begin_end()
        for thread in self._threads:
            thread.join()

    def _begin_end(self) -> None:
        relay = self._forget_relay()
        self._num_starts += 1
        if relay is not None:
            self._run(relay.stop)

    def _run(self, work: Callable[[], None]) -> None:
        """Do work in a thread, after the work of all earlier calls: a process needs the port of the one before."""
        before = [thread for thread in self._threads if thread.is_alive()]

        def work_in_turn() -> None:
            for thread in before:
                thread.join()
            work()

        thread = threading.Thread(target=work_in_turn, name="local API", daemon=True)
        self._threads = [*before, thread]
        thread.start()

    def _forget_relay(self) -> Relay | None:
        """Give up the relay and return it. The caller must stop it. None if there is none."""
        relay, self._owner = self._relay, None
        self._pings.stop()
        self._session.link.takes_first = _takes_none
        self._waiting = []
        self.address = self.network_address = ""
        self._look()
        return relay

    def _on_prepared(self, number: int, found: Key | Sentence) -> None:
        if number != self._num_starts:
            return
        if isinstance(found, Sentence):
            self._fail(found)
            return
        self.key = found
        owner = _Owner(self._session.link, self._status(), self._models, self._received.emit)
        chosen = self._preferences.settings.local_api
        settings = ServerSettings(
            key_digest=digest(found.text),
            port=chosen.port,
            host=_ALL_ADDRESSES if chosen.allows_network else _THIS_COMPUTER,
            aliases=chosen.aliases,
            drop_rules=chosen.drop_rules,
            # Late events of an earlier relay must not answer requests of this one.
            id_prefix=f"api{number}-",
            turns=self._turns,
        )
        try:
            relay = owner.relay = Relay(settings, owner, exchanged=owner.on_exchange)
        except OSError as error:
            self._fail(
                Sentence(
                    "The local API can't be switched on, because its process could not be started ({error}). "
                    "Close other programs, then switch it off and on again.",
                    error=error.strerror,
                )
            )
            return
        self._owner = owner
        self._session.link.takes_first = relay.take
        relay.tell(owner.status)

    def _be(self, state: State, problem: Sentence | None = None) -> None:
        self.state, self.problem = state, problem
        self.changed.emit()

    def _fail(self, why: Sentence) -> None:
        self._begin_end()
        self._be("failed", why)
        self.failed.emit(why)

    def _ping(self) -> None:
        """Check whether the server process responds.

        The time of a blocked window or a sleeping computer counts once.
        """
        if self._relay is None:
            return
        was_silent = self._relay.is_silent
        self._relay.ping()
        if self._relay.is_silent and not was_silent:
            self.failed.emit(
                Sentence(
                    "The local API's process does not respond, so other programs get no answers. Wait, or switch the "
                    "local API off and on again in the settings."
                )
            )
        elif was_silent and not self._relay.is_silent:
            self.changed.emit()

    # --- the relay's news ----------------------------------------------------------------------------------

    def _on_news(self, owner: _Owner, news: _News) -> None:
        if owner is not self._owner:
            return
        match news:
            case Listening():
                self.address = f"http://{_THIS_COMPUTER}:{news.port}/v1"
                own = "" if news.host == _THIS_COMPUTER else _own_address()
                self.network_address = f"http://{own}:{news.port}/v1" if own else ""
                self._pings.start()
                self._be("on")
                if news.unremembered is not None:
                    self.set_aside.emit(_unremembered(news.unremembered))
            case NotListening():
                port = str(self._preferences.settings.local_api.port)
                self._fail(
                    Sentence(
                        "The local API can't be switched on, because port {port} can't be used: another program may "
                        "have it. Choose another port in the settings.",
                        port=port,
                    )
                )
            case _Ended():
                self._fail(
                    Sentence(
                        "The local API's process stopped (exit code {code}). Your conversations are safe. "
                        "Switch the local API off and on again in the settings.",
                        code=str(news.exit_code),
                    )
                )
            case _Begun():
                if not self._timer.isActive():
                    self._timer.start()
                    self._look()
            case Exchange():
                self._session.note_useful()
                self.log.add(logged(news))
                self.logged.emit()
                if self._preferences.settings.local_api.keeps_requests:
                    request = kept_request(news)
                    if request is not None:
                        self._keep(request)
                self._look()
            case _Wanted():
                self._want(news)

    def _look(self) -> None:
        if not self.served:
            self._timer.stop()
        self.served_changed.emit()

    # --- the model -----------------------------------------------------------------------------------------

    def _want(self, wanted: _Wanted) -> None:
        question, present = wanted.question, self._model
        if wanted.model is None:
            # Only the client's program reads this.
            why = f"There is no model “{question.model}” here. “{present.id}” is loaded; GET /v1/models lists all."
            self._refuse(question, "not_found", why)
        elif wanted.model.id == present.id:
            self._wait(question, self._session.name)
            self._session.wake()
        elif not self._preferences.settings.local_api.allows_load:
            why = (
                f"“{present.id}” is loaded, and requests may load no other model. The user can allow it in Bough's "
                "settings, on the page “Local API”."
            )
            self._refuse(question, "not_allowed", why)
        elif (refusal := self._why_not_load(load_name(wanted.model))) is not None:
            self._refuse(question, "failed", refusal)
        else:
            self._load(load_name(wanted.model))
            self._wait(question, load_name(wanted.model))

    def _wait(self, question: UseModel, name: str) -> None:
        self._waiting.append(_Waiting(question, name))
        self._reply_to_waiting()

    def _refuse(self, question: UseModel, kind: Literal["not_found", "not_allowed", "failed"], why: str) -> None:
        if self._relay is not None:
            self._relay.tell(ModelRefused(request_id=question.request_id, kind=kind, why=str(why)))

    def _reply_to_waiting(self) -> None:
        session, waiting = self._session, self._waiting
        self._waiting = []
        for one in waiting:
            is_here = one.name == session.name
            if is_here and session.state == "ready" and self._relay is not None:
                self._relay.tell(ModelUsed(request_id=one.question.request_id))
            elif is_here and session.state == "failed":
                self._refuse(one.question, "failed", session.why_not(one.name) or "The model could not be loaded.")
            elif not is_here and session.state != "loading" and (why := session.why_not(one.name)) is not None:
                self._refuse(one.question, "failed", why)
            else:
                self._waiting.append(one)

    def _status(self) -> ModelStatus:
        session = self._session
        if not self._model.is_named(session.name):
            self._model, self._suggested = served_model(session.name), None
        if session.state != "ready":
            return ModelStatus(state=session.state, model=self._model, why=str(session.why_not(session.name) or ""))
        self._suggested = self._suggested or suggested(session.name)
        return ModelStatus(state="ready", model=self._model, loaded=session.info, suggested=self._suggested)

    def _on_session(self) -> None:
        owner = self._owner
        if owner is None or owner.relay is None:
            return
        status = self._status()
        if status != owner.status:
            owner.status = status
            owner.relay.tell(status)
        self._reply_to_waiting()

    def _on_worker_ended(self) -> None:
        if self._relay is not None:
            self._relay.fail_all()
            self._look()


def _own_address() -> str:
    """Return this computer's address in its network; empty if there is no network. No data are sent."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(_SOMEWHERE)
        return str(probe.getsockname()[0])
    return ""


def _takes_none(_event: Event) -> bool:
    return False


def _found_key(key: Key | None, note: Path, *, keeps: bool) -> Key | Sentence:
    """Return the API key to use, or a sentence that says why there is none. May wait for the keyring."""
    try:
        found = key or find_key(note)
    except KeyProblemError as error:
        return error.sentence
    if keeps and found.source == "made" and keep_key(found.text, note):
        return Key(found.text, "keyring")
    return found


def _unremembered(found: Unremembered) -> Sentence:
    if found.is_aside:
        return Sentence(
            "The remembered answers to other programs can't be loaded ({error}). If a program sends one of them back, "
            "the model reads it again. The file is kept as {file}.",
            error=verbatim(found.error),
            file=found.file,
        )
    return Sentence(
        "Answers to other programs can't be remembered ({error}). If a program sends one of them back, the model reads "
        "it again. Check the file {file}, then switch the local API off and on again.",
        error=verbatim(found.error),
        file=found.file,
    )
