"""The trainers' own loaders take our folders: TRL and Axolotl, which Bough does not depend on."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from transformers import AutoTokenizer

from app.export.training_folder import TrainingFolder
from app.model.exports.excerpt import Excerpt, Options, whole_tree
from app.model.exports.training_records import KINDS
from app.model.message import Record, Role, Sent, Tool, ToolCall
from app.model.notes import fenced, note
from app.model.store import Store
from tests.models import write_tokenizer
from tests.worker.tools.templates import TEMPLATES, tokenizer_of

pytestmark = pytest.mark.long


def _excerpts(store: Store) -> Iterator[Excerpt]:
    """Yield conversations whose tools have different schemas and arguments, each with two last answers."""
    for tool, arguments in (("weather", {"city": "Köln"}), ("add", {"numbers": [1, 2], "exact": True}), ("", {})):
        conversation, question = store.create_conversation(tool, "Be brief.", "q1")
        if tool:
            system = store.messages.get(question.parent_id or 0)
            offered = Tool(name=tool, description="d", parameters={"type": "object", "properties": {"x": {}}})
            store.update(msgspec.structs.replace(system, record=Record(tools=(offered,))))
        above = question.id
        turns: list[tuple[Role, str, Sent]] = [
            ("assistant", "<think>\nhm\n</think>\n\n", Sent(num_calls=1, content="", reasoning="hm")),
            ("note", note(f"Tool call: {tool}", "{}"), Sent(call=ToolCall(name=tool, arguments=arguments, id="c1"))),
            ("note", note("Tool result", fenced("the result")), Sent(role="tool", call_id="c1")),
        ]
        for role, text, sent in turns if tool else []:
            above = store.add(conversation.id, above, role, text, record=Record(sent=sent)).id
        for text in ("<think>\nso\n</think>\n\nfirst", "second"):
            store.add(conversation.id, above, "assistant", text)
        yield whole_tree(store, conversation.id)


@pytest.mark.parametrize("kind", KINDS["trl"])
def test_trl_loads_and_renders_the_folder(tmp_path: Path, kind: Any) -> None:
    datasets, data_utils = pytest.importorskip("datasets"), pytest.importorskip("trl.data_utils")
    with contextlib.closing(Store(tmp_path / "c.sqlite3")) as store:
        list(TrainingFolder(tmp_path / "data", "trl", Options(records=kind)).write(list(_excerpts(store))))
    files = {"train" if file.stem == "train" else "test": str(file) for file in (tmp_path / "data").iterdir()}
    loaded = datasets.load_dataset("json", data_files=files, cache_dir=str(tmp_path / "cache"))
    lines = [json.loads(line) for file in files.values() for line in Path(file).read_text("utf-8").splitlines()]
    rows = [row for side in loaded.values() for row in side]
    assert len(rows) == len(lines) == (3 if kind == "preference" else 6)
    write_tokenizer(tmp_path / "model", tokenizer_of("glm47"), TEMPLATES["glm47"])
    tokenizer: Any = AutoTokenizer.from_pretrained(str(tmp_path / "model"))
    for row, line in zip(rows, lines, strict=True):
        assert data_utils.is_conversational(row)
        rendered = data_utils.maybe_apply_chat_template(row, tokenizer)
        expected = data_utils.maybe_apply_chat_template(line, tokenizer)
        assert rendered == expected
        assert "first" in str(rendered) or "second" in str(rendered)


class _Configuration(dict[str, Any]):
    """A configuration of Axolotl: fields that are missing are None."""

    __getattr__ = dict.get


@pytest.mark.parametrize("kind", KINDS["axolotl"])
def test_axolotl_loads_and_renders_the_folder(tmp_path: Path, kind: Any) -> None:
    datasets = pytest.importorskip("datasets")
    chat_template = pytest.importorskip("axolotl.prompt_strategies.chat_template")
    pairs = pytest.importorskip("axolotl.prompt_strategies.dpo.chat_template")
    with contextlib.closing(Store(tmp_path / "c.sqlite3")) as store:
        list(TrainingFolder(tmp_path / "data", "axolotl", Options(records=kind)).write(list(_excerpts(store))))
    rows: list[dict[str, Any]] = []
    for file in (tmp_path / "data").iterdir():
        rows += datasets.load_dataset("json", data_files=str(file), split="train", cache_dir=str(tmp_path / "cache"))
    write_tokenizer(tmp_path / "model", tokenizer_of("glm47"), TEMPLATES["glm47"])
    tokenizer: Any = AutoTokenizer.from_pretrained(str(tmp_path / "model"))
    # As docs/fine-tuning.md says.
    dataset = {"type": "chat_template", "ds_type": "json"}
    options = _Configuration(sequence_len=4096, chat_template="tokenizer_default", datasets=[dataset])
    if kind == "preference":
        transform, _ = pairs.default(options)
        # Pairs with tools have no place in Axolotl's.
        (made,) = [transform(row, tokenizer=tokenizer) for row in rows]
        assert "q1" in made["prompt"]
        assert ("second" in made["chosen"], "first" in made["rejected"]) == (True, True)
        return
    strategy = chat_template.load(tokenizer, options, dataset)
    assert len(rows) == 6
    for row in rows:
        made = strategy.tokenize_prompt(row)
        trained = [token for token, label in zip(made["input_ids"], made["labels"], strict=True) if label != -100]
        text = tokenizer.decode(made["input_ids"])
        assert "q1" in text
        assert "first" in tokenizer.decode(trained) or "second" in tokenizer.decode(trained)
        assert "the result" not in tokenizer.decode(trained)
