"""Importing again: exports that have grown, Bough's own files, copies, and two imports at the same time."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from app.export.exporting import export_together
from app.model.exports.excerpt import Options, whole_tree
from app.model.imports.importing import import_files, plan_import
from app.model.message import Message, Record
from app.model.open_conversation import OpenConversation
from app.model.store import Store
from tests.app.model.exports.excerpts import import_all, result_of
from tests.app.model.imports import samples
from tests.app.trees import plant
from tests.long import in_long_runs


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


class Theirs:
    """Another program's conversations, which grow: by id, each with its messages as parent and text, by id."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._num = 0
        self.names: dict[str, str] = {}
        self.messages: dict[str, dict[str, tuple[str | None, str]]] = {}

    def grow(self) -> None:
        """Make conversations longer, branch them, and change some texts and names."""
        for _ in range(self._rng.randint(1, 6)):
            key = self._rng.choice([*self.names, None])
            if key is None:
                key = f"c{self._new()}"
                # Many conversations begin with the same words.
                self.names[key], self.messages[key] = "same", {f"m{self._new()}": (None, "Hello")}
            inside = self.messages[key]
            match self._rng.randrange(6):
                case 0:
                    changed = self._rng.choice(list(inside))
                    inside[changed] = (inside[changed][0], f"changed {self._new()}")
                case 1:
                    self.names[key] = f"renamed {self._new()}"
                case _:
                    inside[f"m{self._new()}"] = (self._rng.choice(list(inside)), f"text {self._new()}")

    def _new(self) -> int:
        self._num += 1
        return self._num


def _as_chatgpt(theirs: Theirs) -> list[Any]:
    def node(parent: str | None, text: str) -> dict[str, Any]:
        return {"parent": parent, "message": {"author": {"role": "user"}, "content": {"parts": [text]}}}

    return [
        {"id": key, "title": name, "mapping": {one: node(*found) for one, found in theirs.messages[key].items()}}
        for key, name in theirs.names.items()
    ]


def _as_claude(theirs: Theirs) -> list[Any]:
    nothing = "00000000-0000-4000-8000-000000000000"
    return [
        {
            "uuid": key,
            "name": name,
            "chat_messages": [
                {"uuid": one, "sender": "human", "text": text, "parent_message_uuid": parent or nothing}
                for one, (parent, text) in theirs.messages[key].items()
            ],
        }
        for key, name in theirs.names.items()
    ]


def _as_llama_cpp(theirs: Theirs) -> list[Any]:
    return [
        {
            "conv": {"id": key, "name": name},
            "messages": [
                {"id": one, "role": "user", "content": text, "parent": parent}
                for one, (parent, text) in theirs.messages[key].items()
            ],
        }
        for key, name in theirs.names.items()
    ]


class Ours:
    """The same conversations as the user keeps them in Bough: which are renamed, edited, continued and pruned."""

    def __init__(self, store: Store, theirs: Theirs, rng: random.Random) -> None:
        self._store = store
        self._theirs = theirs
        self._rng = rng
        self._num = 0
        self.ids: dict[str, int] = {}
        """The conversations' ids here."""
        self.names: dict[str, str] = {}
        self._edited: dict[str, str] = {}
        self._added: dict[str, dict[str, tuple[str | None, str]]] = {}
        self._pruned: set[str] = set()

    def texts(self, key: str) -> list[tuple[str, str]]:
        """Return the text of each message that is expected, after its parent's."""
        nodes = self._nodes(key)
        return sorted(
            ("" if parent is None else nodes[parent][1], text)
            for node, (parent, text) in nodes.items()
            if not self._is_hidden(nodes, node)
        )

    def change(self) -> None:
        """Change something in one conversation."""
        key = self._rng.choice(list(self.ids))
        nodes = self._nodes(key)
        shown = [node for node in nodes if not self._is_hidden(nodes, node)]
        node = self._rng.choice(shown)
        found = next(one for one in self._store.messages.shown_by(self.ids[key]) if one.text == nodes[node][1])
        self._num += 1
        text = f"mine {self._num}"
        match self._rng.randrange(5):
            case 0:
                self.names[key] = text
                self._store.conversations.rename(self.ids[key], text)
            case 1:
                self._edited[node] = text
                self._store.update(msgspec.structs.replace(found, text=text))
            case 2 if len(shown) > 2 and nodes[node][0] is not None:
                self._pruned.add(node)
                self._store.messages.prune([found.id])
            case _:
                self._added.setdefault(key, {})[text] = (node, text)
                self._store.add(self.ids[key], found.id, "user", text)

    def _nodes(self, key: str) -> dict[str, tuple[str | None, str]]:
        nodes = self._theirs.messages[key] | self._added.get(key, {})
        # The first message has the same id in all of them.
        return {node: (parent, self._edited.get(node, text)) for node, (parent, text) in nodes.items()}

    def _is_hidden(self, nodes: dict[str, tuple[str | None, str]], node: str | None) -> bool:
        while node is not None:
            if node in self._pruned:
                return True
            node = nodes[node][0]
        return False


