"""Stop strings as one automaton over bytes of text; it knows no tokens and no model.

Aho and Corasick, "Efficient string matching: an aid to bibliographic search", CACM 18 (1975). A node stands for
the longest suffix of the text so far that is a prefix of some stop string, so its depth is exactly what must be
held back: nothing shorter is safe, nothing longer is needed. What a node does with a whole piece of text is
remembered, because a model says the same pieces over and over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import NamedTuple

from worker.characters import split_characters

# Pieces remembered in one automaton; beyond it the memory is emptied and learnt anew.
_MAX_MOVES = 1 << 16


class Move(NamedTuple):
    """What one piece of text does: its characters, the node after them, bytes left, and the stop if one matched.

    With a `stop`, `text` ends with that stop's last character: what follows is of no interest.
    """

    text: str
    node: Node
    pending: bytes
    stop: str | None


class Node:
    """The longest suffix of the text so far that is a prefix of a stop string; `depth` is its length in characters."""

    __slots__ = ("children", "depth", "fail", "moves", "stop")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.children: dict[str, Node] = {}
        self.fail: Node = self
        self.stop: str | None = None
        self.moves: dict[bytes, Move] = {}


class StopStrings:
    """The automaton of some stop strings. Immutable but for what it remembers; safe to share in one thread."""

    def __init__(self, stops: Iterable[str] = ()) -> None:
        self.root = Node(0)
        self._learnt: list[Node] = []
        for stop in stops:
            if not stop:
                raise ValueError("A stop string must not be empty")
            self._add(stop)
        self._link()

    def after(self, text: str) -> Node:
        """Return the node that `text` leads to; stop strings that end within it are passed over."""
        node = self.root
        for character in text:
            node = self._step(node, character)
        return node

    def move(self, node: Node, data: bytes) -> Move:
        """Return what `data`, coming after `node` with no bytes pending, does. Costs a look-up when seen before."""
        known = node.moves.get(data)
        if known is None:
            known = self._walk(node, data)
            self._remember(node, data, known)
        return known

    def _walk(self, node: Node, data: bytes) -> Move:
        text, pending = split_characters(data)
        if not self.root.children:
            return Move(text, node, pending, None)
        for index, character in enumerate(text, 1):
            node = self._step(node, character)
            if node.stop is not None:
                return Move(text[:index], node, b"", node.stop)
        return Move(text, node, pending, None)

    def _step(self, node: Node, character: str) -> Node:
        root = self.root
        while True:
            child = node.children.get(character)
            if child is not None:
                return child
            if node is root:
                return root
            node = node.fail

    def _remember(self, node: Node, data: bytes, move: Move) -> None:
        if len(self._learnt) >= _MAX_MOVES:
            for learnt in self._learnt:
                learnt.moves.clear()
            self._learnt.clear()
        node.moves[data] = move
        self._learnt.append(node)

    def _add(self, stop: str) -> None:
        node = self.root
        for character in stop:
            child = node.children.get(character)
            if child is None:
                child = node.children[character] = Node(node.depth + 1)
            node = child
        node.stop = stop

    def _link(self) -> None:
        """Point each node at its longest proper suffix, breadth first, and hand down the longest stop ending there."""
        waiting: deque[Node] = deque()
        for child in self.root.children.values():
            child.fail = self.root
            waiting.append(child)
        while waiting:
            node = waiting.popleft()
            if node.stop is None:
                node.stop = node.fail.stop
            for character, child in node.children.items():
                child.fail = self._step(node.fail, character)
                waiting.append(child)


NO_STOPS = StopStrings()
