"""Answers under hooks from an engine of their own, as a client sees them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.trials import TRIALS
from worker.answers.hook_chain import Hook
from worker.answers.hook_folder import HookFolder
from worker.cache.prompt_cache import PromptCache
from worker.decision import Verdict
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model
from worker.protocol import Chunk, Event, Finished, Forked, Generate, Retract
from worker.requests.engine import Engine
from worker.requests.request import Ticket
from worker.step import Step

PLENTY = 1 << 30
PROMPT = [40, 41, 42, 43, 44]


def read(folder: Path) -> LanguageModel:
    *_, model = UnreadModel(find_model(str(folder)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    return model


def ask_once(
    model: LanguageModel, given: Mapping[str, Callable[..., Hook]] | None, *, looks_ahead: bool, **fields: Any
) -> list[Event]:
    asked: dict[str, Any] = {"token_ids": PROMPT, "max_tokens": 12, "hooks": list(given or {}), **fields}
    cache, hooks = PromptCache(model.new_layers, PLENTY), HookFolder(given=given, slow_s=math.inf)
    engine = Engine(model, cache, hooks, looks_ahead=looks_ahead)
    engine.add(Generate(request_id=1, **asked), Ticket(1))
    events: list[Event] = []
    while engine.is_busy:
        events += engine.step()
    return events


def ask(model: LanguageModel, given: Mapping[str, Callable[..., Hook]] | None = None, **fields: Any) -> list[Event]:
    """Answer one request both with and without launching ahead, and compare the results."""
    heard = [ask_once(model, given, looks_ahead=looks_ahead, **fields) for looks_ahead in (False, True)]
    if any(isinstance(event, Forked) for event in heard[0]):
        # If several answers fork, their order in the batch may differ, and with it the numbers of the forks.
        assert answers(heard[0]) == answers(heard[1])
    else:
        assert told(heard[0]) == told(heard[1])
    return heard[0]


def answers(events: Sequence[Event]) -> list[tuple[object, ...]]:
    """Return the results of all answers and forks."""
    ended = [event for event in events if isinstance(event, Finished)]
    return sorted((choice.text, choice.token_ids, choice.reason) for event in ended for choice in event.choices)


def told(events: Sequence[Event]) -> dict[int, list[object]]:
    """Return the events of each answer in order."""
    by_choice: dict[int, list[object]] = {}
    for event in events:
        match event:
            case Chunk():
                tokens = [(token.id, token.origin) for token in event.tokens]
                by_choice.setdefault(event.choice, []).append((event.text, tokens))
            case Retract():
                by_choice.setdefault(event.choice, []).append((event.num_chars, event.num_tokens))
            case _:
                pass
    return by_choice


@dataclass
class Shown:
    """The text that a client shows."""

    text: str = ""
    token_ids: list[int] = field(default_factory=list[int])
    num_given_chars_back: int = 0
    """Characters taken back from the given text."""
    has_healed: bool = False
    """Whether there are tokens that spell given text, which are not part of the answer."""


def on_screen(events: Sequence[Event]) -> dict[int, Shown]:
    """Apply the events as a client would."""
    screens: dict[int, Shown] = {}
    for event in events:
        match event:
            case Chunk():
                screen = screens.setdefault(event.choice, Shown())
                screen.text += event.text
                screen.token_ids += [token.id for token in event.tokens]
                screen.has_healed |= any(token.origin == "healed" for token in event.tokens)
            case Retract():
                screen = screens.setdefault(event.choice, Shown())
                assert event.num_chars <= len(screen.text)
                assert event.num_tokens <= len(screen.token_ids)
                screen.text = screen.text[: len(screen.text) - event.num_chars]
                screen.token_ids = screen.token_ids[: len(screen.token_ids) - event.num_tokens]
                screen.num_given_chars_back += event.num_given_chars
            case Forked():
                parent = screens.get(event.parent, Shown())
                assert event.choice not in screens
                text, token_ids = parent.text[: event.num_chars], parent.token_ids[: event.num_tokens]
                screens[event.choice] = Shown(text, token_ids, parent.num_given_chars_back, parent.has_healed)
            case _:
                pass
    return screens


def finished(events: Sequence[Event]) -> Finished:
    assert isinstance(events[-1], Finished), events[-1]
    for choice, shown in on_screen(events).items():
        answer = events[-1].choices[choice]
        assert shown.text == answer.text
        assert shown.num_given_chars_back == answer.num_given_chars
        if shown.has_healed:
            continue
        # An unfinished character at the end is not part of its tokens.
        num_whole = len(answer.token_ids) - answer.num_recut
        assert shown.token_ids[:num_whole] == answer.token_ids[:num_whole]
    return events[-1]


def once(place: int, verdict: Verdict, phase: str = "after") -> Callable[[], Hook]:
    """A hook that returns a decision at one position, once."""

    def make() -> Hook:
        has_said = False

        def hook(step: Step) -> Verdict:
            nonlocal has_said
            if step.position == place and step.phase == phase and not has_said:
                has_said = True
                return verdict
            return None

        return hook

    return make


def count(model: LanguageModel, hooks: Mapping[str, Callable[..., Hook]], **fields: Any) -> list[Event]:
    ids = model.vocabulary.encode("a")
    return ask(model, hooks, token_ids=ids, max_tokens=fields.pop("max_tokens", 6), **fields)


def ids(model: LanguageModel, text: str) -> list[int]:
    return [token_id for letter in text for token_id in model.vocabulary.encode(letter)]


def text_of(events: list[Event]) -> str:
    return finished(events).choices[0].text
