"""Requests that arrive, stream, are cancelled and fork in random order, against each answer generated alone.

A real server handles them; after each event, chance decides which command comes next. The oracle is as plain as
possible: a new engine that generates one choice of one request. The tokens must be equal unless two of them are so
close that a change within rounding samples the other one. `BOUGH_FUZZ_TALKS` is the number of runs of
`make test-long`.
"""

from __future__ import annotations

import contextlib
import os
import random
from collections import Counter
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tokenizers import Tokenizer
from typing_extensions import override

from tests.architectures import (
    ARCHITECTURES,
    small_gemma3,
    small_lfm2,
    small_llama,
    small_mamba,
    write_random_model,
)
from tests.long import in_long_runs
from tests.trials import TRIALS
from tests.worker.rounding import is_close, request_of
from worker import host
from worker.cache.disk_cache import DiskCache
from worker.cache.prompt_cache import PromptCache
from worker.inbox import EndOfInput, Inbox
from worker.language_model import LanguageModel, UnreadModel
from worker.layers import num_bytes_in, stacks_of
from worker.models.folder import find_model
from worker.protocol import (
    Answered,
    CacheStats,
    CacheStatsReport,
    Cancel,
    Choice,
    Chunk,
    Continuation,
    Done,
    Event,
    Failed,
    Finished,
    Generate,
    Message,
    Plan,
    Planned,
    Prompt,
    RequestId,
    Sampling,
    Segment,
    Token,
)
from worker.requests.engine import Engine
from worker.requests.request import Request, Ticket
from worker.requests.turns import Turns
from worker.server import Server
from worker.text.tokenizing import Patience

NUM_TALKS = int(os.environ.get("BOUGH_FUZZ_TALKS", "5"))
CONTEXT_LENGTH = 96
PLENTY = 1 << 30
TERMINAL = (Finished, Planned, CacheStatsReport, Done, Failed)

# Keys and values of all positions; windows; states beside them; states only; both in one layer; several caches in one
# layer, chunks, and quantized layers, none of which can be batched.
MODELS: dict[str, Callable[[int], dict[str, Any]]] = {
    "llama": small_llama,
    "gemma3": lambda _: small_gemma3(window=12),
    "lfm2": lambda _: small_lfm2(),
    "mamba": lambda _: small_mamba(),
    "falcon_h1": lambda _: ARCHITECTURES["falcon_h1"],
    "deepseek_v32": lambda _: ARCHITECTURES["deepseek_v32"],
    "llama4": lambda _: ARCHITECTURES["llama4"],
    "llama in 8 bits": lambda size: small_llama(size) | {"head_dim": 32},
}


class Oracle:
    """The answers of one model to single requests."""

    def __init__(self, model: LanguageModel) -> None:
        self.model = model
        self._known: dict[str, list[Event]] = {}

    def request(self, command: Generate) -> Request:
        with self._without_patience():
            return request_of(self.model, command)

    @contextlib.contextmanager
    def _without_patience(self) -> Generator[None]:
        vocabulary = self.model.vocabulary
        before, vocabulary.patience = vocabulary.patience, None
        try:
            yield
        finally:
            vocabulary.patience = before

    def alone(self, command: Generate, choice: int) -> list[Event]:
        seed = (command.sampling.seed or 0) + choice
        one = replace(command, request_id=0, n=1, sampling=replace(command.sampling, seed=seed))
        if (key := repr(one)) not in self._known:
            engine = Engine(self.model, PromptCache(self.model.new_layers, PLENTY), looks_ahead=False)
            engine.add(one, Ticket(0))
            self._known[key] = events = []
            with self._without_patience():
                while engine.is_busy:
                    events += engine.step()
        return self._known[key]


