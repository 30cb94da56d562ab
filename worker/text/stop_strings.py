"""Stop strings as one automaton over characters; it knows no bytes, no tokens and no model.

Aho and Corasick, "Efficient string matching: an aid to bibliographic search", CACM 18 (1975). A node stands for
the longest suffix of the text so far that is a prefix of some stop string, so its depth is exactly what must be
held back: nothing shorter is safe, nothing longer is needed.

The nodes that any text comes to are made at once, the others and the steps between nodes when one first needs them:
of a thousand long stop strings it sees little more than the first characters.
"""

from __future__ import annotations

from collections.abc import Iterable

_NUM_AT_ONCE = 3
"""Characters of each stop string that are nodes from the beginning."""


class Node(dict[str, "Node"]):
    """A prefix of some stop strings, and for each character the node that the text is at after it.

    `depth` is the prefix's length in characters, `stop` the longest stop string that it ends with, if any. `suffix`
    is its longest proper suffix that is a node, too; `longer` are the stop strings that go on from it, by character.
    """

    __slots__ = ("depth", "longer", "stop", "suffix")

    def __init__(self, stops: list[str], depth: int, suffix: Node | None) -> None:
        """`stops`: those that begin with this prefix, sorted."""
        self.depth = depth
        self.stop = None if suffix is None else suffix.stop
        self.suffix = suffix
        if stops and len(stops[0]) == depth:
            self.stop = stops[0]
            stops = stops[1:]
        self.longer = _by_character(stops, depth)

    def __missing__(self, character: str) -> Node:
        """Find where `character` leads from here, the first time that it comes."""
        # This node and its ever shorter suffixes, down to the first that knows it already.
        asked: list[Node] = [self]
        suffix = self.suffix
        while suffix is not None and character not in suffix:
            asked.append(suffix)
            suffix = suffix.suffix
        following = asked[-1] if suffix is None else suffix[character]
        for node in reversed(asked):
            stops = node.longer.get(character)
            if stops is not None:
                following = Node(stops, node.depth + 1, following)
            node[character] = following
        return following


class StopStrings:
    """The automaton of some stop strings: `start` is where every text begins."""

    def __init__(self, stops: Iterable[str] = ()) -> None:
        distinct = sorted(set(stops))
        if "" in distinct:
            raise ValueError("A stop string must not be empty")
        self.start = Node(distinct, 0, None)
        self._max_length = max(map(len, distinct), default=0)
        for stop in distinct:
            self.after(stop[:_NUM_AT_ONCE])

    def after(self, text: str) -> Node:
        """Return the node that `text` leads to; stop strings that end within it are passed over."""
        node = self.start
        for character in text[max(0, len(text) - self._max_length) :]:
            node = node[character]
        return node


def _by_character(stops: list[str], depth: int) -> dict[str, list[str]]:
    """Group sorted strings, which agree in the first `depth` characters, by the next one."""
    if not stops:
        return {}
    if stops[0][depth] == stops[-1][depth]:
        return {stops[0][depth]: stops}
    groups: dict[str, list[str]] = {}
    for stop in stops:
        groups.setdefault(stop[depth], []).append(stop)
    return groups
