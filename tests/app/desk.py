"""A controller with a real store and a link behind which the test itself is the worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from msgspec.structs import replace
from typing_extensions import override

from app.answers.answers import Answers
from app.answers.model_session import ModelSession
from app.answers.sessions import Sessions
from app.answers.worker_link import WorkerLink
from app.conversation.controller import Controller
from app.model.cache_folder import CacheFolder
from app.model.message import Message
from app.model.store import Store
from app.notices import Notice
from app.preferences import Preferences
from app.program import Program
from worker.errors import ModelNotFoundError, failed
from worker.events import notices_of
from worker.protocol import (
    Cancel,
    Choice,
    Chunk,
    Command,
    Event,
    Failed,
    Finished,
    FinishReason,
    Generate,
    Heartbeat,
    LoadModel,
    ModelLoaded,
    PrefillProgress,
    Timing,
    Usage,
)
from worker.sentence import Sentence, verbatim


class ScriptedLink(WorkerLink):
    """Records the commands; the test sends the events."""

    def __init__(self) -> None:
        super().__init__(_no_client)
        self.commands: list[Command] = []
        self.num_started = 0
        self.cannot_start = False
        self.on_send: Callable[[Command], None] = lambda _: None
        self._is_up = False
        self.last_heartbeat: Heartbeat | None = None

    @property
    @override
    def heartbeat(self) -> Heartbeat | None:
        return self.last_heartbeat

    @property
    @override
    def is_started(self) -> bool:
        return self._is_up

    @override
    def start(self, *, is_remote: bool = False) -> None:
        self.is_remote = is_remote
        if self.cannot_start:
            raise OSError(11, "Resource temporarily unavailable")
        assert not self._is_up
        self._is_up = True
        self.num_started += 1

    @override
    def send(self, command: Command) -> bool:
        if self._is_up:
            self.on_send(command)
            self.commands.append(command)
        return self._is_up

    @override
    def end(self) -> None:
        self.die()

    @override
    def stop(self, patience_s: float = 2.0) -> None:
        self._is_up = False

    def say(self, event: Event) -> None:
        self.received.emit(event)

    def die(self, exit_code: int = -9) -> None:
        self._is_up = False
        self.exited.emit(exit_code)

    # --- commands --------------------------------------------------------------------------------------------

    @property
    def asked(self) -> list[Generate]:
        return [command for command in self.commands if isinstance(command, Generate)]

    @property
    def cancelled(self) -> list[Cancel]:
        return [command for command in self.commands if isinstance(command, Cancel)]

    @property
    def loads(self) -> list[LoadModel]:
        return [command for command in self.commands if isinstance(command, LoadModel)]

    # --- events ----------------------------------------------------------------------------------------------

    def loaded(
        self,
        draft_refused: str = "",
        thinking_option: str | None = None,
        notices: Sequence[Sentence] = (),
        *,
        has_template: bool = True,
        versions: Mapping[str, str] | None = None,
    ) -> None:
        """Report that the last requested model is loaded, with its draft model unless another is given."""
        load = self.loads[-1]
        self.say(
            ModelLoaded(
                request_id=load.request_id,
                model=load.model,
                architecture="llama",
                num_parameters=1,
                context_length=2048,
                vocab_size=300,
                weights_bytes=1,
                kv_bytes_per_token=1,
                cache_kind="trimmable",
                draft_model=None if draft_refused else load.draft_model,
                notices=notices_of(notices),
                draft_refused=draft_refused,
                thinking=thinking_option is not None,
                thinking_option=thinking_option,
                identity="a hash",
                versions=dict(versions or {"mlx": "1"}),
                has_template=has_template,
            )
        )

    def load_failed(self, message: str = "It is not there. Choose another one.", *, still_loaded: bool = False) -> None:
        event = failed(self.loads[-1].request_id, ModelNotFoundError(verbatim(message)))
        self.say(replace(event, still_loaded=still_loaded))

    def chunk(self, request: Generate, text: str, choice: int = 0) -> None:
        self.say(Chunk(request_id=request.request_id, choice=choice, text=text, tokens=[]))

    def reading(self, request: Generate, done: int, total: int, cached: int) -> None:
        self.say(PrefillProgress(request_id=request.request_id, done=done, total=total, cached=cached))

    def finished(
        self,
        request: Generate,
        text: str,
        reason: FinishReason = "eos",
        turn: Sequence[int] = (1, 2, 3),
        new: Sequence[int] = (),
    ) -> None:
        choice = Choice(text=text, token_ids=list(new), num_recut=0, seed=5, reason=reason, turn_token_ids=list(turn))
        usage = Usage(prompt_tokens=10, cached_tokens=4, prefilled_tokens=6, generated_tokens=3)
        self.say(Finished(request_id=request.request_id, choices=[choice], usage=usage, timing=Timing()))

    def finished_all(self, request: Generate, texts: Sequence[str], reason: FinishReason) -> None:
        """End several answers, each with its text, for one reason."""
        choices = [
            Choice(text=text, token_ids=[], num_recut=0, seed=5 + number, reason=reason, turn_token_ids=[1, 2, 3])
            for number, text in enumerate(texts)
        ]
        self.say(Finished(request_id=request.request_id, choices=choices, usage=Usage(), timing=Timing()))

    def failed(self, request: Generate, message: str = "It went wrong. Try again.") -> None:
        self.say(Failed(request_id=request.request_id, kind="internal", message=message))


def _no_client() -> NoReturn:
    raise AssertionError("There is no process here")


class Clock:
    """A clock that a test moves on."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def read(self) -> float:
        return self.seconds


