"""The layout of messages and the scroll position, compared with a simple model."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from app.ui.transcript.transcript_layout import Column, ScrollPosition, estimated_height

_ABOVE, _BETWEEN, _BELOW = 16, 4, 24
_HEIGHTS = st.lists(st.integers(1, 900), min_size=1, max_size=30)


@dataclass
class _Plain:
    """A simple model: a list of heights, summed on each call."""

    heights: list[int] = field(default_factory=list[int])

    def top(self, index: int) -> int:
        return _ABOVE + sum(height + _BETWEEN for height in self.heights[:index])

    def within(self, top: int, bottom: int) -> list[int]:
        spans = [(self.top(index), self.top(index) + height) for index, height in enumerate(self.heights)]
        return [index for index, (start, end) in enumerate(spans) if start < bottom and end > top]


def _column(heights: list[int]) -> Column:
    column = Column(_ABOVE, _BETWEEN, _BELOW)
    column.replace_from(0, heights)
    return column


def _sight(heights: list[int], height: int) -> ScrollPosition:
    sight = ScrollPosition(_column(heights))
    sight.height = height
    sight.settle()
    return sight


@settings(max_examples=50)
@given(_HEIGHTS, st.data())
def test_positions_are_sums_of_heights_after_any_change(heights: list[int], data: st.DataObject) -> None:
    column, plain = _column(heights), _Plain(list(heights))
    for _ in range(data.draw(st.integers(0, 12))):
        index = data.draw(st.integers(0, len(plain.heights) - 1))
        match data.draw(st.sampled_from(("measure", "estimate", "replace", "ask"))):
            case "measure":
                plain.heights[index] = data.draw(st.integers(1, 900))
                column.measure(index, plain.heights[index])
                assert column.is_measured(index)
            case "estimate":
                plain.heights[index] = data.draw(st.integers(1, 900))
                column.estimate(index, plain.heights[index])
                assert not column.is_measured(index)
            case "replace":
                plain.heights[index:] = data.draw(_HEIGHTS)
                column.replace_from(index, plain.heights[index:])
            case _:
                # This updates the cached positions only as far as the index.
                assert column.top(index) == plain.top(index)
    assert [column.top(index) for index in range(len(column) + 1)] == [
        plain.top(index) for index in range(len(plain.heights) + 1)
    ]
    assert column.height == plain.top(len(plain.heights)) - _BETWEEN + _BELOW
    top = data.draw(st.integers(-50, 3000))
    bottom = data.draw(st.integers(top, 4000))
    assert list(column.within(top, bottom)) == (plain.within(top, bottom) if bottom > top else [])


def test_an_empty_column_has_only_its_margins() -> None:
    column = Column(_ABOVE, _BETWEEN, _BELOW)
    assert column.height == _ABOVE + _BELOW
    assert list(column.within(0, 500)) == []
    sight = ScrollPosition(column)
    sight.height = 300
    sight.settle()
    sight.scroll_to(50)
    assert (sight.top, sight.max_top) == (0, 0)


@settings(max_examples=50)
@given(_HEIGHTS, st.integers(100, 700), st.data())
def test_a_held_message_keeps_its_position_on_screen(heights: list[int], seen: int, data: st.DataObject) -> None:
    sight = _sight(heights, seen)
    column = sight.column
    sight.scroll_to(data.draw(st.integers(0, sight.end)))
    held = sight.held
    if held is None:
        assert sight.follows_end
        assert sight.top == sight.end
        return
    index, offset = held
    assert sight.offset(index) == offset
    for _ in range(5):
        at = data.draw(st.integers(0, len(heights) - 1))
        (column.measure if data.draw(st.booleans()) else column.estimate)(at, data.draw(st.integers(1, 900)))
        sight.settle()
        # The exception is the ends of the column, beyond which the page does not scroll.
        is_short_above = sight.top == 0 and sight.offset(index) < offset
        is_short_below = sight.top == sight.end and sight.offset(index) > offset
        assert sight.offset(index) == offset or is_short_above or is_short_below
        assert sight.top <= sight.end
        assert sight.held_offset(index) == offset


@settings(max_examples=50)
@given(_HEIGHTS, st.integers(100, 700), st.data())
def test_the_page_stays_at_the_end_and_otherwise_does_not_move_there(
    heights: list[int], seen: int, data: st.DataObject
) -> None:
    sight = _sight(heights, seen)
    assert sight.top == sight.end
    if data.draw(st.booleans()) and sight.end:
        sight.scroll_to(sight.end - data.draw(st.integers(1, sight.end)))
        assert not sight.follows_end
    was_at_end, before = sight.follows_end, sight.top
    sight.column.measure(len(heights) - 1, heights[-1] + data.draw(st.integers(1, 500)))
    sight.settle()
    assert sight.top == (sight.end if was_at_end else before)


@settings(max_examples=50)
@given(_HEIGHTS, _HEIGHTS, st.integers(100, 700), st.booleans(), st.data())
def test_another_version_begins_at_the_position_of_the_old_one(
    heights: list[int], others: list[int], seen: int, follows_end: bool, data: st.DataObject
) -> None:
    sight = _sight(heights, seen)
    sight.scroll_to(data.draw(st.integers(0, sight.end)))
    index = data.draw(st.sampled_from(sight.visible)) if sight.visible else 0
    offset = sight.offset(index)
    sight.column.replace_from(index, others)
    sight.hold(index, offset, follows_end=follows_end)
    if sight.offset(index) != offset:
        # It is longer than the page, whose end is followed, or it is too short.
        assert follows_end or sight.offset(index) > offset
        assert sight.top == sight.end
    assert follows_end or sight.top <= sight.end
    assert sight.max_top >= sight.top
    # The empty room below it shrinks while the user scrolls up, and the page moves by the distance scrolled.
    before = sight.top
    sight.scroll_to(before - 30)
    assert sight.top == max(before - 30, 0)
    sight.scroll_to(sight.top + 10_000)
    assert sight.top <= max(sight.end, before)


@settings(max_examples=50)
@given(st.lists(st.integers(50, 900), min_size=3, max_size=30), st.integers(200, 700))
def test_scrolling_up_into_messages_higher_than_estimated_moves_the_page_evenly(heights: list[int], seen: int) -> None:
    sight = _sight(heights, seen)
    column = sight.column
    for index in sight.visible:
        column.measure(index, heights[index])
    for _ in range(20):
        seen_before = {index: sight.offset(index) for index in sight.visible if column.is_measured(index)}
        before = sight.top
        sight.scroll_to(sight.top - 40)
        moved = before - sight.top
        for index in list(sight.visible):
            if not column.is_measured(index):
                column.measure(index, heights[index] * 3)
        sight.settle()
        still = [index for index in sight.visible if index in seen_before]
        if sight.top > 0:
            assert {index: sight.offset(index) for index in still} == {
                index: seen_before[index] + moved for index in still
            }


@settings(max_examples=50)
@given(st.text(max_size=2000), st.integers(200, 760))
def test_a_longer_text_never_gets_a_smaller_estimate(text: str, width: int) -> None:
    for role in ("user", "assistant"):
        whole = estimated_height(role, text, width)
        assert whole >= estimated_height(role, text[: len(text) // 2], width) > 0
        assert whole >= estimated_height(role, text, 760)