def _texts(messages: list[Message]) -> list[tuple[str, str]]:
    """Return the text of each message after its parent's."""
    by_id = {message.id: message for message in messages}
    return sorted(
        ("" if message.parent_id is None else by_id[message.parent_id].text, message.text)
        for message in messages
        if message.role not in {"root", "system"}
    )


@pytest.mark.parametrize("written", [_as_chatgpt, _as_claude, _as_llama_cpp])
@pytest.mark.parametrize("seed", [1, *in_long_runs(range(2, 20))])
def test_growing_exports_can_be_imported_again_and_again(
    store: Store, tmp_path: Path, written: Callable[[Theirs], list[Any]], seed: int
) -> None:
    rng = random.Random(seed)
    theirs = Theirs(rng)
    ours = Ours(store, theirs, rng)
    path = tmp_path / "export.json"
    for _ in range(12):
        theirs.grow()
        path.write_text(json.dumps(written(theirs)))
        plan = result_of(plan_import(store, [path]))
        summary = import_all(store, path)
        assert plan.num_conversations == summary.num_conversations
        assert (plan.updates, plan.twins) == (summary.updates, summary.twins)
        new = [key for key in theirs.names if key not in ours.ids]
        ours.ids |= dict(zip(new, summary.conversation_ids, strict=True))
        assert {found.id for found in store.conversations.all()} == set(ours.ids.values())
        for key, conversation_id in ours.ids.items():
            assert store.conversations.get(conversation_id).name == ours.names.get(key, theirs.names[key])
            assert _texts(store.messages.shown_by(conversation_id)) == ours.texts(key)
        again = import_all(store, path)
        assert (again.num_conversations, again.updates, len(again.twins)) == (0, [], len(theirs.names))
        ours.change()


@pytest.mark.parametrize("written", [_as_chatgpt, _as_claude, _as_llama_cpp])
def test_monthly_exports_imported_together_give_the_same_as_one_after_another(
    tmp_path: Path, written: Callable[[Theirs], list[Any]]
) -> None:
    theirs = Theirs(random.Random(7))
    paths = [tmp_path / f"{month}.json" for month in range(5)]
    for path in paths:
        theirs.grow()
        path.write_text(json.dumps(written(theirs)))
    together, apart = (Store(tmp_path / name / "c.sqlite3") for name in ("together", "apart"))
    plan = result_of(plan_import(together, paths))
    summary = import_all(together, *paths)
    summaries = [import_all(apart, path) for path in paths]
    assert summary.num_conversations == plan.num_conversations == sum(one.num_conversations for one in summaries)
    num_updates = [sum(update.num_messages for update in one.updates) for one in (plan, summary)]
    assert num_updates == [sum(update.num_messages for one in summaries for update in one.updates)] * 2
    for one in (together, apart):
        shown = [
            (found.name, _texts(one.messages.shown_by(found.id)))
            for found in sorted(one.conversations.all(), key=lambda found: found.id)
        ]
        assert [name for name, _ in shown] == list(theirs.names.values())
        assert [texts for _, texts in shown] == [
            sorted(("" if parent is None else inside[parent][1], text) for parent, text in inside.values())
            for inside in theirs.messages.values()
        ]
        one.close()


