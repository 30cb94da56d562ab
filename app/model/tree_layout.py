"""Where the messages of a tree stand when it is drawn: a lane across, a row down; it knows no pixel and no text.

A row is a message's distance from the top, so nothing ever moves down because something was added beside it. A branch
goes straight down in one lane, the visible one in the first; what parts from it stands to its right, and what parts
further up stands further right. No line meets a dot or another line but where one grows out of the other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from app.model.message import Message, MessageId
from app.model.tree import Choices, Tree

MAX_BESIDE = 6
"""How many of the siblings that are not chosen are shown without being asked for."""


class Spot(NamedTuple):
    """Where a message stands, or what folds its siblings: that one's `id` is minus its parent's."""

    lane: int
    row: int
    id: int
    parent_id: MessageId | None
    """None at the top."""
    from_lane: int
    """Of its parent; -1: nothing is above it."""
    num_folded: int = 0
    """How many siblings are behind it; 0: it is a message."""


class TreeLayout:
    """The spots of one tree with its choices. Making it takes time in proportion to the number of messages."""

    def __init__(
        self,
        tree: Tree,
        choices: Choices,
        wanted: Collection[MessageId] = (),
        unfolded: Collection[MessageId] = (),
    ) -> None:
        """`wanted`: messages that are never folded away, as none with a star, a pin or a name is.

        `unfolded`: parents all of whose children are shown.
        """
        self.rows: list[list[Spot]] = []
        """The spots of each row, from left to right."""
        self.path: list[MessageId] = [message.id for message in tree.path(choices) if message.role != "root"]
        """The visible branch: one message a row, from the top."""
        self.num_lanes = 0
        self.num_branches = 0
        """Those that are folded away not counted."""
        self._spots: dict[int, Spot] = {}
        self._tree = tree
        self._choices = choices
        self._unfolded = unfolded
        self._wanted = wanted
        self._last_lane: list[int] = []
        """The rightmost lane in use in each row."""
        self._seen: set[MessageId] = set()
        self._place_all()

    # --- what stands where ---------------------------------------------------------------------------------

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
        """Where the visible branch ends."""
        return self._spots[self.path[-1]] if self.path else None

    def is_on_path(self, spot: Spot) -> bool:
        return spot.lane == 0 and spot.row < len(self.path)

    def within(self, row: int, first_lane: int, last_lane: int) -> Sequence[Spot]:
        """Return what of a row lies in these lanes, and the next one to the right: a line may lead through to it."""
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
        """Return what goes on from a spot in its own lane."""
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
        """Take in a message that was added at the end of the visible branch, where it is the first.

        Return False, and change nothing, where it is anywhere else: then a new layout is needed.
        """
        leaf = self.leaf
        if leaf is None or list(self._tree.children(leaf.id)) != [message_id]:
            return False
        # Nothing else ever stands in the first lane, and no line leads through it.
        row = len(self.path)
        self.path.append(message_id)
        self._make_room(row)
        spot = self._spots[message_id] = Spot(0, row, message_id, leaf.id, 0)
        self.rows[row].insert(0, spot)
        return True

    # --- placing -------------------------------------------------------------------------------------------

    def _place_all(self) -> None:
        tops = self._tops()
        if not tops:
            return
        # What waits is placed from left to right: a branch, then what parts from it, the lowest first.
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
        """What has nothing above it, the one of the visible branch first."""
        line = self._tree.lineage(self._tree.root_id)
        if not line:
            return []
        if line[0].role != "root":
            return [line[0].id]
        self._seen.add(line[0].id)
        first, others, _ = self._parted(line[0].id, is_whole=True)
        return [] if first is None else [first, *others]

    def _branch(self, message_id: MessageId | None) -> Iterator[tuple[MessageId, list[MessageId], int]]:
        """Yield a message and what goes straight on from it, each with what parts there: shown, and how many not."""
        while message_id is not None:
            self._seen.add(message_id)
            following, others, num_hidden = self._parted(message_id, is_whole=message_id in self._unfolded)
            yield message_id, others, num_hidden
            message_id = following

    def _parted(self, parent_id: MessageId, *, is_whole: bool) -> tuple[MessageId | None, list[MessageId], int]:
        """Return the child that goes straight on, its siblings that are shown, and how many are not."""
        children = [child for child in self._tree.children(parent_id) if child not in self._seen]
        if len(children) <= 1:
            return (children[0] if children else None), [], 0
        chosen = self._choices.get(parent_id)
        first = chosen if chosen in children else children[-1]
        children.remove(first)
        if is_whole or len(children) <= MAX_BESIDE:
            return first, children, 0
        shown = {child for child in children if child in self._kept}
        for child in reversed(children):
            if len(shown) >= MAX_BESIDE:
                break
            shown.add(child)
        return first, [child for child in children if child in shown], len(children) - len(shown)

    def _free_lane(self, first_row: int, last_row: int) -> int:
        """Return the first lane that is right of all that stands in these rows.

        And of what stands in the row below: a line that leads there from the left would pass under the last dot.
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
        """What is not folded away: what is wanted, has a star, a pin or a name, and all that stands above such."""
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
