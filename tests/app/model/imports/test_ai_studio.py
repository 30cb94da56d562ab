"""Prompts of Google AI Studio: branches are files of their own, and become one tree with their prompt."""

from __future__ import annotations

import json
import random
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from app.model.exports.excerpt import whole_tree
from app.model.store import Store
from tests.app.model.exports.excerpts import import_all
from tests.app.model.imports.drawn import drawn, imported
from tests.app.model.imports.samples import PNG

_BRANCHES = "branches of prompts in Google AI Studio; each joins its prompt when that is imported too"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


def _chunk(role: str, text: str, second: int | None, **more: Any) -> dict[str, Any]:
    time = {} if second is None else {"createTime": f"2026-03-19T13:{second // 60:02}:{second % 60:02}.796Z"}
    return {"text": text, "role": role, "tokenCount": 3, **time, **more}


def _prompt(chunks: Sequence[dict[str, Any]], **more: Any) -> str:
    return json.dumps({"runSettings": {"model": "models/gemini-2.5-pro"}, "chunkedPrompt": {"chunks": chunks}} | more)


def _moss(*, with_times: bool) -> tuple[str, str]:
    """Return a prompt and its branch, which repeats the first two chunks."""

    def at(second: int) -> int | None:
        return second if with_times else None

    asked, answered = _chunk("user", "Name a moss", at(1)), _chunk("model", "Bryum", at(2))
    child = {"branchChildren": [{"promptId": "prompts/2", "displayName": "Branch of Mosses?"}]}
    parent = {"branchParent": {"promptId": "prompts/1", "displayName": "Mosses?"}}
    prompt = _prompt([asked, answered | child, _chunk("user", "Another", at(3)), _chunk("model", "Mnium", at(4))])
    branch = _prompt([asked, answered | parent, _chunk("user", "A fern", at(5)), _chunk("model", "Azolla", at(6))])
    return prompt, branch


def _tree(store: Store) -> list[str]:
    (found,) = store.conversations.all()
    return sorted(line.partition(" ")[2] for line in drawn(whole_tree(store, found.id)))


_WHOLE = ["assistant: Azolla", "assistant: Bryum", "assistant: Mnium", "user: A fern", "user: Another",
          "user: Name a moss"]  # fmt: skip


@pytest.mark.parametrize("with_times", [True, False])
@pytest.mark.parametrize("how", ["folder", "archive", "branch first", "prompt first"])
def test_a_branch_joins_its_prompt(store: Store, tmp_path: Path, how: str, *, with_times: bool) -> None:
    folder = tmp_path / "Google AI Studio"
    folder.mkdir()
    prompt, branch = folder / "Mosses_", folder / "Branch of Mosses_"
    for path, content in zip((prompt, branch), _moss(with_times=with_times), strict=True):
        path.write_text(content)
    if how == "archive":
        with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
            archive.write(branch, "Google AI Studio/Branch of Mosses_")
            archive.write(prompt, "Google AI Studio/Mosses_")
    steps = {"folder": [folder], "archive": [tmp_path / "all.zip"], "branch first": [branch, prompt],
             "prompt first": [prompt, branch]}[how]  # fmt: skip
    remarks = [str(remark) for path in steps for remark in import_all(store, path).remarks]
    assert remarks == [_BRANCHES]
    assert _tree(store) == _WHOLE
    (found,) = store.conversations.all()
    # The prompt's own file has its name, and the branch that is shown.
    assert found.name == "Mosses_"
    assert drawn(whole_tree(store, found.id))[0] == "1<2 user: Name a moss"
    for path in steps:
        again = import_all(store, path)
        assert (again.num_conversations, again.updates) == (0, [])
    assert _tree(store) == _WHOLE


def test_a_branch_alone_stays_alone_and_says_so(store: Store, tmp_path: Path) -> None:
    (tmp_path / "Ferns").write_text(_moss(with_times=False)[1])
    summary = import_all(store, tmp_path / "Ferns")
    assert [str(remark) for remark in summary.remarks] == [_BRANCHES]
    excerpt = whole_tree(store, summary.conversation_ids[0])
    assert excerpt.conversation.name == "Mosses?"
    assert [message.name for message in excerpt.messages if message.name] == ["Ferns"]