def test_the_branch_that_was_shown_there_is_shown_here_unless_the_user_shows_another(
    store: Store, tmp_path: Path
) -> None:
    theirs = Theirs(random.Random(1))
    theirs.names["c"], theirs.messages["c"] = "n", {"m1": (None, "q"), "m2": ("m1", "a"), "m3": ("m1", "b")}
    path = tmp_path / "export.json"

    def shown_after(current: str) -> str:
        path.write_text(json.dumps([found | {"current_node": current} for found in _as_chatgpt(theirs)]))
        import_all(store, path)
        return whole_tree(store, store.conversations.all()[0].id).path[-1].text

    assert shown_after("m2") == "a"
    theirs.messages["c"]["m4"] = ("m2", "more")
    assert shown_after("m4") == "more"
    theirs.messages["c"]["m5"] = ("m1", "c")
    assert shown_after("m4") == "more"
    assert shown_after("m5") == "more"  # The conversation has gained nothing.
    theirs.messages["c"]["m6"] = ("m5", "end")
    (conversation,) = store.conversations.all()
    first, second = (one for one in store.messages.shown_by(conversation.id) if one.text in {"q", "b"})
    store.conversations.choose(conversation.id, {first.id: second.id})
    assert shown_after("m6") == "b"


def test_conversations_that_differ_in_anything_but_their_words_all_come_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "here" / "c.sqlite3")
    planted = [plant(store, "u1-a1") for _ in range(6)]
    first, second, third, fourth, fifth, sixth = (one.conversation_id for one in planted)
    store.conversations.rename(first, "another name")
    store.conversations.put_into_folder(second, "Work")
    store.conversations.pin(third)
    store.messages.star(planted[3].ids["a1"])
    answer = store.messages.get(planted[4].ids["a1"])
    store.update(msgspec.structs.replace(answer, record=Record(model="guide", seed=7)))
    store.conversations.set_model(sixth, "guide")
    longer = plant(store, "u1-a1-u2")
    ids = [first, second, third, fourth, fifth, sixth, longer.conversation_id]
    excerpts = [whole_tree(store, found) for found in ids]
    path = tmp_path / "all.bough"
    for _ in export_together(excerpts, len(excerpts), "bough", path, Options(), []):
        pass
    # The store has them already, and says so.
    again = import_all(store, path)
    assert (again.num_conversations, len(again.twins), again.updates) == (0, len(ids), [])
    there = Store(tmp_path / "there" / "c.sqlite3")
    assert import_all(there, path).num_conversations == len(ids)
    back = [whole_tree(there, found) for found in ids]
    for _ in export_together(back, len(back), "bough", tmp_path / "back.bough", Options(), []):
        pass
    assert (tmp_path / "back.bough").read_bytes() == path.read_bytes()
    store.close()
    there.close()


@pytest.mark.parametrize("written", [_as_chatgpt, _as_claude, _as_llama_cpp])
def test_an_original_is_recognised_after_a_round_trip_through_our_own_file(
    tmp_path: Path, written: Callable[[Theirs], list[Any]]
) -> None:
    theirs = Theirs(random.Random(5))
    path, file = tmp_path / "export.json", tmp_path / "all.bough"
    here, there = (Store(tmp_path / name / "c.sqlite3") for name in ("here", "there"))
    theirs.grow()
    path.write_text(json.dumps(written(theirs)))
    import_all(here, path)
    gone = next(iter(theirs.messages))
    conversation = next(one for one in here.conversations.all() if one.name == theirs.names[gone])
    pruned = whole_tree(here, conversation.id).messages[-1]
    here.messages.prune([pruned.id])
    found = [whole_tree(here, one.id) for one in here.conversations.all()]
    for _ in export_together(found, len(found), "bough", file, Options(), []):
        pass
    plant(there, "u8-a8")
    import_all(there, file)
    again = import_all(there, path)
    assert (again.num_conversations, again.updates, again.problems, len(again.twins)) == (0, [], [], len(found))
    # A text that was added to the original is imported there, too.
    first = theirs.messages[gone]
    first["new"] = (next(iter(first)), "new text")
    path.write_text(json.dumps(written(theirs)))
    (update,) = import_all(there, path).updates
    assert update.num_messages == 1
    (other,) = (one for one in there.conversations.all() if one.uid == conversation.uid)
    texts = _texts(there.messages.shown_by(other.id))
    assert [text for _, text in texts].count("new text") == 1
    assert pruned.text not in {text for _, text in texts}
    here.close()
    there.close()


