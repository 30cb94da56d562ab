"""The layout of random trees: the rules of every drawing, and that growing gives the same as a new layout."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import msgspec
import pytest

from app.model.message import Message
from app.model.tree import Tree
from app.model.tree_layout import MAX_BESIDE, Spot, TreeLayout

_Segment = tuple[tuple[float, float], tuple[float, float]]
"""A straight piece of a line, across or down, from one position (lane, row) to another."""


def _cases() -> Iterator[tuple[random.Random, list[Message], dict[int, int | None]]]:
    for seed in range(300):
        draw = random.Random(seed)
        num = draw.choice([1, 2, 3, 5, 8, 20, 60, 200])
        straightness = draw.choice([0.0, 0.3, 0.7, 0.95])
        parents: dict[int, int | None] = {1: None}
        for number in range(2, num + 1):
            parents[number] = number - 1 if draw.random() < straightness else draw.randrange(1, number)
        role = draw.choice(["root", "user"])
        messages = [
            Message(id=number, parent_id=parent, role="root" if number == 1 and role == "root" else "user", text="")
            for number, parent in parents.items()
        ]
        children = {number: [other for other in parents if parents[other] == number] for number in parents}
        choices = {
            number: draw.choice([None, *below]) for number, below in children.items() if below and draw.random() < 0.5
        }
        yield draw, messages, choices


def _spots(layout: TreeLayout) -> list[Spot]:
    return [spot for row in layout.rows for spot in row]


def _segments(spot: Spot) -> list[_Segment]:
    """Return the pieces that connect a spot with its parent:

    straight down, or half a row above it across, then down.
    """
    if spot.from_lane < 0:
        return []
    if spot.from_lane == spot.lane:
        return [((spot.lane, spot.row - 1), (spot.lane, spot.row))]
    bend = spot.row - 0.5
    return [
        ((spot.from_lane, spot.row - 1), (spot.from_lane, bend)),
        ((spot.from_lane, bend), (spot.lane, bend)),
        ((spot.lane, bend), (spot.lane, spot.row)),
    ]


def _meets(segment: _Segment, place: tuple[float, float]) -> bool:
    (x1, y1), (x2, y2) = segment
    return min(x1, x2) <= place[0] <= max(x1, x2) and min(y1, y2) <= place[1] <= max(y1, y2)


def test_every_message_has_its_own_position_or_is_folded():
    for _, messages, choices in _cases():
        tree = Tree(messages, 1)
        layout = TreeLayout(tree, choices, unfolded=range(len(messages) + 1))
        ids = {spot.id for spot in _spots(layout)}
        assert ids == {message.id for message in messages if message.role != "root"}
        assert len({(spot.lane, spot.row) for spot in _spots(layout)}) == len(ids) == len(layout)
        folded = TreeLayout(tree, choices)
        assert len({(spot.lane, spot.row) for spot in _spots(folded)}) == len(_spots(folded)) == len(folded)
        assert layout.num_branches == sum(not tree.children(message_id) for message_id in ids)
        assert folded.num_lanes == max((spot.lane for spot in _spots(folded)), default=-1) + 1


def test_a_child_stands_one_row_below_its_parent_and_never_left_of_it():
    for _, messages, choices in _cases():
        tree = Tree(messages, 1)
        layout = TreeLayout(tree, choices)
        for spot in _spots(layout):
            assert spot == layout[spot.id]
            if spot.parent_id is None:
                assert spot.row == 0
                continue
            parent = layout[spot.parent_id]
            assert (parent.row, parent.lane) == (spot.row - 1, spot.from_lane)
            assert spot.lane >= parent.lane
            if not spot.num_folded:
                assert tree[spot.id].parent_id == spot.parent_id


def test_the_oldest_version_continues_the_lane_and_its_siblings_stand_to_the_right_in_their_order():
    for _, messages, choices in _cases():
        tree = Tree(messages, 1)
        layout = TreeLayout(tree, choices, unfolded=range(len(messages) + 1))
        for spot in _spots(layout):
            lanes = [layout[child].lane for child in tree.children(spot.id)]
            assert lanes == sorted(lanes)
            assert lanes[:1] in ([], [spot.lane])


def test_a_choice_moves_nothing():
    for draw, messages, choices in _cases():
        tree = Tree(messages, 1)
        for unfolded in ((), range(len(messages) + 1)):
            before = TreeLayout(tree, choices, unfolded=unfolded)
            shown = [spot for spot in _spots(before) if not spot.num_folded and spot.parent_id is not None]
            if not shown:
                continue
            to = draw.choice(shown)
            after = TreeLayout(tree, {**choices, to.parent_id or 0: to.id}, unfolded=unfolded)
            if {spot.id for spot in _spots(before)} == {spot.id for spot in _spots(after)}:
                assert before.rows == after.rows
            else:
                # A chosen version that would be folded is shown as long as it is chosen.
                assert not unfolded


def test_the_path_is_the_visible_branch():
    for _, messages, choices in _cases():
        tree = Tree(messages, 1)
        layout = TreeLayout(tree, choices)
        path = [message.id for message in tree.path(choices) if message.role != "root"]
        assert layout.path == path
        assert [layout[message_id].row for message_id in path] == list(range(len(path)))
        assert [spot and spot.id for spot in map(layout.path_spot, range(len(path) + 1))] == [*path, None]
        assert {spot.id for spot in _spots(layout) if layout.is_on_path(spot)} == set(path)
        assert (layout.leaf.id if layout.leaf else None) == (path[-1] if path else None)


def test_no_line_meets_a_dot_or_another_line_except_where_it_branches_off():
    for _, messages, choices in itertools.islice(_cases(), 0, 300, 4):
        layout = TreeLayout(Tree(messages, 1), choices)
        for row, spots in enumerate(layout.rows):
            nearby = [*spots, *(layout.rows[row - 1] if row else [])]
            for spot in spots:
                for segment in _segments(spot):
                    met = {other.id for other in nearby if _meets(segment, (other.lane, other.row))}
                    assert met <= {spot.id, spot.parent_id}
            for one, other in itertools.combinations(spots, 2):
                if one.parent_id == other.parent_id:
                    continue
                crossings = [(a, b) for a in _segments(one) for b in _segments(other) if _meets_segment(a, b)]
                assert crossings == []


def _meets_segment(one: _Segment, other: _Segment) -> bool:
    """Return whether two pieces share a position."""
    return all(
        max(min(one[0][axis], one[1][axis]), min(other[0][axis], other[1][axis]))
        <= min(max(one[0][axis], one[1][axis]), max(other[0][axis], other[1][axis]))
        for axis in (0, 1)
    )


def test_more_than_six_siblings_beside_the_oldest_one_are_folded_into_a_number():
    for _, messages, choices in _cases():
        tree = Tree(messages, 1)
        layout = TreeLayout(tree, choices)
        for spot in _spots(layout):
            children = set(tree.children(spot.id)) if not spot.num_folded else set[int]()
            shown = {child for child in children if child in layout}
            fold = layout.get(-spot.id)
            assert len(children) - len(shown) == (fold.num_folded if fold else 0)
            if children:
                # The oldest one, which continues straight down, the newest, and the chosen one.
                straight = layout.below(spot)
                assert straight is not None
                assert straight.id == min(children)
                newest = sorted(children - {straight.id})[-MAX_BESIDE:]
                assert shown == {straight.id, *newest} | ({choices.get(spot.id)} & children)


def test_a_wanted_message_is_never_folded_nor_the_children_of_an_unfolded_parent():
    for draw, messages, choices in _cases():
        tree = Tree(messages, 1)
        ids = [message.id for message in messages if message.role != "root"]
        if not ids:
            continue
        wanted = draw.sample(ids, min(len(ids), draw.randint(1, 12)))
        layout = TreeLayout(tree, choices, wanted)
        assert all(message_id in layout for message_id in wanted)
        for message_id in wanted:
            mark = draw.choice([{"name": "a way"}, {"starred_ms": 0}, {"pinned_ms": 0}])
            tree.put(msgspec.structs.replace(tree[message_id], **mark))
        layout = TreeLayout(tree, choices)
        assert all(message_id in layout for message_id in wanted)
        parents = draw.sample(ids, min(len(ids), 3))
        layout = TreeLayout(tree, choices, parents, unfolded=parents)
        assert all(child in layout for parent in parents for child in tree.children(parent))


def test_arrows_walk_to_the_parent_straight_down_and_along_the_row():
    for _, messages, choices in _cases():
        layout = TreeLayout(Tree(messages, 1), choices)
        for spot in _spots(layout):
            assert layout.above(spot) == (layout[spot.parent_id] if spot.parent_id is not None else None)
            below = layout.below(spot)
            assert below is None or (below.parent_id, below.lane) == (spot.id, spot.lane)
            has_children = any(other.parent_id == spot.id and not other.num_folded for other in _spots(layout))
            assert has_children == (below is not None)
            right = layout.beside(spot, 1)
            assert right is None or layout.beside(right, -1) == spot
            assert layout.nearest(spot.row, spot.lane) == spot
        for row in layout.rows:
            assert [spot.lane for spot in row] == sorted({spot.lane for spot in row})


def test_the_spots_within_lanes_are_found_with_the_next_one_to_the_right():
    for draw, messages, choices in _cases():
        layout = TreeLayout(Tree(messages, 1), choices)
        for row, spots in enumerate(layout.rows):
            first = draw.randint(0, layout.num_lanes)
            last = draw.randint(first, layout.num_lanes)
            inside = [spot for spot in spots if first <= spot.lane <= last]
            beyond = [spot for spot in spots if spot.lane > last][:1]
            assert list(layout.within(row, first, last)) == inside + beyond


def test_a_layout_that_grew_at_its_visible_end_equals_a_new_one():
    num_grown = 0
    for draw, messages, choices in _cases():
        tree = Tree(messages, 1)
        grown = TreeLayout(tree, choices)
        for number in range(len(messages) + 1, len(messages) + 4):
            at_end = tree.path(choices)[-1].id
            parent = at_end if draw.random() < 0.8 else draw.randint(1, number - 1)
            tree.put(Message(id=number, parent_id=parent, role="user", text=""))
            choices = {**choices, parent: number}
            if not grown.grow(number):
                is_new_branch = parent != at_end or len(tree.children(parent)) > 1 or tree[parent].role == "root"
                assert is_new_branch or grown[parent].lane > 0
                grown = TreeLayout(tree, choices)
            else:
                num_grown += 1
            rebuilt = TreeLayout(tree, choices)
            assert (grown.rows, grown.path, grown.num_lanes) == (rebuilt.rows, rebuilt.path, rebuilt.num_lanes)
    assert num_grown > 250


@pytest.mark.parametrize("seed", range(5))
def test_broken_trees_are_laid_out_as_far_as_they_are_trees(seed: int):
    draw = random.Random(seed)
    for _ in range(100):
        num = draw.randint(1, 12)
        messages = [
            Message(id=number, parent_id=draw.choice([None, *range(1, num + 3)]), role="user", text="")
            for number in range(1, num + 1)
        ]
        layout = TreeLayout(Tree(messages, draw.randint(1, num + 1)), {}, wanted=range(num + 3))
        spots = _spots(layout)
        assert len({spot.id for spot in spots}) == len(spots) <= num
        assert len({(spot.lane, spot.row) for spot in spots}) == len(spots)


def test_a_long_branch_beside_a_short_one_shares_no_lane_with_it():
    tree = _tree([(1, None), (2, 1), (3, 2), (4, 2), (5, 4), (6, 1), (7, 6), (8, 7), (9, 8)])
    layout = TreeLayout(tree, {1: 2, 2: 3})
    assert [(spot.id, spot.lane) for spot in _spots(layout)] == [
        *((1, 0), (2, 0), (6, 2), (3, 0), (4, 1), (7, 2), (5, 1), (8, 2), (9, 2))
    ]


def _tree(links: Sequence[tuple[int, int | None]]) -> Tree:
    return Tree([Message(id=number, parent_id=parent, role="user", text="") for number, parent in links], 1)
