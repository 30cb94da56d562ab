"""The cost of control: answers with a constraint or hooks against answers without; rewinding against feeding again.

It runs in this process and step by step, as the worker does. There are two models: the guide, whose steps are so short
that each microsecond of Python shows, and a llama with random weights and a vocabulary of today's usual size.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import mlx.core as mx
from tokenizers import Tokenizer

from tests.architectures import write_random_model
from tests.benchmarks.decode import endless_guide
from tests.benchmarks.measure import Row, compared, in_turn
from tests.models import llama_config
from tests.tokenizers import piecewise_tokenizer
from worker.answers.hook_folder import HookFolder
from worker.decision import Decision
from worker.language_model import LanguageModel, UnreadModel
from worker.layers import Layers
from worker.models.folder import find_model
from worker.protocol import Chunk, Constraint, Event, Finished, Generate, Sampling
from worker.requests.engine import Engine
from worker.requests.request import Ticket
from worker.step import Step

_AREA = "control"
_PROMPT = "How do I fork a message, and what is a branch?"
_VOCAB_SIZE = 128_000

_MAX_TOKENS = 1000
"""The limit for an answer that its constraint ends."""
_NUM_TIMED = 200
"""Number of tokens over which the main thread's time is measured."""

_KEPT = (2_000, 20_000)
_REWOUND = (1, 1_000)

