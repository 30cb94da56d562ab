"""Records for trainers: the documented shapes, the order of turns, and what mlx-lm makes of them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx.optimizers import SGD
from mlx_lm.tuner.callbacks import TrainingCallback
from mlx_lm.tuner.datasets import CacheDataset, load_dataset
from mlx_lm.tuner.trainer import TrainingArgs, train
from mlx_lm.utils import load_model, load_tokenizer
from typing_extensions import override

from app.export.training_folder import TrainingFolder
from app.model.exports.excerpt import Excerpt, Options, RecordKind, whole_tree
from app.model.exports.files import TRAINERS, Trainer
from app.model.exports.losses import Losses
from app.model.exports.training_records import KINDS, is_for_validation, training_records
from app.model.message import Conversation, MessageId, Record, Role, Sent, State, Tool, ToolCall
from app.model.notes import fenced, note
from app.model.store import Store
from tests.app.model.exports.excerpts import excerpts
from tests.app.trees import plant
from tests.chat_families import family
from tests.models import byte_level_tokenizer, write_random_llama, write_tokenizer
from tests.worker.tools.templates import TEMPLATES, tokenizer_of
from worker.tools.forms import form_named
from worker.tools.turn_parts import CallArguments, CallStarted, Content, Reasoning, parts_of
from worker.values import ReasoningMarks

ASKED = Tool(name="weather", description="The weather", parameters={"type": "object", "properties": {"city": {}}})
CALL = ToolCall(name="weather", arguments={"city": "Köln"}, id="c1")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


class _Chain:
    """Adds messages below each other."""

    def __init__(self, store: Store, system: str = "", question: str = "q1") -> None:
        self._store = store
        conversation, message = store.create_conversation("n", system, question)
        self.id: int = conversation.id
        self.last: MessageId = message.id

    def add(
        self, role: Role, text: str, sent: Sent | None = None, *, state: State = "complete", above: int | None = None
    ) -> MessageId:
        record = None if sent is None else Record(sent=sent)
        self.last = self._store.add(self.id, above or self.last, role, text, state=state, record=record).id
        return self.last

    def call(self, text: str = "", call: ToolCall = CALL) -> None:
        self.add("assistant", text, Sent(num_calls=1, content=text, reasoning="hm"))
        self.add("note", note(f"Tool call: {call.name}", fenced("{}")), Sent(call=call))

    def result(self, text: str, call_id: str = "c1") -> None:
        self.add("note", note("Tool result", fenced(text)), Sent(role="tool", call_id=call_id))

    def excerpt(self) -> Excerpt:
        return whole_tree(self._store, self.id)


def _records(
    excerpt: Excerpt, trainer: Trainer, kind: RecordKind = "chat", *, reasoning: bool = True
) -> tuple[list[Any], list[str]]:
    losses = Losses()
    pieces = list(training_records(excerpt, trainer, Options(records=kind, reasoning=reasoning), losses))
    assert sum(piece.num_messages for piece in pieces) == len(excerpt.messages)
    return [json.loads(piece.text) for piece in pieces if piece.text], [str(said) for said in losses.sentences()]


def _with_tools(store: Store) -> Excerpt:
    chain = _Chain(store, "Be brief.")
    system = next(message for message in chain.excerpt().messages if message.role == "system")
    store.update(msgspec.structs.replace(system, record=Record(tools=(ASKED,))))
    chain.call("Let me look.")
    chain.result("12 °C")
    chain.add("assistant", "<think>\nwarm\n</think>\n\nIt is 12 °C.")
    return chain.excerpt()


_LOOKED = {"role": "assistant", "content": "Let me look.", "reasoning_content": "hm"}
_RESULT = {"role": "tool", "content": "12 °C", "tool_call_id": "c1", "name": "weather"}
_SAID = {"role": "assistant", "content": "It is 12 °C.", "reasoning_content": "warm"}
_START = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "q1"}]


def _call(arguments: Any) -> dict[str, Any]:
    called = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": arguments}}
    return {**_LOOKED, "tool_calls": [called]}


def test_each_trainer_gets_its_documented_shape(store: Store) -> None:
    excerpt = _with_tools(store)
    with_object = [*_START, _call({"city": "Köln"}), _RESULT]
    with_text = [*_START, _call('{"city":"Köln"}'), _RESULT]
    tools = [{"type": "function", "function": msgspec.to_builtins(ASKED)}]
    text = json.dumps(tools, separators=(",", ":"))
    assert _records(excerpt, "mlx-lm") == ([{"messages": [*with_object, _SAID], "tools": tools}], [])
    assert _records(excerpt, "trl") == ([{"messages": [*with_object, _SAID], "tools": text}], [])
    assert _records(excerpt, "axolotl") == ([{"messages": [*with_text, _SAID], "tools": text}], [])
    assert _records(excerpt, "trl", "completion") == (
        [{"prompt": with_object, "completion": [_SAID], "tools": text}],
        [],
    )
    (record,), _ = _records(excerpt, "axolotl", reasoning=False)
    assert not any("reasoning_content" in message for message in record["messages"])


def test_pairs_have_the_shown_answer_and_each_other_one(store: Store) -> None:
    chain = _Chain(store, "Be brief.")
    question = chain.last
    wanted = chain.add("assistant", "<think>\na\n</think>\n\ngood", above=question)
    chain.add("assistant", "bad", above=question)
    chain.add("assistant", "half", above=question, state="stopped")
    store.conversations.choose(chain.id, {question: wanted})
    good, bad = {"role": "assistant", "content": "good"}, {"role": "assistant", "content": "bad"}
    pairs, said = _records(chain.excerpt(), "trl", "preference")
    assert pairs == [{"prompt": _START, "chosen": [{**good, "reasoning_content": "a"}], "rejected": [bad]}]
    assert said == [_INCOMPLETE]
    pairs, said = _records(chain.excerpt(), "axolotl", "preference")
    assert pairs == [{"messages": _START, "chosen": good, "rejected": bad}]
    assert said == [
        _INCOMPLETE,
        "Answers exported without their reasoning, because lines of this kind have no field for it: 1.",
    ]


def test_completions_of_mlx_lm_are_one_question_and_one_answer(store: Store) -> None:
    chain = _Chain(store)
    chain.add("assistant", "a1")
    assert _records(chain.excerpt(), "mlx-lm", "completion") == ([{"prompt": "q1", "completion": "a1"}], [])
    chain.add("user", "q2")
    chain.add("assistant", "a2")
    assert _records(chain.excerpt(), "mlx-lm", "completion") == (
        [],
        ["Branches left out, because a line of this kind holds only one question and one answer as text: 1."],
    )


def _stopped(chain: _Chain) -> None:
    chain.add("assistant", "half", state="stopped")
    chain.add("user", "q2")
    chain.add("assistant", "a2")


def _greeted(chain: _Chain) -> None:
    chain.add("assistant", "a1")
    chain.add("assistant", "more")
    chain.add("note", "A remark")


def _unanswered(chain: _Chain) -> None:
    chain.call()
    chain.add("user", "q2")
    chain.result("late", "c1")
    chain.add("assistant", "a2")


def _broken_off(chain: _Chain) -> None:
    chain.call("Wait.")
    chain.result("1")
    chain.add("user", "q2")
    chain.add("assistant", "a2")


def _late_system(chain: _Chain) -> None:
    chain.add("assistant", "a1")
    chain.add("note", note("System", fenced("Now in rhymes.")), Sent(role="system"))
    chain.add("user", "q2")
    chain.add("assistant", "a2")


_INCOMPLETE = "Answers left out, because they are stopped, cut off, failed or empty: 1."
_JOINED = (
    "Messages joined with the previous message, because chat templates require questions and answers to alternate: 1."
)
_CALLS = "Tool calls without a result, and results without a call, left out: {}."


@pytest.mark.parametrize(
    ("grow", "contents", "said"),
    [
        (_stopped, ["q1\n\nq2", "a2"], [_INCOMPLETE, _JOINED]),
        (
            _greeted,
            ["q1", "a1\n\nmore"],
            [_JOINED, "Notes left out, because training records have no field for them: 1."],
        ),
        (_unanswered, ["q1\n\nq2", "a2"], [_CALLS.format(2), _JOINED]),
        (_broken_off, ["q1", "Wait.", "q2", "a2"], [_CALLS.format(1)]),
        (
            _late_system,
            ["q1", "a1", "q2", "a2"],
            ["System texts left out, because chat templates allow them only at the beginning: 1."],
        ),
    ],
)
def test_turns_that_templates_refuse_are_joined_or_left_out_and_reported(
    store: Store, grow: Callable[[_Chain], None], contents: list[str], said: list[str]
) -> None:
    chain = _Chain(store)
    grow(chain)
    (record,), remarks = _records(chain.excerpt(), "mlx-lm")
    assert [message["content"] for message in record["messages"]] == contents
    assert sorted(remarks) == sorted(said)


@given(excerpt=excerpts(), kind=st.sampled_from(["chat", "completion", "preference"]), system=st.booleans())
@settings(max_examples=60)
def test_turns_of_any_tree_alternate(excerpt: Excerpt, kind: RecordKind, system: bool) -> None:
    for trainer in TRAINERS:
        if kind not in KINDS[trainer]:
            continue
        options = Options(records=kind, system_prompts=system)
        for piece in training_records(excerpt, trainer, options, Losses()):
            if not piece.text:
                continue
            assert piece.text.splitlines() == [piece.text.removesuffix("\n")]
            record = json.loads(piece.text)
            turns = record.get("messages") or record["prompt"]
            if isinstance(turns, str):
                continue
            roles = [turn["role"] for turn in turns]
            roles = roles[1:] if roles[0] == "system" else roles
            assert roles == ["user" if number % 2 == 0 else "assistant" for number in range(len(roles))]
            assert (roles[-1] == "assistant") == (kind == "chat")


# --- mlx-lm ------------------------------------------------------------------------------------------------


def _written(folder: Path, trainer: Trainer, options: Options, *found: Excerpt) -> TrainingFolder:
    made = TrainingFolder(folder, trainer, options)
    for _ in made.write(found):
        pass
    return made


def _loaded(args: SimpleNamespace, tokenizer: Any) -> tuple[Any, Any, Any]:
    """Return what mlx-lm loads for training, validation and tests."""
    return load_dataset(args, tokenizer)


def _side(store: Store, *, valid: bool) -> Excerpt:
    """Return a conversation that is for validation or not."""
    excerpt = whole_tree(store, plant(store, "u1-a1-u2-a2 | u1-a3").conversation_id)
    excerpt.conversation = next(made for made in _named(excerpt.conversation) if is_for_validation(made) == valid)
    return excerpt


def _named(conversation: Conversation) -> Iterator[Conversation]:
    """Yield a conversation with other ids."""
    return (msgspec.structs.replace(conversation, uid=f"{conversation.id}-{number}") for number in itertools.count())


@pytest.mark.parametrize("name", ["mistral-old", "qwen3", "llama3", "gemma3"])
def test_mlx_lm_loads_and_renders_the_folder(store: Store, tmp_path: Path, name: str) -> None:
    write_tokenizer(tmp_path / "model", family(name).tokenizer(), family(name).template)
    tokenizer = load_tokenizer(tmp_path / "model")
    chain = _Chain(store, "Be brief.")
    _stopped(chain)
    plain = [_side(store, valid=True), _side(store, valid=False), chain.excerpt()]
    with_tools = [_with_tools(store)] if family(name).knows_tools else []
    for kind in KINDS["mlx-lm"]:
        folder = tmp_path / kind
        _written(folder, "mlx-lm", Options(records=kind), *plain, *with_tools)
        for mask in (False, True):
            args = SimpleNamespace(data=str(folder), train=True, test=False, mask_prompt=mask)
            train_set, valid_set, test_set = _loaded(args, tokenizer)
            assert len(valid_set) in ((2, 3, 4) if kind == "chat" else (1, 2))
            assert len(test_set) == 0
            for item in [*train_set, *valid_set]:
                tokens, offset = train_set.process(item)
                assert (0 < offset < len(tokens)) == mask
                last = item["completion"] if kind == "completion" else item["messages"][-1]["content"]
                assert last in tokenizer.decode(tokens[offset:])


@pytest.mark.parametrize("name", ["json_tools", "glm47", "mistral"])
def test_templates_that_read_tools_render_calls_and_thoughts(store: Store, tmp_path: Path, name: str) -> None:
    write_tokenizer(tmp_path / "model", tokenizer_of(name), TEMPLATES[name])
    tokenizer = load_tokenizer(tmp_path / "model")
    _written(tmp_path / "data", "mlx-lm", Options(), _with_tools(store))
    args = SimpleNamespace(data=str(tmp_path / "data"), train=True, test=False, mask_prompt=False)
    train_set, _, _ = _loaded(args, tokenizer)
    tokens, _ = train_set.process(train_set[0])
    caller = tokenizer.decode(tokens).split("<|im_start|>assistant\n")[1].partition("<|im_end|>")[0]
    parts = parts_of(caller, form_named(name), ReasoningMarks("<think>", "</think>"), {"weather": ASKED.parameters})
    thoughts = [part.text.strip() for part in parts if isinstance(part, Reasoning)]
    words = [text for part in parts if isinstance(part, Content) and (text := part.text.strip())]
    called = [part.name for part in parts if isinstance(part, CallStarted)]
    arguments = "".join(part.json_text for part in parts if isinstance(part, CallArguments))
    assert (thoughts, words, called) == (["hm"], ["Let me look."], ["weather"])
    assert json.loads(arguments) == {"city": "Köln"}
    assert "12 °C" in tokenizer.decode(tokens)


def test_mlx_lm_trains_on_the_folder(store: Store, tmp_path: Path) -> None:
    write_random_llama(tmp_path / "model", byte_level_tokenizer(), hidden_size=16, layers=1)
    tokenizer = load_tokenizer(tmp_path / "model")
    model, _ = load_model(tmp_path / "model")
    found = [_side(store, valid=False) for _ in range(2)]
    made = _written(tmp_path / "data", "mlx-lm", Options(), *found, _side(store, valid=True))
    assert [str(remark) for remark in made.remarks] == [
        "A file has fewer lines than a batch of mlx-lm. Run mlx-lm with --batch-size 2."
    ]
    args = SimpleNamespace(data=str(tmp_path / "data"), train=True, test=False, mask_prompt=False)
    train_set, valid_set, _ = _loaded(args, tokenizer)
    losses: list[float] = []

    class Report(TrainingCallback):
        @override
        def on_train_loss_report(self, train_info: dict[str, Any]) -> None:
            losses.append(train_info["train_loss"])

    train(
        model,
        SGD(learning_rate=1e-2),
        CacheDataset(train_set),
        CacheDataset(valid_set),
        TrainingArgs(
            batch_size=2, iters=2, steps_per_report=1, val_batches=1, adapter_file=str(tmp_path / "a.safetensors")
        ),
        training_callback=Report(),
    )
    assert len(losses) == 2
    assert all(map(math.isfinite, losses))


# --- the folder --------------------------------------------------------------------------------------------


def test_a_conversation_is_always_in_the_same_file(store: Store, tmp_path: Path) -> None:
    first = whole_tree(store, plant(store, "u1-a1").conversation_id)
    found = [
        Excerpt(conversation, first.messages, first.choices, first.path)
        for conversation in itertools.islice(_named(first.conversation), 300)
    ]
    sides = [is_for_validation(excerpt.conversation) for excerpt in found]
    assert 10 <= sum(sides) <= 60
    _written(tmp_path, "trl", Options(), *found)
    lines = [(tmp_path / name).read_text().count("\n") for name in ("train.jsonl", "valid.jsonl")]
    assert lines == [300 - sum(sides), sum(sides)]


def test_no_file_is_empty_or_left_from_an_earlier_export(store: Store, tmp_path: Path) -> None:
    for_train, for_valid = _side(store, valid=False), _side(store, valid=True)
    assert len(_written(tmp_path / "d", "trl", Options(), for_train, for_valid).paths) == 2
    made = _written(tmp_path / "d", "trl", Options(), for_valid)
    assert made.paths == [tmp_path / "d" / "train.jsonl"] == list((tmp_path / "d").iterdir())
    assert "they were written to train.jsonl instead" in str(made.remarks[0])
    made = _written(tmp_path / "d", "trl", Options(records="preference"), _Chain(store).excerpt())
    assert (made.paths, made.empty) == ([], ["n"])
    assert [path.name for path in (tmp_path / "d").iterdir()] == ["train.jsonl"]


def test_a_cancelled_folder_is_removed(store: Store, tmp_path: Path) -> None:
    steps = TrainingFolder(tmp_path / "d", "trl", Options()).write([_side(store, valid=False)])
    next(steps)
    steps.close()
    assert not (tmp_path / "d").exists()
