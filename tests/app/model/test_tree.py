"""Paths, siblings and lines of random trees, intact or broken, compared with dictionaries."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from app.model.message import Message
from app.model.store import Store
from app.model.tree import Tree
from tests.app.trees import drawn, labels, plant


@pytest.mark.parametrize(
    "line",
    [
        "u1",
        "u1-a1",
        "u1-a1-u2-a2",
        "u1-a1-u2 | a1-u3",
        "u1-a1-u2-a2 | u2-a3 | a1-u3-a4 | u4-a5",
        "u1-a1 | u1-a2 | u1-a3",
    ],
)
def test_a_tree_in_one_line_is_stored_and_read_back(tmp_path: Path, line: str) -> None:
    store = Store(tmp_path / "store.sqlite3")
    planted = plant(store, line)
    assert drawn(store.messages.shown_by(planted.conversation_id)) == line
    store.close()


@pytest.mark.parametrize(
    ("line", "choices", "path"),
    [
        ("u1-a1-u2 | a1-u3", {}, "u1-a1-u3"),
        ("u1-a1-u2 | a1-u3", {"a1": "u2"}, "u1-a1-u2"),
        ("u1-a1-u2 | a1-u3", {"a1": None}, "u1-a1"),
        ("u1-a1-u2 | a1-u3", {"a1": "u1"}, "u1-a1-u3"),
        ("u1-a1-u2-a2 | u1-a3-u3-a4", {"u1": "a1", "a3": "u3"}, "u1-a1-u2-a2"),
        ("u1-a1 | u2-a2", {}, "u2-a2"),
    ],
)
def test_a_path_takes_the_chosen_child_or_else_the_newest(
    tmp_path: Path, line: str, choices: dict[str, str | None], path: str
) -> None:
    store = Store(tmp_path / "store.sqlite3")
    planted = plant(store, line)
    tree = Tree(
        store.messages.shown_by(planted.conversation_id), store.conversations.get(planted.conversation_id).root_id
    )
    ids = planted.ids
    chosen = {ids[parent]: None if child is None else ids[child] for parent, child in choices.items()}
    assert labels(tree.path(chosen)) == path
    store.close()


def test_messages_above_the_root_have_no_siblings(tmp_path: Path) -> None:
    store = Store(tmp_path / "store.sqlite3")
    planted = plant(store, "u1-a1-u2-a2 | u1-a3 | a1-u3 | u2-a4")
    tree = Tree(store.messages.shown_by(planted.conversation_id), planted.ids["u2"])
    assert tree.siblings(planted.ids["a1"]) == (planted.ids["a1"],)
    assert tree.siblings(planted.ids["u2"]) == (planted.ids["u2"],)
    assert tree.siblings(planted.ids["a2"]) == [planted.ids["a2"], planted.ids["a4"]]
    store.close()


@pytest.mark.parametrize("seed", range(8))
def test_every_walk_ends_and_agrees_with_a_plain_one_over_orphans_and_cycles(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(300):
        num = draw.randint(1, 14)
        is_sound = draw.random() < 0.5
        # Otherwise the parent may be any message: the message itself, a later one, a missing one.
        parents = {
            number: draw.choice([None, *range(1, number if is_sound else num + 3)]) for number in range(1, num + 1)
        }
        root = draw.randint(1, num + 1)
        choices = {number: draw.choice([None, *range(1, num + 3)]) for number in parents if draw.random() < 0.4}
        messages = [_message(number, parent) for number, parent in parents.items()]
        draw.shuffle(messages)
        tree = Tree(messages, root)

        assert len(tree) == num
        for number in parents:
            assert [message.id for message in tree.lineage(number)] == _line(parents, number)
            assert list(tree.children(number)) == [other for other in parents if parents[other] == number]
            siblings = list(tree.siblings(number))
            if parents[number] is None or number in {root, *_line(parents, root)}:
                assert siblings == [number]
            else:
                assert siblings == [other for other in parents if parents[other] == parents[number]]
        assert [message.id for message in tree.path(choices)] == _path(parents, root, choices)


def _message(number: int, parent: int | None) -> Message:
    return Message(id=number, parent_id=parent, role="user", text=str(number))


def _line(parents: dict[int, int | None], number: int | None) -> list[int]:
    line: list[int] = []
    while number in parents and number not in line:
        line.insert(0, number)
        number = parents[number]
    return line


def _path(parents: dict[int, int | None], root: int, choices: dict[int, int | None]) -> list[int]:
    path = _line(parents, root)
    current = root
    while True:
        children = [number for number in parents if parents[number] == current and number not in {root, *path}]
        chosen = choices.get(current, children[-1] if children else None)
        if not children or chosen is None:
            return path
        current = chosen if chosen in children else children[-1]
        path.append(current)
