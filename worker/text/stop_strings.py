"""Stop strings as one automaton over characters. Independent of bytes, tokens and the model.

Aho and Corasick, "Efficient string matching: an aid to bibliographic search", CACM 18 (1975). A node represents the
longest suffix of the text so far that is a prefix of some stop string. Its depth is therefore exactly the number of
characters to hold back.

Only the nodes of the first characters are made at the start. The others, and the steps between nodes, are made when a
text first reaches them, because a text seldom reaches most of them.
"""

from __future__ import annotations

from collections.abc import Iterable

_NUM_EAGER_CHARS = 3
"""The nodes of this many characters of each stop string are made at the start."""


class Node(dict[str, "Node"]):
    """A prefix of some stop strings; as a dictionary, it maps each character to the next node.

    `depth` is the length of the prefix in characters. `stop` is the longest stop string that the prefix ends with, or
    None. `suffix` is the node of its longest proper suffix. `longer` holds the longer stop strings that begin with the
    prefix, by their next character.
    """

    __slots__ = ("depth", "longer", "stop", "suffix")

    def __init__(self, stops: list[str], depth: int, suffix: Node | None) -> None:
        """`stops` are the stop strings that begin with this prefix, sorted."""
        self.depth = depth
        self.stop = None if suffix is None else suffix.stop
        self.suffix = suffix
        if stops and len(stops[0]) == depth:
            self.stop = stops[0]
            stops = stops[1:]
        self.longer = _by_character(stops, depth)

    def __missing__(self, character: str) -> Node:
        """Find the next node after `character`, the first time that it is needed."""
        # This node and its shorter suffixes, down to the first that has a step for the character.
        without_step: list[Node] = [self]
        suffix = self.suffix
        while suffix is not None and character not in suffix:
            without_step.append(suffix)
            suffix = suffix.suffix
        following = without_step[-1] if suffix is None else suffix[character]
        for node in reversed(without_step):
            stops = node.longer.get(character)
            if stops is not None:
                following = Node(stops, node.depth + 1, following)
            node[character] = following
        return following


class StopStrings:
    """The automaton of some stop strings. Every text begins at the node `start`."""

    def __init__(self, stops: Iterable[str] = ()) -> None:
        distinct = sorted(set(stops))
        if "" in distinct:
            raise ValueError("A stop string must not be empty")
        self.start = Node(distinct, 0, None)
        self._max_length = max(map(len, distinct), default=0)
        for stop in distinct:
            self.after(stop[:_NUM_EAGER_CHARS])

    def after(self, text: str) -> Node:
        """Return the node to which `text` leads. Stop strings that end inside `text` are ignored."""
        node = self.start
        for character in text[max(0, len(text) - self._max_length) :]:
            node = node[character]
        return node


def _by_character(stops: list[str], depth: int) -> dict[str, list[str]]:
    """Group sorted strings that share their first `depth` characters by their next character."""
    if not stops:
        return {}
    if stops[0][depth] == stops[-1][depth]:
        return {stops[0][depth]: stops}
    groups: dict[str, list[str]] = {}
    for stop in stops:
        groups.setdefault(stop[depth], []).append(stop)
    return groups
