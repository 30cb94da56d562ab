"""The user's rules that remove parts of requests which a client changes with each request.

If a client puts a date or a hash at the beginning of its prompts, the model must process everything after it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from app.serving.problems import ProblemError
from worker.protocol import Message
from worker.sentence import Sentence, SentenceError

if TYPE_CHECKING:
    import regex

_MAX_S = 0.25
"""How long one rule may search one message."""


class DropRuleError(SentenceError):
    """A rule can't be used."""


class DropRules:
    """Applies the rules."""

    def __init__(self, patterns: Sequence[str]) -> None:
        """Raises `DropRuleError` for a pattern that is not a regular expression."""
        self._rules = [_compiled(pattern) for pattern in patterns]

    def applied(self, messages: Sequence[Message]) -> tuple[list[Message], tuple[str, ...]]:
        """Return the messages without the text that the rules match, and the rules that matched.

        Only system texts and the first other message are searched. Raises `ProblemError` if a rule takes too long.
        """
        first = next((number for number, message in enumerate(messages) if message.role != "system"), -1)
        matched: dict[str, None] = {}
        left: list[Message] = []
        for number, message in enumerate(messages):
            if message.role == "system" or (number == first and message.role == "user"):
                message = self._left(message, matched)
            left.append(message)
        return left, tuple(matched)

    def _left(self, message: Message, matched: dict[str, None]) -> Message:
        text = message.content
        for rule in self._rules:
            try:
                text, count = rule.subn("", text, timeout=_MAX_S)
            except TimeoutError:
                raise ProblemError(
                    "failed",
                    f"Bough's rule “{rule.pattern}”, which leaves parts out of requests, takes too long. Change it.",
                ) from None
            if count:
                matched[rule.pattern] = None
        return message if text == message.content else replace(message, content=text)


def _compiled(pattern: str) -> regex.Pattern[str]:
    # Python's own expressions can't be stopped.
    import regex

    try:
        return regex.compile(pattern)
    except regex.error as error:
        raise DropRuleError(
            Sentence(
                "The rule “{pattern}” is not a regular expression ({reason}). Correct it, or leave it out.",
                pattern=pattern,
                reason=str(error),
            )
        ) from None
