"""A random walk over everything that a store can do, compared with plain dictionaries."""

from __future__ import annotations

import itertools
import random
import re
from pathlib import Path

import msgspec
import pytest

from app.model.attachment import Attachment
from app.model.database import set_up
from app.model.message import Message, Record
from app.model.project import Project, beginning_of, is_of_project
from app.model.store import Store
from app.model.trash import delete_marked
from tests.app.forest import Forest
from tests.app.model.stores import INTEGRITY_CHECK, shown, sql
from tests.long import in_long_runs
from worker.sentence import verbatim

_FOLDERS = ("Garden", "Garden/Trees", "Börse")
_WORDS = ("leaf", "twig", "Ast", "börse", "木", "שלום", "\0", "😀", "a\0b", "rot ten", "")


class _Walk:
    """Does the same things to a store and to the dictionaries."""

    def __init__(self, path: Path, seed: int) -> None:
        self.draw = random.Random(seed)
        self.path = path
        self.store = Store(path)
        self.forest = Forest()
        self.folders: dict[int, str] = {}
        """The folder of each conversation."""
        self.projects: dict[str, Project] = {}

    def step(self) -> None:
        operations = [self.add] * 8 + [self.choose] * 3 + [self.grow] * 4 + [self.fork, self.create, self.trash]
        operations += [self.restore, self.empty, self.widen, self.rename, self.reopen, self.rewrite, self.interrupt]
        operations += [self.prune, self.unprune, self.replace]
        operations += [self.move, self.put_project, self.add_project, self.remove_project, self.rename_folder]
        if not self.forest.kept_talks:
            self.create()
        else:
            self.draw.choice(operations)()

    def text(self) -> str:
        return " ".join(self.draw.choices(_WORDS, k=self.draw.randint(0, 4)))

    def talk(self) -> int:
        return self.draw.choice(self.forest.kept_talks)

    def create(self) -> None:
        name, system_prompt, question = self.text(), self.text(), self.text()
        folder = self.draw.choice(["", *_FOLDERS])
        project = self.projects.get(folder)
        conversation, first = self.store.create_conversation(
            name,
            system_prompt,
            question,
            files=["own\n"],
            folder=folder,
            project_files=None if project is None else project.file_texts,
        )
        files = [*([] if project is None else project.file_texts), "own\n"]
        assert conversation.id == self.forest.create(name, system_prompt, question, files)
        assert conversation.folder == folder
        self.folders[conversation.id] = folder
        assert first.id == max(self.forest.nodes)
        beginning = beginning_of(self.store.messages.lineage(first.id))
        assert beginning is not None
        assert is_of_project(beginning.system) == (project is not None)
        assert beginning.project_files + beginning.own_files == files
        assert beginning.own_files == ["own\n"]

    def fork(self) -> None:
        node = self.draw.choice(sorted(self.forest.reached(self.talk())))
        conversation = self.store.fork_conversation("fork", node)
        assert conversation.id == self.forest.fork("fork", node)
        self.folders[conversation.id] = ""

    def move(self) -> None:
        talk, folder = self.talk(), self.draw.choice(["", *_FOLDERS])
        self.store.conversations.put_into_folder(talk, folder)
        self.folders[talk] = folder

    def put_project(self) -> None:
        folder, project = self.draw.choice(_FOLDERS), self.project()
        self.store.projects.put(folder, project)
        self.projects[folder] = project

    def add_project(self) -> None:
        folder, project = self.draw.choice(_FOLDERS), self.project()
        assert self.store.projects.add(folder, project) == (folder not in self.projects)
        self.projects.setdefault(folder, project)

    def remove_project(self) -> None:
        folder = self.draw.choice(_FOLDERS)
        self.store.projects.remove(folder)
        self.projects.pop(folder, None)

    def rename_folder(self) -> None:
        folder, name = self.draw.choice(_FOLDERS), self.draw.choice(["", *_FOLDERS])
        self.store.projects.rename(folder, name)
        if folder != name:
            self.folders = {talk: name if here == folder else here for talk, here in self.folders.items()}
            project = self.projects.pop(folder, None)
            if project is not None and name:
                self.projects.setdefault(name, project)

    def project(self) -> Project:
        files = tuple(Attachment(name=f"{number}.txt", text=self.text()) for number in range(self.draw.randint(0, 2)))
        return Project(instructions=self.text(), files=files, model=self.draw.choice(["", "guide"]))

    def add(self) -> None:
        talk = self.talk()
        root = self.forest.talks[talk].root
        # Also conversations that another program has moved to the trash.
        parent = self.draw.choice(sorted(self.forest.below(root)))
        role, text, is_growing = self.draw.choice(["user", "assistant"]), self.text(), self.draw.random() < 0.3
        others = {other: self.forest.path(other) for other in self.forest.talks if other != talk}
        pruned = self.forest.pruned
        message = self.store.add(
            talk,
            parent,
            "user" if role == "user" else "assistant",
            text,
            state="streaming" if is_growing else "complete",
        )
        assert message.id == self.forest.add(talk, parent, role, text, is_growing=is_growing)
        if self.forest.pruned == pruned:
            assert {other: self.forest.path(other) for other in others} == others

    def widen(self) -> None:
        talk = self.talk()
        line = self.forest.line(self.forest.talks[talk].root)
        if len(line) > 1:
            parent = self.draw.choice(line[:-1])
            way = line[line.index(parent) :]
            self.store.conversations.widen(talk, parent, dict(itertools.pairwise(way)))
            self.forest.widen(talk, parent)

    def choose(self) -> None:
        talk = self.talk()
        below = self.forest.below(self.forest.talks[talk].root) - {self.forest.talks[talk].root}
        if below:
            node = self.draw.choice(sorted(below))
            parent = self.forest.nodes[node].parent
            assert parent is not None
            self.store.conversations.choose(talk, {parent: node})
            self.forest.choose(talk, node)

    def grow(self) -> None:
        growing = [number for number, node in self.forest.nodes.items() if node.is_growing]
        texts = {number: self.text() for number in growing if self.draw.random() < 0.7}
        self.store.messages.append(texts)
        for number, text in texts.items():
            self.forest.nodes[number].text += text

    def rewrite(self) -> None:
        """Let an answer end, or continue."""
        number = self.draw.choice(sorted(self.forest.nodes))
        node = self.forest.nodes[number]
        node.text, node.is_growing = node.text + self.text(), not node.is_growing
        message = Message(id=number, parent_id=node.parent, role="user", text=node.text, record=Record(seed=number))
        self.store.update(msgspec.structs.replace(message, state="streaming" if node.is_growing else "complete"))

    def replace(self) -> None:
        number = self.draw.choice(sorted(self.forest.nodes))
        text = self.text()
        assert self.store.set_text(number, text).text == text
        self.forest.nodes[number].text = text

    def prune(self) -> None:
        nodes = self.draw.sample(sorted(self.forest.nodes), k=min(2, len(self.forest.nodes)))
        self.store.messages.prune(nodes)
        for node in nodes:
            self.forest.nodes[node].is_pruned = True

    def unprune(self) -> None:
        nodes = [number for number in self.forest.nodes if self.draw.random() < 0.5]
        self.store.messages.prune(nodes, is_pruned=False)
        for node in nodes:
            self.forest.nodes[node].is_pruned = False

    def trash(self) -> None:
        talk = self.talk()
        self.store.conversations.trash(talk)
        self.forest.talks[talk].is_trashed = True

    def restore(self) -> None:
        talk = self.draw.choice(sorted(self.forest.talks))
        self.store.conversations.restore(talk)
        self.forest.talks[talk].is_trashed = False

    def empty(self) -> None:
        assert self.store.empty_trash() == self.forest.empty_trash()

    def rename(self) -> None:
        talk, name = self.talk(), self.text()
        self.store.conversations.rename(talk, name)
        self.forest.talks[talk].name = name

    def interrupt(self) -> None:
        growing = [node for node in self.forest.nodes.values() if node.is_growing]
        self.erase()
        assert self.store.interrupt_streaming(verbatim("It ended.")) == len(growing)
        for node in growing:
            node.is_growing = False

    def reopen(self) -> None:
        self.store.close()
        self.store = Store(self.path)

    def compare(self) -> None:
        store, forest = self.store, self.forest
        found = {conversation.id: conversation for conversation in store.conversations.all()}
        assert sorted(found) == sorted(forest.kept_talks)
        assert {folder: store.projects.get(folder) for folder in store.projects.names()} == self.projects
        here = {found[talk].folder for talk in forest.kept_talks} - {""}
        assert store.conversations.folders() == sorted(here | self.projects.keys())
        for talk in forest.kept_talks:
            assert found[talk].folder == self.folders[talk]
            assert found[talk].name == forest.talks[talk].name
            assert found[talk].root_id == forest.talks[talk].root
            messages = {message.id: message for message in store.messages.shown_by(talk)}
            assert list(messages) == sorted(forest.reached(talk))
            for number, message in messages.items():
                node = forest.nodes[number]
                assert (message.parent_id, message.text) == (node.parent, node.text)
                assert (message.state == "streaming") == node.is_growing
            assert [message.id for message in shown(store, talk)] == forest.path(talk)

    def erase(self) -> None:
        with sql(self.path) as database:
            set_up(database)
            delete_marked(database)

    def compare_search(self) -> None:
        self.erase()
        with sql(self.path) as database:
            database.execute(INTEGRITY_CHECK)
            (num_stored,) = database.execute("SELECT count(*) FROM message").fetchone()
            assert num_stored == len(self.forest.nodes)
            for word in ("leaf", "twig", "ast", "börse", "木", "שלום", "rot", "ten", "a", "b"):
                query = "SELECT rowid FROM message_text WHERE message_text MATCH ? ORDER BY rowid"
                found = [row[0] for row in database.execute(query, (f'"{word}"',))]
                assert found == [
                    number
                    for number, node in sorted(self.forest.nodes.items())
                    if not node.is_growing and word in re.findall(r"木|[^\W木]+", node.text.lower())
                ]


@pytest.mark.parametrize("seed", [4, *in_long_runs([*range(4), 5])])
def test_after_a_random_walk_the_store_agrees_with_plain_dictionaries(
    path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Everything that the others move to the trash is deleted in the background.
    monkeypatch.setattr("app.model.trash._MAX_AT_ONCE", 1000 if seed % 2 else 0)
    walk = _Walk(path, seed)
    for number in range(400):
        walk.step()
        walk.compare()
        if number % 25 == 0:
            walk.compare_search()
    walk.compare_search()
    walk.store.close()
