"""The automaton of stop strings, node by node."""

from __future__ import annotations

import itertools
import random

import pytest

from worker.text.stop_strings import Node, StopStrings


def walk(stops: StopStrings, text: str) -> Node:
    node = stops.start
    for character in text:
        node = node[character]
    return node


def nodes_of(stops: StopStrings) -> list[Node]:
    """Return all nodes made so far."""
    found = {id(stops.start): stops.start}
    waiting = [stops.start]
    while waiting:
        for node in waiting.pop().values():
            if id(node) not in found:
                found[id(node)] = node
                waiting.append(node)
    return list(found.values())


def test_depth_is_the_longest_suffix_of_the_text_that_begins_a_stop_string() -> None:
    strings = ["ab", "abab", "ba", "bb", "aabaa", "b"]
    for number in range(1, len(strings) + 1):
        for stops in itertools.combinations(strings, number):
            automaton = StopStrings(stops)
            for text in map("".join, itertools.product("abc", repeat=6)):
                begun = [stop[:length] for stop in stops for length in range(len(stop) + 1)]
                longest = max(len(prefix) for prefix in begun if text.endswith(prefix))
                ended = [stop for stop in stops if text.endswith(stop)]
                node = walk(automaton, text)
                assert node.depth == longest
                assert node.stop == max(ended, key=len, default=None)


def test_the_node_after_given_text_is_the_node_after_reading_all_of_it() -> None:
    stops = StopStrings(["abc", "bcd", "cccc"])
    rng = random.Random(1)
    for _ in range(300):
        text = "".join(rng.choices("abcd", k=rng.randint(0, 9)))
        assert stops.after(text) is walk(stops, text)


def test_only_the_nodes_that_a_text_reaches_are_made() -> None:
    rng = random.Random(2)
    strings = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=100)) for _ in range(1000)]
    stops = StopStrings(strings)
    num_at_once = len(nodes_of(stops))
    assert len(strings) < num_at_once <= 3 * len(strings) + 1
    walk(stops, "the text of an answer")
    assert len(nodes_of(stops)) < num_at_once + 20
    assert walk(stops, strings[0]).stop == strings[0]
    assert len(nodes_of(stops)) < num_at_once + 300


def test_a_long_chain_of_suffixes_is_walked_without_recursion() -> None:
    num_dashes = 3000
    stops = StopStrings(["-" * number + "x" for number in range(1, num_dashes)])
    node = walk(stops, "-" * (num_dashes - 1))
    assert node.depth == num_dashes - 1
    assert node["x"].stop == "-" * (num_dashes - 1) + "x"
    assert node["y"] is stops.start


def test_an_empty_stop_string_is_refused() -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        StopStrings(["a", ""])