def test_an_unreadable_origin_is_reported_and_the_rest_is_imported(store: Store, tmp_path: Path) -> None:
    plant(store, "u1-a1")
    (excerpt,) = (whole_tree(store, found.id) for found in store.conversations.all())
    for _ in export_together([excerpt], 1, "bough", tmp_path / "one.bough", Options(), []):
        pass
    text = (tmp_path / "one.bough").read_text()
    bad: list[Any] = [7, {"program": "x"}, {"program": "", "key": "k", "head": {}}, {"messages": [["g", "0", 1]]}]
    for number, origin in enumerate(bad):
        whole = (
            {"program": "x", "key": "k", "head": {}} | origin if isinstance(origin, dict) and number == 3 else origin
        )
        changed = text.replace('"choices":', f'"origin":{json.dumps(whole)},"choices":').replace(
            excerpt.conversation.uid, f"{number:016x}"
        )
        (tmp_path / "one.bough").write_text(changed)
        summary = import_all(store, tmp_path / "one.bough")
        assert (summary.num_conversations, summary.problems) == (1, [])
        assert summary.remarks == {"unreadable origins in other programs, left out": 1}


def test_two_stores_exchange_their_new_messages(tmp_path: Path) -> None:
    stores = [Store(tmp_path / name / "c.sqlite3") for name in ("one", "two")]
    plant(stores[1], "u8-a8-u9")
    plant(stores[0], "u1-a1")
    conversation_id = stores[0].conversations.all()[0].id
    path = tmp_path / "c.bough"

    def exchange(source: Store, target: Store) -> None:
        (found,) = (one for one in source.conversations.all() if one.uid == uid)
        for _ in export_together([whole_tree(source, found.id)], 1, "bough", path, Options(), []):
            pass
        assert import_all(target, path).problems == []

    uid = stores[0].conversations.get(conversation_id).uid
    exchange(*stores)
    for number, one in enumerate([*stores, *stores]):
        (found,) = (conversation for conversation in one.conversations.all() if conversation.uid == uid)
        leaf = whole_tree(one, found.id).path[-1]
        one.add(found.id, leaf.id, "user" if leaf.role == "assistant" else "assistant", f"new {number}")
        exchange(*(stores if one is stores[0] else stores[::-1]))
    shown = [
        _texts(one.messages.shown_by(next(found.id for found in one.conversations.all() if found.uid == uid)))
        for one in stores
    ]
    assert shown[0] == shown[1]
    assert [text for _, text in shown[0]].count("new 3") == 1
    for one in stores:
        one.close()


def test_permanently_deleted_messages_stay_deleted_with_everything_below_them(store: Store, tmp_path: Path) -> None:
    theirs = Theirs(random.Random(1))
    theirs.names["c"], theirs.messages["c"] = "n", {"m1": (None, "q"), "m2": ("m1", "a"), "m3": ("m1", "b")}
    path = tmp_path / "export.json"
    path.write_text(json.dumps(_as_chatgpt(theirs)))
    (conversation_id,) = import_all(store, path).conversation_ids
    answer = next(one for one in store.messages.shown_by(conversation_id) if one.text == "a")
    store.messages.prune([answer.id])
    store.empty_trash()
    theirs.messages["c"] |= {"m4": ("m2", "below the deleted"), "m5": ("m3", "more")}
    path.write_text(json.dumps(_as_chatgpt(theirs)))
    summary = import_all(store, path)
    assert _texts(store.messages.shown_by(conversation_id)) == [("", "q"), ("b", "more"), ("q", "b")]
    assert dict(summary.remarks) == {"new messages below messages that you deleted, left out": 1}


def test_a_conversation_of_lm_studio_grows_although_its_messages_have_no_ids(store: Store, tmp_path: Path) -> None:
    chat = json.loads(json.dumps(samples.LM_STUDIO))
    path = tmp_path / "1.conversation.json"
    path.write_text(json.dumps(chat))
    (conversation_id,) = import_all(store, path).conversation_ids
    before = [message.text for message in store.messages.shown_by(conversation_id)]
    chat["messages"].append(chat["messages"][-1])
    path.write_text(json.dumps(chat))
    summary = import_all(store, path)
    assert [update.num_messages for update in summary.updates] == [1]
    after = [message.text for message in store.messages.shown_by(conversation_id)]
    assert after == [*before, before[-1]]


