"""The cost of `plan` for a hundred nodes of one conversation's tree, from the command's bytes to the reply's.

The tree view sends it again whenever the tree changes: each round here adds a message.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

from tests.architectures import small_llama, write_random_model
from tests.benchmarks.measure import Row, alone
from tests.models import byte_level_tokenizer
from worker.encoding import command_from_msgpack, to_msgpack
from worker.language_model import LanguageModel, UnreadModel
from worker.models.folder import find_model
from worker.protocol import Generate, Message, Plan, Planned, Prompt
from worker.requests.engine import Engine
from worker.requests.request import Ticket

_AREA = "prompt cache"
_NUM_TURNS = 40
_NUM_TOKENS = 200
_NUM_PROMPTS = 100
_NUM_ROUNDS = 9


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        model = _loaded(Path(folder) / "model")
    tree = _Tree(model)
    engine = Engine(model)
    engine.add(Generate(request_id="r", messages=tree.paths_of_messages()[_NUM_TURNS - 1], max_tokens=1), Ticket("r"))
    while engine.is_busy:
        engine.step()
    first = _ms(engine, tree.with_paths())
    again: list[float] = []
    complete: list[float] = []
    for _ in range(3 * _NUM_ROUNDS):
        tree.grow()
        again.append(_ms(engine, tree.with_paths()))
    for _ in range(_NUM_ROUNDS):
        tree.grow()
        complete.append(_ms(engine, tree.complete()))
    name = f"plan for {_NUM_PROMPTS} nodes of a tree of {_NUM_TURNS} turns"
    yield from (
        alone(_AREA, f"{name}, one message after the last time, ms", again, "<= 5"),
        alone(_AREA, "the same, each prompt written out, ms", complete),
        alone(_AREA, "the same, the first time, ms", [first]),
    )


def _ms(engine: Engine, frame: bytes) -> float:
    begin = time.perf_counter()
    command = command_from_msgpack(frame)
    assert isinstance(command, Plan)
    plans = engine.plan(command)
    to_msgpack(Planned(request_id=command.request_id, plans=plans))
    took_ms = (time.perf_counter() - begin) * 1e3
    assert len(plans) == _NUM_PROMPTS
    assert sum(plan.cached_tokens > 0 for plan in plans) > _NUM_PROMPTS // 2
    return took_ms


class _Tree:
    """A branch of turns, and siblings of its messages."""

    def __init__(self, model: LanguageModel) -> None:
        self._vocabulary = model.vocabulary
        self._rng = Random(4)
        self._messages = [self._message(number) for number in range(_NUM_TURNS)]
        self._paths = [list(range(number + 1)) for number in range(_NUM_TURNS)]
        while len(self._paths) < _NUM_PROMPTS:
            index = self._rng.randrange(1, _NUM_TURNS)
            self._paths.append([*range(index), len(self._messages)])
            self._messages.append(self._message(index))

    def grow(self) -> None:
        """Add a message below one of the nodes, and remove an old one."""
        path = self._rng.choice(self._paths[:_NUM_TURNS])
        self._paths.append([*path, len(self._messages)])
        self._messages.append(self._message(len(path)))
        del self._paths[_NUM_TURNS]

    def with_paths(self) -> bytes:
        used = {index: number for number, index in enumerate(sorted({index for path in self._paths for index in path}))}
        messages = [self._messages[index] for index in used]
        paths = [[used[index] for index in path] for path in self._paths]
        return to_msgpack(Plan(request_id="p", messages=messages, paths=paths))

    def complete(self) -> bytes:
        prompts = [Prompt(messages=messages) for messages in self.paths_of_messages()]
        return to_msgpack(Plan(request_id="p", prompts=prompts))

    def paths_of_messages(self) -> list[list[Message]]:
        return [[self._messages[index] for index in path] for path in self._paths]

    def _message(self, index: int) -> Message:
        words = ("the", "quick", "brown", "fox", "tree", "sky", "branch", "return", "value", "hello", "lazy", "over")
        content = ""
        while len(ids := self._vocabulary.encode(content)) < _NUM_TOKENS:
            content += f" {self._rng.choice(words)}"
        return (
            Message(role="assistant", content=content, token_ids=ids)
            if index % 2
            else Message(role="user", content=content)
        )


def _loaded(folder: Path) -> LanguageModel:
    tokenizer = byte_level_tokenizer()
    config = small_llama(tokenizer.get_vocab_size(with_added_tokens=True)) | {"max_position_embeddings": 32_768}
    *_, model = UnreadModel(find_model(str(write_random_model(folder, tokenizer, config)))).read()
    assert isinstance(model, LanguageModel)
    return model