_ANYTHING = Constraint(kind="regex", value=r"(.|\n)*")
_KEYS = (
    "is_the_first_branch_of_this_conversation",
    "has_been_answered_by_the_local_model",
    "was_edited_after_it_had_been_answered",
    "keeps_what_the_model_has_read_before",
    "shows_the_settings_of_the_answer_below",
    "may_be_continued_from_any_of_its_tokens",
    "was_rewound_to_a_token_in_the_middle",
    "is_shown_in_the_list_of_conversations",
)
_LONG_KEYS = Constraint(
    kind="json_schema",
    value={
        "type": "object",
        "properties": {key: {"enum": ["yes", "no", "maybe"]} for key in _KEYS},
        "required": list(_KEYS),
        "additionalProperties": False,
        # No white space: a model with random weights would sample blanks for as long as the constraint allows.
        "x-guidance": {"whitespace_pattern": ""},
    },
)
_LIST = Constraint(
    kind="json_schema",
    value={"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
)


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        subjects = (
            _Model("guide", _read(endless_guide(Path(folder) / "guide")), num_tokens=128, num_rounds=25),
            _Model("128k vocabulary", _read(_large(Path(folder) / "large")), num_tokens=32, num_rounds=9),
        )
    for measured in subjects:
        yield from _rates(measured)
        yield _main_thread(measured)
        yield from _rewind_rows(measured)


def _rates(measured: _Model) -> Iterator[Row]:
    sides: tuple[tuple[str, Mapping[str, Any], str], ...] = (
        ("constrained ÷ free", {"constraint": _ANYTHING}, ">= 0.97"),
        ("a hook that does nothing ÷ none", {"hooks": ["silent"]}, ">= 0.97"),
        ("a hook that reads probabilities ÷ none", {"hooks": ["curious"]}, ">= 0.97"),
        ("a hook that rejects a tenth ÷ none", {"hooks": ["picky"]}, ">= 0.85"),
        ("JSON with long keys ÷ free", {"constraint": _LONG_KEYS}, ">= 1.3"),
    )
    for name, asked, goal in sides:
        ours, theirs = in_turn(measured.num_rounds, partial(measured.tokens_per_s, **asked), measured.tokens_per_s)
        yield compared(_AREA, f"{measured.name}: {name}, tokens/s", ours, "without", theirs, goal)


def _main_thread(measured: _Model) -> Row:
    """Measure Python's time per token, independent of the machine: the model always returns the same logits at once."""
    both = partial(measured.main_thread_us, hooks=["silent"], constraint=_ANYTHING)
    with measured.answering_at_once():
        ours, theirs = in_turn(measured.num_rounds, both, measured.main_thread_us)
    return compared(_AREA, f"{measured.name}: main thread, hook + constraint, µs per token", ours, "neither", theirs)


# --- answers -----------------------------------------------------------------------------------------------


class _Model:
    """A model, and how many tokens and rounds are measured."""

    def __init__(self, name: str, model: LanguageModel, *, num_tokens: int, num_rounds: int) -> None:
        self.name = name
        self.model = model
        self.num_rounds = num_rounds
        self._num_tokens = num_tokens
        given = {"silent": lambda: _say_nothing, "curious": lambda: _look_at_probability, "picky": _Picky}
        self._engine = Engine(model, hooks=HookFolder(given=given))

    def tokens_per_s(self, **asked: Any) -> float:
        """Answer once; return tokens per second, counted after the first event with tokens."""
        first, num_first, rate = 0.0, 0, 0.0
        # This constraint ends the answer by itself.
        max_tokens = _MAX_TOKENS if asked.get("constraint") is _LONG_KEYS else self._num_tokens
        for event in self._events(max_tokens, asked):
            if isinstance(event, Chunk) and not first:
                first, num_first = time.perf_counter(), len(event.tokens)
            if isinstance(event, Finished):
                rate = (event.usage.generated_tokens - num_first) / (time.perf_counter() - first)
        return rate

    def main_thread_us(self, **asked: Any) -> float:
        """Answer once; return this thread's busy time for each token."""
        start = time.thread_time()
        for _ in self._events(_NUM_TIMED, asked):
            pass
        return (time.thread_time() - start) / _NUM_TIMED * 1e6

    @contextmanager
    def answering_at_once(self) -> Generator[None]:
        """Replace the model's computation: the same logits follow any tokens."""
        logits = mx.random.normal((1, self.model.vocab_size))
        mx.eval(logits)

        def forward(tokens: mx.array, layers: Layers) -> mx.array:
            return logits

        self.model.forward = forward
        try:
            yield
        finally:
            del self.model.forward

    def _events(self, max_tokens: int, asked: Mapping[str, Any]) -> Iterator[Event]:
        sampling = Sampling(temperature=0.8, seed=3)
        command = Generate(request_id=1, text=_PROMPT, max_tokens=max_tokens, sampling=sampling, **asked)
        self._engine.add(command, Ticket(1))
        event: Event | None = None
        while self._engine.is_busy:
            for event in self._engine.step():
                yield event
        assert isinstance(event, Finished), event
        # No answer ends early, and no hook was switched off for being slow.
        assert event.choices[0].reason == ("constraint" if max_tokens == _MAX_TOKENS else "length"), event
        assert not any(hook.is_off for hook in event.hooks), event


def _say_nothing(step: Step) -> None:
    if step.phase == "after":
        _ = step.token


def _look_at_probability(step: Step) -> Decision | None:
    return Decision(resample=True) if step.phase == "after" and step.probability < 0 else None


class _Picky:
    """Rejects a tenth of the tokens."""

    def __init__(self) -> None:
        self._rng = Random(1)

    def __call__(self, step: Step) -> Decision | None:
        is_rejected = step.phase == "after" and step.visit == 0 and self._rng.random() < 0.1
        return Decision(resample=True) if is_rejected else None


# --- rewinding ---------------------------------------------------------------------------------------------


def _rewind_rows(measured: _Model) -> Iterator[Row]:
    token_ids = _list_as_ids(measured.model, max(_KEPT))
    for num_kept in _KEPT:
        for number in _REWOUND:
            ours, theirs = _rewind_us(measured.model, token_ids[:num_kept], number)
            name = f"{measured.name}: rewind {number:,} of {num_kept:,} tokens, µs"
            yield compared(_AREA, name, ours, "feeding the earlier tokens again", theirs, "<= 0.1")


def _rewind_us(model: LanguageModel, token_ids: Sequence[int], number: int) -> tuple[list[float], list[float]]:
    """Measure the time to reach the mask `number` tokens before the end, by rewinding and by starting over."""
    before, last = token_ids[:-number], token_ids[-number:]
    constraint = model.constraints.new(_LIST)
    assert constraint.consume(token_ids)

    def rewind() -> float:
        start = time.perf_counter()
        constraint.rewind(number)
        constraint.mask()
        took_s = time.perf_counter() - start
        assert constraint.consume(last)
        return took_s * 1e6

    def feed_again() -> float:
        other = model.constraints.new(_LIST)
        start = time.perf_counter()
        assert other.consume(before)
        other.mask()
        return (time.perf_counter() - start) * 1e6

    return in_turn(5, rewind, feed_again)


def _list_as_ids(model: LanguageModel, num_tokens: int) -> list[int]:
    """Return the tokens of a list that is not closed yet."""
    ids: list[int] = []
    text = "["
    while len(ids) < num_tokens:
        text += "".join(json.dumps({"name": f"branch {number} of that"}) + ", " for number in range(200))
        ids = model.vocabulary.encode(text)
    return ids[:num_tokens]


# --- models ------------------------------------------------------------------------------------------------


def _read(folder: Path) -> LanguageModel:
    *_, model = UnreadModel(find_model(str(folder))).read()
    assert isinstance(model, LanguageModel)
    return model


def _large(folder: Path) -> Path:
    tokenizer = _large_tokenizer()
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    config = llama_config(size, hidden_size=256, layers=4, head_dim=64, heads=4, intermediate_size=512)
    return write_random_model(folder, tokenizer, config)


def _large_tokenizer() -> Tokenizer:
    """Build a byte-level BPE tokenizer whose pieces are made-up words and their prefixes, some with punctuation."""
    rng = Random(1)
    beginnings = ["b", "br", "d", "f", "g", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "th", "v", "w"]
    vowels = ["a", "e", "ea", "i", "o", "ou", "u", "y"]
    ends = ["", "ck", "l", "m", "n", "ng", "r", "s", "t"]
    marks = ["\n", '"', "\\", ",", '":', "(", "<", "{", "=", "."]
    pieces: list[bytes] = []
    known: set[bytes] = set()
    while len(known) < _VOCAB_SIZE - 258:  # without the single bytes and two control tokens
        if rng.random() < 0.15:
            piece = "".join(chr(rng.randrange(0x430, 0x450)) for _ in range(rng.randint(1, 5)))
        else:
            word = "".join(f"{rng.choice(beginnings)}{rng.choice(vowels)}{rng.choice(ends)}" for _ in range(4))
            piece = rng.choice(["", " "] if rng.random() < 0.9 else marks) + word[: rng.randint(2, 16)]
        pieces.append(piece.encode())
        known.update(pieces[-1][:end] for end in range(2, len(pieces[-1]) + 1))
    return piecewise_tokenizer(pieces)