class TurnsByChance(Turns):
    """Turns of reading and decoding that no clock decides, so that a seed repeats them."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__()
        self._dice = dice
        self._share = dice.random()

    @property
    def is_for_decoding(self) -> bool:
        return self._dice.random() < self._share


class PatienceByChance(Patience):
    """Calls `meanwhile` whenever a text is tokenized, as often as chance decides."""

    def __init__(self, dice: random.Random, meanwhile: Callable[[], bool]) -> None:
        super().__init__(meanwhile)
        self._dice = dice

    @override
    def note(self, num_chars: int) -> None:
        for _ in range(self._dice.choice([0, 0, 1, 4, 20])):
            self._go_on()


class Talk:
    """One server with one cache, and all commands and events."""

    def __init__(self, oracle: Oracle, dice: random.Random, disk_folder: Path) -> None:
        self.oracle = oracle
        self.model = oracle.model
        self.dice = dice
        few = self.model.num_bytes_at(64)
        self.limit_bytes = dice.choice([PLENTY, PLENTY, few * dice.randint(1, 8), few * dice.randint(1, 60) // 64, 0])
        disk = (
            DiskCache(disk_folder, self.model.identity(), dice.choice([None, 60_000])) if dice.random() < 0.4 else None
        )
        cache = PromptCache(self.model.new_layers, self.limit_bytes, disk)
        turns = TurnsByChance(random.Random(dice.random()))
        self.engine = Engine(self.model, cache, looks_ahead=dice.random() < 0.5, turns=turns)
        self.inbox = Inbox()
        self.server = Server(self.inbox, self.emit)
        self.server._host._engine = self.engine  # pyright: ignore[reportPrivateUsage]
        self.roots = [[dice.randrange(40, 300) for _ in range(60)]]
        self.roots.append(self.roots[0][: dice.randint(1, 40)] + [dice.randrange(40, 300) for _ in range(30)])
        self.said: list[list[int]] = []
        """Prompts followed by an answer."""
        self.events: list[Event] = []
        self.sent: dict[RequestId, Generate] = {}
        self.planned: dict[RequestId, RequestId] = {}
        """By a request's id, the id of the plan of the same prompt that was sent just before it to an idle server."""
        self.cancelled: dict[RequestId, set[int]] = {}
        self.open: Counter[RequestId] = Counter()
        self.num_left = dice.randint(4, 12)
        self.share_of_messages = 0.15
        self.has_ended = False

    def run(self) -> None:
        self.send()
        self.server.run()
        assert not +self.open
        assert not self.engine.is_busy
        assert self.engine.cache.reserved_bytes == 0
        for request_id, command in self.sent.items():
            self.check(command, [event for event in self.events if event.request_id == request_id])

    # --- commands --------------------------------------------------------------------------------------------

    def emit(self, event: Event) -> None:
        self.events.append(event)
        if isinstance(event, TERMINAL):
            assert event.request_id is not None
            self.open[event.request_id] -= 1
            assert self.open[event.request_id] == 0
        if isinstance(event, Finished):
            assert event.request_id is not None
            sequence = self.oracle.request(self.sent[event.request_id]).sequence if event.usage.prompt_tokens else []
            self.said += [sequence + choice.token_ids for choice in event.choices if choice.token_ids]
        if isinstance(event, CacheStatsReport):
            assert event.bytes == self.num_bytes_held()
        if not +self.open or self.dice.random() < 0.4:
            self.send()

    def send(self) -> None:
        if self.num_left:
            self.num_left -= 1
            self.send_one(len(self.sent) + len(self.events) * 100 + 1)
        elif not +self.open and not self.has_ended:
            # At the end, every answer is continued.
            self.has_ended = True
            for number, said in enumerate(self.said[-8:]):
                sampling, ids = Sampling(seed=0), said[: CONTEXT_LENGTH - 2]
                command = Generate(request_id=f"last {number}", token_ids=ids, max_tokens=2, sampling=sampling)
                self.sent[command.request_id] = command
                self.put(command)
            self.inbox.put(EndOfInput())

    def put(self, command: Generate | Plan | Cancel | CacheStats) -> None:
        self.open[command.request_id] += 1
        self.inbox.put(command)

    def send_one(self, request_id: int) -> None:
        kind = self.dice.random()
        if kind < 0.65 or not self.sent:
            command = self.command(request_id)
            if not +self.open and self.dice.random() < 0.5:
                try:
                    ids = self.oracle.request(command).sequence
                except Exception:  # noqa: BLE001 (what can't be answered is not planned)
                    ids = [1]
                self.planned[request_id] = -request_id
                self.put(Plan(request_id=-request_id, prompts=[Prompt(token_ids=ids)]))
            self.sent[request_id] = command
            self.put(command)
        elif kind < 0.82:
            target = self.dice.choice(list(self.sent)[-4:])
            choice = self.dice.choice([None, 0, 1, 2, 4])
            if self.open[target]:
                self.cancelled.setdefault(target, set()).update(range(5) if choice is None else [choice])
            self.put(Cancel(request_id=request_id, target=target, choice=choice))
        elif kind < 0.91:
            self.put(CacheStats(request_id=request_id))
        else:
            self.put(Plan(request_id=request_id, prompts=[Prompt(token_ids=self.prompt_ids()) for _ in range(3)]))

    def command(self, request_id: int) -> Generate:
        dice = self.dice
        continuations = [Continuation(text=text) for text in ("Hello th", "The qui", "")]
        continuations.append(Continuation(token_ids=[50, 60]))
        fields: dict[str, Any] = {"token_ids": self.prompt_ids()}
        if dice.random() < self.share_of_messages:
            contents = [dice.choice(["Hi", "Hello there, the tree"]) for _ in range(dice.choice([1, 3, 7]))]
            messages = [
                Message(role="assistant" if number % 2 else "user", content=text)
                for number, text in enumerate(contents)
            ]
            fields = {"messages": messages, "overflow": dice.choice(["fail", "drop_oldest"])}
        if dice.random() < 0.2:
            fields["continuation"] = dice.choice(continuations)
        if dice.random() < 0.1:
            fields["segments"] = [Segment(stop=["e"]), Segment(max_tokens=3), Segment(stop=["a", "th"])]
        else:
            fields["stop"] = dice.choice([[], [], ["e"], ["a", "th"], ["\n", " "], ["qu"]])
        sampling = Sampling(
            temperature=dice.choice([0, 1, 1]),
            seed=dice.randint(1, 4),
            top_p=dice.choice([1, 1, 0.9]),
            repetition_penalty=dice.choice([1, 1, 1, 1.3]),
        )
        return Generate(
            request_id=request_id,
            n=dice.choice([1, 1, 1, 2, 3, 5]),
            sampling=sampling,
            max_tokens=dice.choice([1, 2, 5, 13, None]),
            top_logprobs=dice.choice([0, 0, 0, 3]),
            **fields,
        )

    def prompt_ids(self) -> list[int]:
        """Return the beginning of one of two similar prompts or of an earlier answer, sometimes with new tokens."""
        dice = self.dice
        root = dice.choice(self.said if self.said and dice.random() < 0.6 else self.roots)
        ids = root[: dice.choice([1, 2, dice.randint(1, len(root)), len(root), len(root)])]
        ids = ids + [dice.randrange(40, 300) for _ in range(dice.choice([0, 0, 1, 4, 11]))]
        return ids[: CONTEXT_LENGTH - 2] if dice.random() < 0.97 else ids * 9

    # --- events ----------------------------------------------------------------------------------------------

    def num_bytes_held(self) -> int:
        """Count the bytes of all arrays one by one."""
        cache, batch = self.engine.cache, self.engine._decoder._batch  # pyright: ignore[reportPrivateUsage]
        runs = list(cache._tree.runs())  # pyright: ignore[reportPrivateUsage]
        held = [stack.arrays for stack in stacks_of(cache.branch.layers)]
        held += [[run.kept.parts, run.kept.states] for run in runs]
        rows = [] if batch is None else [each for layer in batch.layers for each in getattr(layer, "caches", [layer])]
        return num_bytes_in([*held, *(list(row.__dict__.values()) for row in rows)])

    def check(self, command: Generate, events: list[Event]) -> None:
        end = events[-1]
        if isinstance(end, Failed):
            alone = self.oracle.alone(command, 0)[-1]
            assert isinstance(alone, Failed)
            assert (end.kind, end.message) == (alone.kind, alone.message)
            return
        assert isinstance(end, Finished)
        answered = [event for event in events if isinstance(event, Answered)]
        assert len({event.choice for event in answered}) == len(answered)
        assert len(answered) == (command.n - 1 if end.usage.prompt_tokens else 0)
        for number, choice in enumerate(end.choices):
            self.check_choice(command, number, choice, events)
        if all(choice.reason == "cancelled" for choice in end.choices):
            return
        usage = end.usage
        computed = usage.cached_tokens + usage.prefilled_tokens
        assert computed >= usage.prompt_tokens
        if self.limit_bytes == PLENTY and command.segments is None:
            # A prompt is read once; when answers come one after another, each begins by reading its last token again.
            assert computed <= usage.prompt_tokens + (0 if self.model.can_batch else command.n - 1)
        if command.request_id in self.planned:
            plan = next(event for event in self.events if event.request_id == self.planned[command.request_id])
            assert isinstance(plan, Planned)
            assert plan.plans[0].cached_tokens == usage.cached_tokens

    def check_choice(self, command: Generate, number: int, choice: Choice, events: list[Event]) -> None:
        chunks = [event for event in events if isinstance(event, Chunk) and event.choice == number]
        assert "".join(chunk.text for chunk in chunks) == choice.text
        alone = self.oracle.alone(command, number)
        end = alone[-1]
        if choice.reason == "cancelled":
            assert number in self.cancelled[command.request_id]
        if isinstance(end, Failed):
            assert choice.reason == "cancelled"
            return
        assert isinstance(end, Finished)
        tokens, expected = _tokens(chunks), _tokens([event for event in alone if isinstance(event, Chunk)])
        said, other = ([token.id for token in each] for each in (tokens, expected))
        is_same = said == other[: len(said)] if choice.reason == "cancelled" else choice == end.choices[0]
        assert is_same or is_close(self.model, command, other, said, number)
        if is_same and command.top_logprobs:
            for token, like in zip(tokens, expected, strict=False):
                assert token.logprob == pytest.approx(like.logprob, abs=2e-2)
                assert len(token.top) == command.top_logprobs