def test_the_users_changes_stay_when_a_branch_joins(store: Store, tmp_path: Path) -> None:
    for name, content in zip(("Mosses", "Branch of Mosses"), _moss(with_times=True), strict=True):
        (tmp_path / name).write_text(content)
    (conversation_id,) = import_all(store, tmp_path / "Mosses").conversation_ids
    store.conversations.rename(conversation_id, "Mine")
    import_all(store, tmp_path / "Branch of Mosses")
    import_all(store, tmp_path / "Mosses")
    assert _tree(store) == _WHOLE
    (found,) = store.conversations.all()
    assert found.name == "Mine"


def test_prompts_that_begin_alike_stay_apart_without_branches(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "Google AI Studio"
    folder.mkdir()
    for number in range(2):
        (folder / f"{number}").write_text(
            _prompt([_chunk("user", "Hi", None), _chunk("model", f"Hello {number}", None)])
        )
        (folder / f"at {number}").write_text(
            _prompt([_chunk("user", "Hi", number), _chunk("model", f"Hello {number}", 9)])
        )
    assert import_all(store, folder).num_conversations == 4


def test_any_family_of_files_is_one_tree_in_any_order(store: Store, tmp_path: Path) -> None:
    """The oracle is the set of all paths from the first message."""
    rng = random.Random(5)
    for family in range(8):
        second = iter(range(1, 3_000))
        files = [[_chunk("user", f"Begin {family}", next(second))]]
        for _ in range(rng.randrange(12)):
            chunks = rng.choice(files)
            if rng.random() < 0.4:
                kept = [*chunks[: rng.randint(1, len(chunks))]]
                kept[-1] = kept[-1] | {"branchParent": {"promptId": "prompts/1", "displayName": f"Family {family}"}}
                files.append(kept)
                chunks = kept
            role = "model" if chunks[-1]["role"] == "user" else "user"
            # Equal texts, so that only what leads to a message tells it from others.
            chunks.append(_chunk(role, rng.choice(["yes", "no"]), next(second)))
        paths = {tuple((chunk["role"], chunk["text"], chunk["createTime"]) for chunk in chunks[:end])
                 for chunks in files for end in range(1, len(chunks) + 1)}  # fmt: skip
        rng.shuffle(files)
        before = {found.id for found in store.conversations.all()}
        for number, chunks in enumerate(files):
            (tmp_path / f"{family}-{number}").write_text(_prompt(chunks))
            import_all(store, tmp_path / f"{family}-{number}")
        (new,) = {found.id for found in store.conversations.all()} - before
        messages = [message for message in whole_tree(store, new).messages if message.role in {"user", "assistant"}]
        assert len(messages) == len(paths)
        assert sorted(message.text for message in messages) == sorted(path[-1][1] for path in paths)


def test_parts_of_a_chunk_keep_their_order(store: Store, tmp_path: Path) -> None:
    code = {"language": "PYTHON", "code": "print(2 + 3)"}
    parts = [
        {"text": "Count.", "thought": True, "thoughtSignature": "s"},
        {"text": "I add."},
        {"executableCode": code},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "5\n"}},
        {"text": "It is 5."},
        {"inlineData": {"mimeType": "image/png", "data": PNG}},
    ]
    alone = {"executableCode": code, "parts": [{"executableCode": code}]}
    chunks = [
        _chunk("user", "2 + 3", 1, isEdited=True),
        _chunk("model", "I add.It is 5.", 2, parts=parts, grounding={"webSearchQueries": ["sums"]}),
        {"role": "model", **alone},
    ]
    content = _prompt(chunks, title="Sum").replace(
        '"chunks"', '"pendingInputs": [{"text": "And", "role": "user"}], "chunks"'
    )
    excerpt = imported(store, tmp_path / "Sum", content)
    note = "note: Tool call: code\n\n```python\nprint(2 + 3)\n```"
    assert [line.partition(" ")[2] for line in drawn(excerpt)] == [
        "user: 2 + 3",
        "assistant: <think>\nCount.\n</think>\n\nI add.",
        note,
        "note: Tool result: code\n\n```\n5\n\n```",
        "assistant: It is 5.",
        f"note: Picture: picture\n\n![picture](data:image/png;base64,{PNG})",
        'note: Tool call: web search\n\n```json\n[\n  "sums"\n]\n```',
        note,
    ]
