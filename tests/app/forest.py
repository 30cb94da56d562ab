"""Conversations as plain dictionaries, with which the store and the controller are compared."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass
class Node:
    parent: int | None
    role: str
    text: str
    is_growing: bool = False
    is_pruned: bool = False


@dataclass
class Talk:
    name: str
    root: int
    is_trashed: bool = False
    choices: dict[int, int | None] = field(default_factory=dict[int, "int | None"])


class Forest:
    """Messages and conversations, each numbered from 1 in order of creation."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.talks: dict[int, Talk] = {}
        self._num_nodes = 0
        self._num_talks = 0

    # --- reading ---------------------------------------------------------------------------------------------

    def children(self, node: int) -> list[int]:
        return [other for other in self.nodes if self.nodes[other].parent == node]

    def line(self, node: int | None) -> list[int]:
        """Return a node and all its ancestors, the topmost first."""
        return [] if node is None else [*self.line(self.nodes[node].parent), node]

    def below(self, node: int) -> set[int]:
        return {node}.union(*(self.below(child) for child in self.children(node)))

    def shown_below(self, node: int) -> set[int]:
        return {node}.union(*(self.shown_below(child) for child in self.shown_children(node)))

    def shown_children(self, node: int) -> list[int]:
        return [child for child in self.children(node) if not self.nodes[child].is_pruned]

    def reached(self, talk: int) -> set[int]:
        return {*self.line(self.talks[talk].root), *self.shown_below(self.talks[talk].root)}

    def path(self, talk: int) -> list[int]:
        path = self.line(self.talks[talk].root)
        while children := self.shown_children(path[-1]):
            chosen = self.talks[talk].choices.get(path[-1], children[-1])
            if chosen is None:
                break
            path.append(chosen if chosen in children else children[-1])
        return path

    def siblings(self, talk: int, node: int) -> list[int]:
        parent = self.nodes[node].parent
        if parent is None or node in self.line(self.talks[talk].root):
            return [node]
        return self.shown_children(parent)

    @property
    def kept_talks(self) -> list[int]:
        return [number for number, talk in self.talks.items() if not talk.is_trashed]

    @property
    def pruned(self) -> set[int]:
        return {number for number, node in self.nodes.items() if node.is_pruned}

    # --- changing --------------------------------------------------------------------------------------------

    def create(self, name: str, system_prompt: str, question: str, files: Sequence[str] = ()) -> int:
        line = [self._node(None, "root", "")]
        for role, text in [("system", system_prompt), *(("file", file) for file in files), ("user", question)]:
            line.append(self._node(line[-1], role, text))
        talk = self._talk(name, line[0])
        self.talks[talk].choices = dict(itertools.pairwise(line))
        return talk

    def fork(self, name: str, node: int) -> int:
        talk = self._talk(name, node)
        self.talks[talk].choices = {node: None}
        return talk

    def add(self, talk: int, parent: int, role: str, text: str, *, is_growing: bool = False) -> int:
        """Add a node to a conversation that may branch there. The others continue to show what they showed."""
        children = self.shown_children(parent)
        for number, other in self.talks.items():
            if number != talk and other.root in self.line(parent):
                chosen = other.choices.setdefault(parent, children[-1] if children else None)
                if chosen is not None and self.nodes[chosen].is_pruned:
                    other.choices[parent] = children[-1] if children else None
        node = self._node(parent, role, text, is_growing=is_growing)
        self.talks[talk].choices[parent] = node
        self.talks[talk].is_trashed = False
        root = self.talks[talk].root
        for above in self.line(parent):
            if root in self.line(above) and above != root:
                self.nodes[above].is_pruned = False
        return node

    def widen(self, talk: int, parent: int) -> None:
        """Let a conversation branch at a node above its root."""
        line = self.line(self.talks[talk].root)
        if parent in line[:-1]:
            for upper, lower in itertools.pairwise(line):
                if upper in line[line.index(parent) :]:
                    self.talks[talk].choices[upper] = lower
            self.talks[talk].root = parent

    def choose(self, talk: int, node: int) -> None:
        parent = self.nodes[node].parent
        assert parent is not None
        self.talks[talk].choices[parent] = node

    def empty_trash(self) -> int:
        kept: set[int] = set().union(*(self.reached(talk) for talk in self.kept_talks))
        gone = set(self.nodes) - kept
        self.talks = {number: talk for number, talk in self.talks.items() if not talk.is_trashed}
        self.nodes = {number: node for number, node in self.nodes.items() if number in kept}
        for talk in self.talks.values():
            talk.choices = {
                parent: child
                for parent, child in talk.choices.items()
                if parent in kept and (child is None or child in kept)
            }
        return len(gone)

    def _node(self, parent: int | None, role: str, text: str, *, is_growing: bool = False) -> int:
        self._num_nodes += 1
        self.nodes[self._num_nodes] = Node(parent, role, text, is_growing)
        return self._num_nodes

    def _talk(self, name: str, root: int) -> int:
        self._num_talks += 1
        self.talks[self._num_talks] = Talk(name, root)
        return self._num_talks