def _tokens(chunks: list[Chunk]) -> list[Token]:
    return [token for chunk in chunks for token in chunk.tokens]


@pytest.fixture(
    scope="module",
    params=[
        *("llama", "lfm2"),
        *in_long_runs(["gemma3", "deepseek_v32", "mamba", "falcon_h1", "llama4", "llama in 8 bits"]),
    ],
)
def oracle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, byte_level: Tokenizer) -> Oracle:
    config = MODELS[request.param](byte_level.get_vocab_size(with_added_tokens=True))
    inner = config.get("text_config")
    config |= {"max_position_embeddings": CONTEXT_LENGTH}
    config |= {} if inner is None else {"text_config": inner | {"max_position_embeddings": CONTEXT_LENGTH}}
    folder = write_random_model(tmp_path_factory.mktemp("random") / "model", byte_level, config)
    *_, model = UnreadModel(find_model(str(folder)), TRIALS).read()
    assert isinstance(model, LanguageModel)
    if "bits" in request.param:
        model.quantize_kv(8)
    return Oracle(model)


@pytest.mark.parametrize("number", [0, *in_long_runs(range(1, NUM_TALKS))])
def test_every_answer_equals_the_one_generated_alone_despite_other_requests(
    oracle: Oracle, tmp_path: Path, number: int
):
    Talk(oracle, random.Random(number), tmp_path).run()


@pytest.mark.parametrize("number", [0, *in_long_runs(range(1, NUM_TALKS))])
def test_every_answer_is_the_same_when_other_work_is_done_while_prompts_are_made(
    oracle: Oracle, tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
):
    # Some of the messages are shorter.
    monkeypatch.setattr(host, "LONG_TEXT", 20)
    dice = random.Random(number)
    talk = Talk(oracle, dice, tmp_path)
    talk.share_of_messages = 0.7
    patience = PatienceByChance(dice, talk.server._work_meanwhile)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(oracle.model.vocabulary, "patience", patience)
    talk.run()
