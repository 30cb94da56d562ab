"""A user changes trees in random order, with undo and redo: the program is compared with dictionaries."""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.model.message import Message
from app.model.tree import Tree
from tests.app.desk import Desk
from tests.long import in_long_runs
from worker.protocol import FinishReason, Generate

pytestmark = pytest.mark.usefixtures("nothing_leaks")

_TEXTS = ("leaf", "twig \0 x", "木 שלום", "😀", "two\nlines", "rot")
_NOTHING = object()


@dataclass
class _Node:
    parent: int | None
    role: str
    text: str
    is_starred: bool = False
    is_pinned: bool = False
    name: str = ""

    @property
    def marks(self) -> tuple[bool, bool, str]:
        return self.is_starred, self.is_pinned, self.name


@dataclass
class _Talk:
    root: int
    choices: dict[int, int | None] = field(default_factory=dict[int, "int | None"])


@dataclass
class _Step:
    """A snapshot from which another state of the model is restored."""

    root: int
    hide: set[int] = field(default_factory=set[int])
    show: set[int] = field(default_factory=set[int])
    nodes: dict[int, _Node] = field(default_factory=dict[int, _Node])
    choices: dict[int, object] = field(default_factory=dict[int, object])


class _Model:
    """Messages and conversations as dictionaries, with the rules of the tree written a second time, plainly."""

    def __init__(self) -> None:
        self.nodes: dict[int, _Node] = {}
        self.hidden: set[int] = set()
        self.talks: dict[int, _Talk] = {}
        self.done: dict[int, list[_Step]] = {}
        self.undone: dict[int, list[_Step]] = {}

    def line(self, node: int | None) -> list[int]:
        return [] if node is None else [*self.line(self.nodes[node].parent), node]

    def children(self, node: int) -> list[int]:
        return sorted(child for child in self.nodes if self.nodes[child].parent == node and child not in self.hidden)

    def below(self, node: int) -> set[int]:
        return {node}.union(*(self.below(child) for child in self.children(node)))

    def reached(self, talk: int) -> set[int]:
        return {*self.line(self.talks[talk].root), *self.below(self.talks[talk].root)}

    def path(self, talk: int) -> list[int]:
        path = self.line(self.talks[talk].root)
        while children := self.children(path[-1]):
            chosen = self.talks[talk].choices.get(path[-1], children[-1])
            if chosen is None:
                break
            path.append(chosen if chosen in children else children[-1])
        return path

    def siblings(self, talk: int, node: int) -> list[int]:
        parent = self.nodes[node].parent
        return [node] if parent is None or node in self.line(self.talks[talk].root) else self.children(parent)

    def begin(self, talk: int) -> _Step:
        self.undone[talk] = []
        step = _Step(self.talks[talk].root)
        self.done.setdefault(talk, []).append(step)
        return step

    def add(self, talk: int, step: _Step, parent: int, role: str, text: str) -> int:
        """Numbers are the store's: one more than the last."""
        opened = self.talks[talk]
        line = self.line(opened.root)
        if parent in line[:-1]:
            for upper, lower in zip(line[line.index(parent) :], line[line.index(parent) + 1 :], strict=False):
                opened.choices[upper] = lower
            opened.root = parent
        visible = self.children(parent)
        for number, other in self.talks.items():
            if number != talk and other.root in self.line(parent):
                newest = visible[-1] if visible else None
                if parent not in other.choices or other.choices[parent] in self.hidden:
                    other.choices[parent] = newest
        node = max(self.nodes, default=0) + 1
        self.nodes[node] = _Node(parent, role, text)
        step.choices.setdefault(parent, opened.choices.get(parent, _NOTHING))
        opened.choices[parent] = node
        step.hide.add(node)
        return node

    def put_back(self, talk: int, step: _Step) -> _Step:
        opened = self.talks[talk]
        back = _Step(
            opened.root,
            hide=set(step.show),
            show=set(step.hide),
            nodes={node: copy.copy(self.nodes[node]) for node in step.nodes},
            choices={parent: opened.choices.get(parent, _NOTHING) for parent in step.choices},
        )
        self.hidden = (self.hidden | step.hide) - step.show
        self.nodes |= {node: copy.copy(before) for node, before in step.nodes.items()}
        for parent, child in step.choices.items():
            if child is _NOTHING:
                opened.choices.pop(parent, None)
            else:
                assert child is None or isinstance(child, int)
                opened.choices[parent] = child
        opened.root = step.root
        return back

    def go_to(self, talk: int, node: int) -> None:
        line = self.line(node)
        if not set(line) <= set(self.path(talk)):
            self.talks[talk].choices |= dict(itertools.pairwise(line))


