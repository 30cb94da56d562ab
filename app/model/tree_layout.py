"""The layout of a tree in lanes (across) and rows (down). Independent of pixels and text.

A message's row is its distance from the top, so nothing moves down when something is added beside it. Each branch goes
straight down in one lane, and the oldest version continues the lane of its parent. Its siblings are to its right in
their order, those further up further right. So choosing another version moves nothing: `path` only marks the visible
branch. No line crosses a dot or another line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from app.model.message import Message, MessageId
from app.model.tree import Choices, Tree

MAX_BESIDE = 6
"""The number of siblings shown beside the oldest one: the newest ones. The others are folded."""


class Spot(NamedTuple):
    """The position of a message, or of folded siblings, whose `id` is minus their parent's."""

    lane: int
    row: int
    id: int
    parent_id: MessageId | None
    """The parent's id; None at the top."""
    from_lane: int
    """The parent's lane; -1 without a parent."""
    num_folded: int = 0
    """The number of folded siblings; 0 for a message."""


class TreeLayout:
    """The spots of one tree with its choices. Building it is linear in the number of messages."""

    def __init__(
        self,
        tree: Tree,
        choices: Choices,
        wanted: Collection[MessageId] = (),
        unfolded: Collection[MessageId] = (),
    ) -> None:
        """`wanted` messages, chosen ones, and those with a star, a pin or a name are never folded.

        All children of the parents in `unfolded` are shown.
        """
        self.rows: list[list[Spot]] = []
        """The spots of each row, from left to right."""
        self.path: list[MessageId] = [message.id for message in tree.path(choices) if message.role != "root"]
        """The visible branch: one message for each row, from the top."""
        self._on_path = set(self.path)
        self.num_lanes = 0
        self.num_branches = 0
        """The number of branches, without folded ones."""
        self._spots: dict[int, Spot] = {}
        self._tree = tree
        self._choices = choices
        self._unfolded = unfolded
        self._wanted = wanted
        self._last_lane: list[int] = []
        """The rightmost lane in use in each row."""
        self._seen: set[MessageId] = set()
        self._place_all()

    # --- positions -----------------------------------------------------------------------------------------

    def __contains__(self, spot_id: object) -> bool:
        return spot_id in self._spots

    def __getitem__(self, spot_id: int) -> Spot:
        return self._spots[spot_id]

    def get(self, spot_id: int) -> Spot | None:
        return self._spots.get(spot_id)

    def __len__(self) -> int:
        return len(self._spots)

    @property
    def top(self) -> Spot | None:
        """The first spot; None in an empty tree."""
        return self.rows[0][0] if self.rows else None

    @property
    def leaf(self) -> Spot | None:
        """The end of the visible branch; None in an empty tree."""
        return self._spots[self.path[-1]] if self.path else None

    def is_on_path(self, spot: Spot) -> bool:
        return spot.id in self._on_path

    def path_spot(self, row: int) -> Spot | None:
        """Return the spot of the visible branch in a row; None below its end."""
        return self._spots[self.path[row]] if row < len(self.path) else None

    def within(self, row: int, first_lane: int, last_lane: int) -> Sequence[Spot]:
        """Return a row's spots in these lanes, and the next spot to the right, whose line may cross them."""
        spots = self.rows[row]
        begin = bisect_left(spots, (first_lane,))
        return spots[begin : bisect_left(spots, (last_lane + 1,), begin) + 1]

    def nearest(self, row: int, lane: float) -> Spot:
        """Return the spot of a row that is nearest to a lane."""
        spots = self.rows[row]
        at = bisect_left(spots, (lane,))
        return min(spots[max(at - 1, 0) : at + 1], key=lambda spot: abs(spot.lane - lane))

    # --- walking -------------------------------------------------------------------------------------------

    def above(self, spot: Spot) -> Spot | None:
        return None if spot.parent_id is None else self._spots.get(spot.parent_id)

    def below(self, spot: Spot) -> Spot | None:
        """Return the spot that continues this one in its lane; None at the end of a branch."""
        if spot.num_folded or spot.row + 1 == len(self.rows):
            return None
        found = self.within(spot.row + 1, spot.lane, spot.lane)[:1]
        return found[0] if found and found[0].parent_id == spot.id else None

    def beside(self, spot: Spot, step: int) -> Spot | None:
        """Return the next spot in the same row to the right (`step` 1) or to the left (-1)."""
        spots = self.rows[spot.row]
        at = bisect_left(spots, (spot.lane,)) + step
        return spots[at] if 0 <= at < len(spots) else None

    # --- growing -------------------------------------------------------------------------------------------

    def grow(self, message_id: MessageId) -> bool:
        """Add a message that is the first child at the end of the visible branch.

        If that could move other messages, return False and change nothing: a new layout is needed.
        """
        leaf = self.leaf
        if leaf is None or list(self._tree.children(leaf.id)) != [message_id]:
            return False
        row = len(self.path)
        # Nothing lies left of the first lane, and nothing below the last row.
        if leaf.lane and row < len(self.rows):
            return False
        self.path.append(message_id)
        self._on_path.add(message_id)
        self._make_room(row)
        spot = self._spots[message_id] = Spot(leaf.lane, row, message_id, leaf.id, leaf.lane)
        self.rows[row].insert(0, spot)
        return True

    # --- placing -------------------------------------------------------------------------------------------

    def _place_all(self) -> None:
        tops = self._tops()
        if not tops:
            return
        # Place branches from left to right: a branch first, then the branches that fork from it, the lowest first.
        waiting: list[tuple[MessageId, int, MessageId | None, int, int]] = [
            (message_id, 0, None, 0 if len(tops) > 1 else -1, 0) for message_id in reversed(tops)
        ]
        while waiting:
            message_id, row, parent_id, from_lane, num_folded = waiting.pop()
            if num_folded:
                lane = self._free_lane(row, row)
                self._put(Spot(lane, row, message_id, parent_id, from_lane, num_folded))
                continue
            branch = list(self._branch(message_id))
            self.num_branches += 1
            lane = self._free_lane(row, row + len(branch) - 1)
            for depth, (one, others, num_hidden) in enumerate(branch, row):
                self._put(Spot(lane, depth, one, parent_id, from_lane))
                parent_id, from_lane = one, lane
                if num_hidden:
                    waiting.append((-one, depth + 1, one, lane, num_hidden))
                waiting += [(other, depth + 1, one, lane, 0) for other in reversed(others)]
        self.num_lanes = max(self._last_lane, default=-1) + 1

    def _tops(self) -> list[MessageId]:
        """Return the messages without a parent, the oldest first."""
        line = self._tree.lineage(self._tree.root_id)
        if not line:
            return []
        if line[0].role != "root":
            return [line[0].id]
        self._seen.add(line[0].id)
        first, others, _ = self._children_of(line[0].id, is_unfolded=True)
        return [] if first is None else [first, *others]

    def _branch(self, message_id: MessageId | None) -> Iterator[tuple[MessageId, list[MessageId], int]]:
        """Yield the messages of a branch, each with its other shown children and the number of folded ones."""
        while message_id is not None:
            self._seen.add(message_id)
            following, others, num_hidden = self._children_of(message_id, is_unfolded=message_id in self._unfolded)
            yield message_id, others, num_hidden
            message_id = following

    def _children_of(self, parent_id: MessageId, *, is_unfolded: bool) -> tuple[MessageId | None, list[MessageId], int]:
        """Return the child that continues the lane (or None), its shown siblings, and the number of folded ones."""
        children = [child for child in self._tree.children(parent_id) if child not in self._seen]
        if len(children) <= 1:
            return (children[0] if children else None), [], 0
        first, *children = children
        if is_unfolded or len(children) <= MAX_BESIDE:
            return first, children, 0
        shown = {child for child in children if child in self._kept}
        chosen = self._choices.get(parent_id)
        for child in reversed(children):
            if len(shown) >= MAX_BESIDE:
                break
            shown.add(child)
        if chosen in children:
            shown.add(chosen)
        return first, [child for child in children if child in shown], len(children) - len(shown)

    def _free_lane(self, first_row: int, last_row: int) -> int:
        """Return the first lane to the right of all spots in these rows, and in the row below them.

        A line that leads to the row below from the left would otherwise pass under the last dot.
        """
        self._make_room(last_row)
        return max(self._last_lane[first_row : last_row + 2]) + 1

    def _make_room(self, row: int) -> None:
        while len(self.rows) <= row:
            self.rows.append([])
            self._last_lane.append(-1)

    def _put(self, spot: Spot) -> None:
        self.rows[spot.row].append(spot)
        self._last_lane[spot.row] = spot.lane
        self._spots[spot.id] = spot

    @cached_property
    def _kept(self) -> set[MessageId]:
        """The messages that are never folded: wanted ones, those with a star, a pin or a name, and their ancestors."""
        tree = self._tree
        top = tree.lineage(tree.root_id)[0].id
        marked = [one for one in tree.below(top) if _is_marked(tree[one])]
        found: set[MessageId] = set()
        for message_id in (*self._wanted, *marked):
            current: MessageId | None = message_id
            while current is not None and current in tree and current not in found:
                found.add(current)
                current = tree[current].parent_id
        return found


def _is_marked(message: Message) -> bool:
    return message.starred_ms is not None or message.pinned_ms is not None or bool(message.name)