class Desk:
    """Everything below the window, put together as the application does it."""

    def __init__(self, folder: Path, *, flushes_in_background: bool = False) -> None:
        """`flushes_in_background`: as in the application. Otherwise a request is sent before the method returns."""
        self.folder = folder
        self.path = folder / "conversations.sqlite3"
        self.store = Store(self.path, patience_ms=20)
        self.store.clean_up(verbatim("Bough ended."))
        if flushes_in_background:
            self.store.flush_in_background()
        self.link, self.guide_link, self.ahead_link = ScriptedLink(), ScriptedLink(), ScriptedLink()
        self.session = ModelSession(self.link)
        self.sessions = Sessions(
            self.session, ModelSession(self.guide_link), ModelSession(self.ahead_link, max_deaths=1)
        )
        self.clock = Clock()
        """The time by which the answers are saved."""
        self.answers = Answers(self.sessions, self.store, clock=self.clock.read)
        self.preferences = Preferences(folder / "settings.json")
        self.cache_folder = CacheFolder(folder / "prompt-cache")
        self.program = Program(
            store=self.store,
            answers=self.answers,
            sessions=self.sessions,
            preferences=self.preferences,
            cache_folder=self.cache_folder,
            models_folder=folder / "models",
        )
        self.controller = Controller(self.program)
        self.notices: list[Notice] = []
        self.unsent: list[str] = []
        self.program.notices.posted.connect(self.notices.append)
        self.controller.unsent.connect(self.unsent.append)
        self.session.load("guide")
        self.link.loaded()

    def close(self) -> None:
        self.answers.interrupt_all(verbatim("Bough ended."))
        self.store.close()

    def ask(self, text: str, answer: str) -> Message:
        """Send a question and answer it. Return the answer."""
        self.controller.send(text)
        return self.answer(answer)

    def answer(self, text: str) -> Message:
        """Answer the last request, in two pieces. Return the last message of the visible branch."""
        request = self.link.asked[-1]
        self.link.chunk(request, text[:2])
        self.link.chunk(request, text[2:])
        self.link.finished(request, text)
        return self.controller.shown.path[-1]

    def stored(self, message: Message) -> Message:
        """Return a message as the store has it now."""
        assert self.controller.shown.conversation is not None
        return next(
            stored
            for stored in self.store.messages.shown_by(self.controller.shown.conversation.id)
            if stored.id == message.id
        )

    def by_text(self, text: str) -> Message:
        return next(message for message in self.controller.shown.path if message.text == text)