class _Walk:
    def __init__(self, folder: Path, seed: int) -> None:
        self.draw = random.Random(seed)
        self.desk = Desk(folder)
        self.controller = self.desk.controller
        self.model = _Model()
        self.talk = 0
        self.growing: dict[int, Generate] = {}
        self.choice_of: dict[int, int] = {}
        self.revealed: list[int] = []
        self.controller.shown.revealed.connect(self.revealed.append)
        self.num_undone = self.num_redone = 0

    def step(self) -> None:
        acts: list[Callable[[], None]] = [self.send] * 3 + [self.edit] * 3 + [self.regenerate] * 3 + [self.go_on] * 2
        acts += [self.replace, self.star, self.pin, self.name, self.prune, self.keep_only, self.fork]
        acts += [self.choose] * 3 + [self.go_to] * 2 + [self.open] * 2 + [self.undo] * 8 + [self.redo] * 5
        if self.growing and self.draw.random() < 0.7:
            self.end()
        elif not self.growing:
            (self.draw.choice(acts) if self.talk else self.send)()

    # --- the user --------------------------------------------------------------------------------------------

    @property
    def path(self) -> list[int]:
        return self.model.path(self.talk)

    def any_of(self, roles: set[str]) -> int | None:
        nodes = [node for node in self.path if self.model.nodes[node].role in roles]
        return self.draw.choice(nodes) if nodes else None

    def send(self) -> None:
        text = self.draw.choice(_TEXTS)
        if self.talk == 0:
            self.controller.send(text)
            assert self.controller.shown.conversation is not None
            self.talk = self.controller.shown.conversation.id
            first = max(self.model.nodes, default=0) + 1
            roles = (("root", ""), ("system", ""), ("user", text))
            for number, (role, said) in enumerate(roles, first):
                self.model.nodes[number] = _Node(None if role == "root" else number - 1, role, said)
            self.model.talks[self.talk] = _Talk(first, {first: first + 1, first + 1: first + 2})
            step = self.model.begin(self.talk)
            step.hide.add(first + 2)
            step.choices[first + 1] = _NOTHING
            self.ask(step, first + 2)
        else:
            leaf = self.path[-1]
            self.controller.send(text)
            step = self.model.begin(self.talk)
            self.ask(step, self.model.add(self.talk, step, leaf, "user", text))

    def edit(self) -> None:
        node = self.any_of({"user", "assistant"})
        text = self.draw.choice(_TEXTS)
        if node is None or self.model.nodes[node].text == text:
            return
        parent, role = self.model.nodes[node].parent, self.model.nodes[node].role
        assert parent is not None
        self.controller.edit(node, text)
        step = self.model.begin(self.talk)
        added = self.model.add(self.talk, step, parent, role, text)
        if role == "user":
            self.ask(step, added)

    def regenerate(self) -> None:
        node = self.any_of({"user", "assistant"})
        if node is None:
            return
        number = self.draw.choice([1, 1, 2, 3])
        self.controller.regenerate(node, number)
        question = node if self.model.nodes[node].role == "user" else self.model.nodes[node].parent
        assert question is not None
        self.ask(self.model.begin(self.talk), question, number)

    def go_on(self) -> None:
        nodes = [message.id for message in self.controller.shown.path if self.controller.shown.can_continue(message)]
        if not nodes:
            return
        node = self.draw.choice(nodes)
        is_leaf = not self.model.children(node) and node != self.model.talks[self.talk].root
        self.controller.continue_answer(node)
        step = self.model.begin(self.talk)
        if is_leaf:
            step.nodes[node] = copy.copy(self.model.nodes[node])
        else:
            old = self.model.nodes[node]
            assert old.parent is not None
            node = self.model.add(self.talk, step, old.parent, "assistant", old.text)
        self.growing[node] = self.desk.link.asked[-1]
        self.choice_of[node] = 0

    def replace(self) -> None:
        node = self.any_of({"user", "assistant"})
        text = self.draw.choice(_TEXTS)
        if node is not None and self.model.nodes[node].text != text:
            self.remember(node)
            self.controller.replace(node, text)
            self.model.nodes[node].text = text

    def star(self) -> None:
        node = self.any_of({"user", "assistant"})
        if node is not None:
            self.remember(node)
            self.controller.star(node)
            self.model.nodes[node].is_starred ^= True

    def pin(self) -> None:
        node = self.any_of({"user", "assistant"})
        if node is not None:
            self.remember(node)
            self.controller.pin_branch(node)
            self.model.nodes[node].is_pinned ^= True

    def name(self) -> None:
        node = self.any_of({"user", "assistant"})
        if node is not None:
            self.remember(node)
            self.controller.name_branch(node, "A way")
            self.model.nodes[node].name = "A way"

    def remember(self, node: int) -> None:
        self.model.begin(self.talk).nodes[node] = copy.copy(self.model.nodes[node])

    def prune(self) -> None:
        node = self.any_of({"user", "assistant"})
        if node is not None and node not in self.model.line(self.model.talks[self.talk].root):
            num_below = len(self.model.below(node))
            self.controller.prune(node)
            what = "1 message was" if num_below == 1 else f"{num_below} messages were"
            assert self.desk.notices[-1].text == f"{what} pruned."
            self.take_out([node])

    def keep_only(self) -> None:
        node = self.any_of({"user", "assistant"})
        others = [] if node is None else [n for n in self.model.siblings(self.talk, node) if n != node]
        if node is not None and others:
            self.controller.keep_only(node)
            self.take_out(others)

    def take_out(self, nodes: list[int]) -> None:
        step = self.model.begin(self.talk)
        parent = self.model.nodes[nodes[0]].parent
        assert parent is not None
        choices = self.model.talks[self.talk].choices
        step.show.update(nodes)
        self.model.hidden.update(nodes)
        kept = self.model.children(parent)
        if kept and choices.get(parent) in nodes:
            step.choices[parent] = choices[parent]
            choices[parent] = max((node for node in kept if node < min(nodes)), default=kept[0])

    def choose(self) -> None:
        node = self.draw.choice(self.path[1:])
        siblings = self.model.siblings(self.talk, node)
        assert list(self.controller.shown.siblings(node)) == siblings
        chosen = self.draw.choice(siblings)
        self.controller.shown.choose_sibling(node, siblings.index(chosen) - siblings.index(node))
        if chosen != node:
            parent = self.model.nodes[node].parent
            assert parent is not None
            self.model.talks[self.talk].choices[parent] = chosen

    def go_to(self) -> None:
        node = self.draw.choice(sorted(self.model.reached(self.talk)))
        self.controller.shown.go_to(node)
        self.model.go_to(self.talk, node)
        assert self.revealed.pop() == node

    def fork(self) -> None:
        node = self.any_of({"user", "assistant"})
        if node is not None and len(self.model.talks) < 6:
            self.controller.fork(node)
            assert self.controller.shown.conversation is not None
            self.talk = self.controller.shown.conversation.id
            self.model.talks[self.talk] = _Talk(node, {node: None})

    def open(self) -> None:
        self.talk = self.draw.choice(sorted(self.model.talks))
        self.controller.shown.open_conversation(self.talk)

    def undo(self) -> None:
        steps = self.model.done.get(self.talk, [])
        assert bool(self.controller.to_undo) == bool(steps)
        self.controller.undo()
        if steps:
            self.model.undone[self.talk].append(self.move(steps.pop()))
            self.num_undone += 1

    def redo(self) -> None:
        steps = self.model.undone.get(self.talk, [])
        assert bool(self.controller.to_redo) == bool(steps)
        self.controller.redo()
        if steps:
            self.model.done[self.talk].append(self.move(steps.pop()))
            self.num_redone += 1

    def move(self, step: _Step) -> _Step:
        changed = {*step.hide, *step.show, *step.nodes}
        back = self.model.put_back(self.talk, step)
        # The position is shown, and something changed there.
        place = self.revealed.pop()
        near = changed | {self.model.nodes[node].parent for node in changed}
        seen = self.model.reached(self.talk)
        # A message that another conversation has hidden since cannot be shown.
        assert {place, self.model.nodes[place].parent} & near or not changed & seen
        self.model.go_to(self.talk, place)
        return back

    # --- the worker ------------------------------------------------------------------------------------------

    def ask(self, step: _Step, question: int, number: int = 1) -> None:
        nodes = [self.model.add(self.talk, step, question, "assistant", "") for _ in range(number)]
        self.model.talks[self.talk].choices[question] = nodes[0]
        request = self.desk.link.asked[-1]
        assert request.n == number
        for choice, node in enumerate(nodes):
            self.growing[node] = request
            self.choice_of[node] = choice

    def end(self) -> None:
        """Let all running answers end one after another, or undo while they run."""
        texts = {node: self.draw.choice(_TEXTS) for node in self.growing}
        request = next(iter(self.growing.values()))
        for node, text in texts.items():
            self.desk.link.chunk(request, text, choice=self.choice_of[node])
            self.model.nodes[node].text += text
        ordered = sorted(self.growing, key=self.choice_of.__getitem__)
        if self.draw.random() < 0.3:
            steps = self.model.done[self.talk]
            is_later = bool(set(self.growing) & {*steps[-1].hide, *steps[-1].nodes})
            self.controller.undo()
            # Nothing is removed from under an answer that still grows.
            assert self.revealed == [] if is_later else self.revealed
            self.desk.link.finished_all(request, [texts[node] for node in ordered], "cancelled")
            self.growing.clear()
            self.model.undone[self.talk].append(self.move(steps.pop()))
            self.num_undone += 1
        else:
            reasons: list[FinishReason] = ["eos", "length"]
            reason = self.draw.choice(reasons)
            self.desk.link.finished_all(request, [texts[node] for node in ordered], reason)
            self.growing.clear()

    # --- comparing -------------------------------------------------------------------------------------------

    def compare(self) -> None:
        path = self.path
        shown = self.controller.shown.path
        assert [message.id for message in shown] == path[1:]
        for message in shown:
            node = self.model.nodes[message.id]
            assert (message.role, message.text, _marks(message)) == (node.role, node.text, node.marks)
            assert list(self.controller.shown.siblings(message.id)) == self.model.siblings(self.talk, message.id)

    def compare_store(self) -> None:
        self.desk.answers.saving.save()
        for talk in self.model.talks:
            messages = self.desk.store.messages.shown_by(talk)
            assert {message.id for message in messages} == self.model.reached(talk)
            for message in messages:
                node = self.model.nodes[message.id]
                found = (message.parent_id, message.role, message.text, _marks(message))
                assert found == (node.parent, node.role, node.text, node.marks)
            path = Tree(messages, self.desk.store.conversations.get(talk).root_id).path(
                self.desk.store.conversations.choices(talk)
            )
            assert [message.id for message in path] == self.model.path(talk)


def _marks(message: Message) -> tuple[bool, bool, str]:
    return message.starred_ms is not None, message.pinned_ms is not None, message.name


@pytest.mark.parametrize(("seed", "num_steps"), [(0, 700), *in_long_runs((seed, 2_000) for seed in range(3))])
@pytest.mark.usefixtures("qapp")
def test_random_changes_are_undone_and_redone(tmp_path: Path, seed: int, num_steps: int) -> None:
    walk = _Walk(tmp_path, seed)
    for number in range(num_steps):
        walk.step()
        if walk.talk:
            walk.compare()
        if number % 20 == 0:
            walk.compare_store()
    walk.compare_store()
    assert walk.num_undone > num_steps / 20
    assert walk.num_redone > num_steps / 40
    walk.desk.close()