def test_conversations_that_are_left_out_are_listed_and_can_be_taken_as_copies(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text(json.dumps([samples.CHATGPT, samples.OPENAI]))
    import_all(store, path)
    assert len(import_all(store, path).twins) == 2
    copies = result_of(import_files(store, [path], with_twins=True))
    assert (copies.num_conversations, copies.twins) == (2, [])
    assert len(store.conversations.all()) == 4
    # The copies do not grow.
    assert len(import_all(store, path).twins) == 2


def test_records_without_ids_are_the_same_only_if_all_of_their_content_is_equal(store: Store, tmp_path: Path) -> None:
    record = {"title": "t", "messages": [{"role": "user", "content": "q", "timestamp": 1_700_000_000}]}
    changed = [
        {"title": "u", "messages": record["messages"]},
        {"title": "t", "messages": [{"role": "user", "content": "q", "timestamp": 1_700_000_001}]},
        {"title": "t", "messages": [{"role": "user", "content": "q"}]},
        {"title": "t", "messages": [*record["messages"], {"role": "assistant", "content": "a"}]},
        {"title": "t", "messages": [{"role": "user", "content": "q", "timestamp": 1_700_000_000, "model": "m"}]},
    ]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(map(json.dumps, [record, record, *changed])))
    summary = import_all(store, path)
    assert (summary.num_conversations, [twin.name for twin in summary.twins]) == (6, ["t"])


def test_two_simultaneous_imports_of_a_file_add_its_conversations_once(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "in.json"
    path.write_text(json.dumps([samples.CHATGPT | {"conversation_id": str(number)} for number in range(40)]))
    first = import_files(store, [path])
    next(first)
    second = Store(tmp_path / "c.sqlite3")
    waiting = import_files(second, [path])
    # It does not begin before the first ends.
    assert [next(waiting).num_conversations for _ in range(3)] == [0, 0, 0]
    assert result_of(first).num_conversations == 40
    summary = result_of(waiting)
    assert (summary.num_conversations, len(summary.twins)) == (0, 40)
    second.close()


def _claude(*parts: str, is_answered: bool = False) -> str:
    """Return an export whose answer has these parts: texts, and calls in brackets."""
    content = [
        {"type": "tool_use", "name": part[1:-1], "input": {}}
        if part.startswith("[")
        else {"type": "text", "text": part}
        for part in parts
    ]
    question = {"uuid": "q", "sender": "human", "content": [{"type": "text", "text": "Why?"}]}
    answer = {"uuid": "a", "sender": "assistant", "parent_message_uuid": "q", "content": content}
    more = {"uuid": "m", "sender": "human", "parent_message_uuid": "a", "content": [{"type": "text", "text": "More"}]}
    messages = [question, answer, *([more] if is_answered else [])]
    return json.dumps([{"uuid": "c", "name": "Leaves", "chat_messages": messages}])


def _shown(store: Store, conversation_id: int) -> list[tuple[str, str]]:
    path = OpenConversation(store, store.conversations.get(conversation_id)).path
    return [(message.role, message.text.partition("\n")[0]) for message in path if message.text]


def test_the_last_answer_grows_by_parts_before_and_after_its_text(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(_claude("One"))
    (conversation_id,) = import_all(store, path).conversation_ids
    path.write_text(_claude("[search]", "One", "[look]", is_answered=True))
    assert import_all(store, path).updates[0].num_messages == 1
    assert _shown(store, conversation_id) == [
        ("user", "Why?"),
        ("note", "Tool call: search"),
        ("assistant", "One"),
        ("note", "Tool call: look"),
        ("user", "More"),
    ]
    opened = OpenConversation(store, store.conversations.get(conversation_id))
    assert [len(opened.parts(message.id)) for message in opened.path[2:]] == [1, 3, 3, 3, 1]


def test_an_answered_answer_that_gains_parts_is_kept_and_reported(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(_claude("One", is_answered=True))
    (conversation_id,) = import_all(store, path).conversation_ids
    path.write_text(_claude("[search]", "One", is_answered=True))
    summary = import_all(store, path)
    assert "messages that have an answer here and more parts in the file" in " ".join(map(str, summary.remarks))
    assert _shown(store, conversation_id) == [("user", "Why?"), ("assistant", "One"), ("user", "More")]
    assert len(import_all(store, path).twins) == 1
