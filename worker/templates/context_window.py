"""Which of a conversation's oldest turns are dropped where it no longer fits; it knows no tokens and no cache.

What is dropped moves all that follows, so that the model reads it again. So turns are not dropped one by one, as each
new one needs room, but by the block: where a conversation may begin depends on what was said before that place alone,
and the next turns begin at the same place.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate

from worker.protocol import Message


def num_system(messages: Sequence[Message]) -> int:
    """Return how many messages at the beginning are the system's, which always stay."""
    return next((index for index, message in enumerate(messages) if message.role != "system"), len(messages))


def beginnings(messages: Sequence[Message], weights: Sequence[int], block: int) -> list[int]:
    """Return where a conversation may go on behind its system prompt, in the order in which they are tried.

    The first is that nothing is dropped. Then come the first questions behind each `block` of what the messages
    weigh; and, for what is too long even so, all questions behind the last of those. The last question always stays.
    """
    start = num_system(messages)
    before = [0, *accumulate(weights)]
    questions = [index for index, message in enumerate(messages) if message.role == "user" and index > start]
    found = [start]
    reached = block
    for question in questions:
        weight = before[question] - before[start]
        if weight >= reached:
            found.append(question)
            reached = (weight // block + 1) * block
    return found + [question for question in questions if question > found[-1]]


def first_kept(
    messages: Sequence[Message], weights: Sequence[int], block: int, fits: Callable[[int], bool]
) -> int | None:
    """Return with which message the conversation goes on behind its system prompt; None where nothing fits.

    `weights`: about how much of the context each message takes. `fits(first)`: whether the system prompt and the
    messages from `first` on do fit; where some do, those after a later place do, too.
    """
    tried = beginnings(messages, weights, block)
    # Nearly always nothing is to be dropped.
    if fits(tried[0]):
        return tried[0]
    place = bisect_left(tried, True, lo=1, key=fits)
    return tried[place] if place < len(tried) else None
