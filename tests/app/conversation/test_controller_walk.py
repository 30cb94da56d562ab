"""A user does random things while answers stream, fail and crash: the page is compared with dictionaries."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from app.conversation.controller import Controller
from app.model.tree import Tree
from tests.app.desk import Desk
from tests.app.forest import Forest
from tests.app.model.stores import INTEGRITY_CHECK
from tests.long import in_long_runs
from worker.protocol import FinishReason, Generate

pytestmark = pytest.mark.usefixtures("nothing_leaks")

_TEXTS = ("leaf", "twig \0 x", "木 שלום", "😀", "two\nlines", "rot")


def _desk(folder: Path) -> Desk:
    """A desk whose conversations keep their first question as their name."""
    desk = Desk(folder)
    desk.program.preferences.change(names_conversations=False)
    return desk


class _Walk:
    """Does the same to a controller and to the dictionaries."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.draw = random.Random(seed)
        self.folder = folder
        self.desk = _desk(folder)
        self.forest = Forest()
        self.talk: int | None = None
        """The open conversation."""
        self.trashed: int | None = None
        self.system_prompt = ""
        self.growing: dict[int, int] = {}
        """Nodes with a running or waiting answer, with the conversation that asked, in the order of asking."""
        self.requests: dict[int, Generate] = {}
        """Those of them for which the worker was asked."""
        self.begun: dict[int, str] = {}
        """The text that they continue."""
        self._num_seen = 0

    @property
    def controller(self) -> Controller:
        return self.desk.controller

    def step(self) -> None:
        person: list[Callable[[], None]] = [self.send] * 6 + [self.edit] * 3 + [self.regenerate] * 3
        person += [self.choose] * 4 + [self.open] * 3 + [self.go_on] * 3
        person += [self.fork, self.new, self.delete, self.undo, self.stop, self.rename]
        worker: list[Callable[[], None]] = [self.piece] * 6 + [self.finish] * 4 + [self.fail]
        rare: list[Callable[[], None]] = [self.crash, self.restart, self.kill, self.save]
        self.draw.choice(person + worker + (rare if self.draw.random() < 0.3 else []))()
        self.take_requests()

    # --- the user --------------------------------------------------------------------------------------------

    def send(self) -> None:
        text = self.draw.choice(_TEXTS)
        self.controller.send(text)
        if self.talk is None:
            self.talk = self.forest.create(text.replace("\n", " "), "", text)
            question = self.path[-1]
        else:
            question = self.forest.add(self.talk, self.path[-1], "user", text)
        self.ask(question)

    def edit(self) -> None:
        nodes = [node for node in self.path if self.forest.nodes[node].role != "root"]
        if not nodes:
            return
        node, text = self.draw.choice(nodes), self.draw.choice(_TEXTS)
        role, old, parent = self.of(node)
        self.controller.edit(node, text)
        if text == old:
            return
        below = [lower for lower in self.path if self.forest.nodes[lower].role == "user"]
        added = self.add(parent, role, text)
        if role == "system" and below:
            added = self.add(added, "user", self.forest.nodes[below[0]].text)
        if self.forest.nodes[added].role == "user":
            self.ask(added)

    def regenerate(self) -> None:
        nodes = [node for node in self.path if self.forest.nodes[node].role in {"user", "assistant"}]
        if nodes:
            node = self.draw.choice(nodes)
            role, _, parent = self.of(node)
            self.controller.regenerate(node)
            self.ask(node if role == "user" else parent)

    def go_on(self) -> None:
        nodes = [message.id for message in self.controller.shown.path if self.controller.shown.can_continue(message)]
        if nodes and self.talk is not None:
            node = self.draw.choice(nodes)
            self.controller.continue_answer(node)
            if self.forest.children(node) or node in self.forest.line(self.forest.talks[self.talk].root):
                _, text, parent = self.of(node)
                node = self.add(parent, "assistant", text)
            self.growing[node] = self.talk

    def choose(self) -> None:
        nodes = self.path
        if nodes and self.talk is not None:
            node = self.draw.choice(nodes[1:])
            siblings = self.forest.siblings(self.talk, node)
            assert list(self.controller.shown.siblings(node)) == siblings
            chosen = self.draw.choice(siblings)
            assert self.controller.shown.choose_sibling(node, siblings.index(chosen) - siblings.index(node)) == chosen
            if chosen != node:
                self.forest.choose(self.talk, chosen)

    def fork(self) -> None:
        if self.talk is not None:
            node = self.draw.choice(self.path[1:])
            name = f"{self.forest.talks[self.talk].name} (fork)"
            self.controller.fork(node)
            self.talk = self.forest.fork(name, node)

    def new(self) -> None:
        self.controller.shown.new_conversation()
        self.talk = None

    def open(self) -> None:
        if self.forest.talks:
            talk = self.draw.choice(sorted(self.forest.talks))
            self.controller.shown.open_conversation(talk)
            self.talk = None if self.forest.talks[talk].is_trashed else talk

    def rename(self) -> None:
        if self.forest.kept_talks:
            talk = self.draw.choice(self.forest.kept_talks)
            self.controller.program.conversations.rename(talk, "Another name")
            self.forest.talks[talk].name = "Another name"

    def delete(self) -> None:
        if self.forest.kept_talks:
            talk = self.draw.choice(self.forest.kept_talks)
            self.controller.program.conversations.delete(talk)
            self.forest.talks[talk].is_trashed = True
            self.trashed = talk
            self.talk = None if self.talk == talk else self.talk
            for node, asker in reversed(list(self.growing.items())):
                if asker == talk:
                    self.stop_node(node)

    def undo(self) -> None:
        if self.trashed is not None:
            self.controller.undo_delete(self.trashed)
            self.forest.talks[self.trashed].is_trashed = False
            self.talk, self.trashed = self.trashed, None

    def stop(self) -> None:
        self.controller.stop()
        if self.talk is not None:
            for visible in reversed([node for node in self.path if node in self.growing]):
                for node in self.forest.siblings(self.talk, visible):
                    if node in self.growing:
                        self.stop_node(node)

    def restart(self) -> None:
        """Close Bough and open it again."""
        self.desk.close()
        self.begin_again()

    def kill(self) -> None:
        """Kill the program: everything that was not stored yet is lost."""
        self.desk.answers.saving.save()
        self.desk.store.close()
        self.desk.answers.saving._timer.stop()  # pyright: ignore[reportPrivateUsage]
        self.begin_again()

    def begin_again(self) -> None:
        self.growing.clear()
        self.requests.clear()
        self.trashed = None
        self._num_seen = 0
        self.desk = _desk(self.folder)
        if self.talk is not None:
            self.controller.shown.open_conversation(self.talk)

    # --- the worker ------------------------------------------------------------------------------------------

    def piece(self) -> None:
        if self.requests:
            node = self.draw.choice(sorted(self.requests))
            text = self.draw.choice(_TEXTS)
            self.desk.link.chunk(self.requests[node], text)
            self.forest.nodes[node].text += text

    def finish(self) -> None:
        if self.requests:
            node = self.draw.choice(sorted(self.requests))
            request = self.requests[node]
            grown = self.forest.nodes[node].text[len(self.begun[node]) :]
            last = self.draw.choice(_TEXTS)
            reasons: list[FinishReason] = ["eos", "length", "stop", "cancelled"]
            self.desk.link.finished(request, grown + last, self.draw.choice(reasons))
            self.forest.nodes[node].text += last
            self.end(node)

    def fail(self) -> None:
        if self.requests:
            node = self.draw.choice(sorted(self.requests))
            self.desk.link.failed(self.requests[node])
            self.end(node)

    def crash(self) -> None:
        self.desk.link.die()
        self.desk.link.loaded()
        self.growing.clear()
        self.requests.clear()

    def save(self) -> None:
        self.desk.answers.saving.save()

    def take_requests(self) -> None:
        """Check that the worker was asked for the branches above the answers that wait for no other."""
        ready = [
            node
            for node in self.growing
            if node not in self.requests and not set(self.forest.line(node)[:-1]) & set(self.growing)
        ]
        asked = self.desk.link.asked[self._num_seen :]
        self._num_seen += len(asked)
        assert len(asked) == len(ready)
        for node, request in zip(ready, asked, strict=True):
            self.requests[node] = request
            assert isinstance(request.messages, list)
            above = [self.forest.nodes[upper] for upper in self.forest.line(node)[:-1]]
            said = "\n\n".join(upper.text for upper in above if upper.text)
            assert "\n\n".join(turn.content for turn in request.messages) == said
            assert (request.continuation is not None) == bool(self.forest.nodes[node].text)
            self.begun[node] = self.forest.nodes[node].text

    # --- inside ----------------------------------------------------------------------------------------------

    @property
    def path(self) -> list[int]:
        return [] if self.talk is None else self.forest.path(self.talk)

    def of(self, node: int) -> tuple[str, str, int]:
        found = self.forest.nodes[node]
        assert found.parent is not None
        return found.role, found.text, found.parent

    def add(self, parent: int, role: str, text: str) -> int:
        assert self.talk is not None
        self.forest.widen(self.talk, parent)
        return self.forest.add(self.talk, parent, role, text)

    def ask(self, question: int) -> None:
        assert self.talk is not None
        self.growing[self.add(question, "assistant", "")] = self.talk

    def stop_node(self, node: int) -> None:
        """Stop an answer: a waiting one ends at once, a running one when the worker reports it."""
        if node in self.requests:
            assert self.desk.link.cancelled[-1].target in {request.request_id for request in self.requests.values()}
        else:
            self.end(node)

    def end(self, node: int) -> None:
        self.growing.pop(node)
        self.requests.pop(node, None)

    def compare(self) -> None:
        controller, forest = self.controller, self.forest
        assert controller.shown.conversation is None or controller.shown.conversation.id == self.talk
        shown = {message.id: message for message in controller.shown.path}
        assert list(shown) == self.path[1:]
        for node, message in shown.items():
            assert (message.role, message.text) == (forest.nodes[node].role, forest.nodes[node].text)
            assert controller.shown.is_streaming(node) == (node in self.growing)
            assert (message.state == "streaming") == (node in self.growing)
        assert {talk.id: talk.name for talk in controller.program.conversations.all} == {
            talk: forest.talks[talk].name for talk in forest.kept_talks
        }

    def compare_store(self) -> None:
        self.desk.answers.saving.save()
        store = self.desk.store
        for talk in self.forest.kept_talks:
            messages = store.messages.shown_by(talk)
            assert [message.id for message in messages] == sorted(self.forest.reached(talk))
            for message in messages:
                assert message.text == self.forest.nodes[message.id].text
                assert (message.state == "streaming") == (message.id in self.growing)
            path = Tree(messages, store.conversations.get(talk).root_id).path(store.conversations.choices(talk))
            assert [message.id for message in path] == self.forest.path(talk)
        database = sqlite3.connect(self.desk.path)
        database.execute(INTEGRITY_CHECK)
        database.close()


@pytest.mark.parametrize("seed", [0, *in_long_runs(range(1, 6))])
@pytest.mark.usefixtures("qapp")
def test_the_page_agrees_with_plain_dictionaries_after_random_actions(tmp_path: Path, seed: int) -> None:
    walk = _Walk(tmp_path, seed)
    for number in range(600):
        walk.step()
        walk.compare()
        if number % 20 == 0:
            walk.compare_store()
    walk.compare_store()
    walk.desk.close()
