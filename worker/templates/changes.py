"""Finds text that a model's template or tokenizer leaves out, moves or changes, and reports it in a sentence.

Some changes are intended and not reported: templates trim messages and drop earlier reasoning, tokenizers compose
characters or write them in lower case.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import Any

from worker.sentence import Sentence
from worker.templates.turn import Marks, Turn
from worker.text.control_tokens import reasoning_end

_MAX_MISSING = 8
"""The search ends after this many missing messages, because each one costs a search of the whole text."""
_NUM_QUOTED_CHARS = 40
_MAX_COMPARED_CHARS = 200_000
"""Comparing more of one message would cause a noticeable delay."""


def left_out(
    turns: Sequence[Turn], marks: Marks, rendered: str, numbered: Iterable[str | None] = ()
) -> tuple[Sentence, ...]:
    """Return sentences about messages that a template leaves out or changes; usually none.

    `rendered`: the turns as the template writes them, with marks in control tokens alone. `numbered`: the same with the
    turns as `with_number` returns them; None if the template rejects those. They show which of several equal texts is
    left out.
    """
    written = [_written(each, rendered, marks) for each in numbered if each is not None]
    missing = list(_missing(turns, marks, rendered, [each for each in written if each is not None]))
    sentences: list[Sentence] = []
    if any(turn.role == "system" for turn in missing):
        sentences.append(
            Sentence("The chat template of this model leaves out the system prompt, so the model did not see it.")
        )
    others = [turn for turn in missing if turn.role != "system"]
    if others:
        sentences.append(
            Sentence(
                "The chat template of this model leaves out or changes messages, so the model did not see them as they "
                "are. The first begins with “{beginning}”.",
                beginning=" ".join(others[0].text[: 4 * _NUM_QUOTED_CHARS].split())[:_NUM_QUOTED_CHARS],
            )
        )
    return tuple(sentences)


def with_number(turn: Turn, index: int, marks: Marks, *, at_end: bool) -> dict[str, Any]:
    """Return a turn as a message for a template, with its index at the beginning or end of its text.

    The index is written in marks, which are in no text.
    """
    message = turn.rendered(marks, None)
    place = _place(turn, marks)
    if place is None:
        return message
    number = f"{index:b}".replace("0", marks.split).replace("1", marks.end)
    content, position = message["content"], place[at_end]
    return {**message, "content": f"{content[:position]}{marks.begin}{number}{marks.begin}{content[position:]}"}


def _place(turn: Turn, marks: Marks) -> tuple[int, int] | None:
    """Return where the text that every template should write stands in its message; None if it has no place."""
    text = _expected(turn, marks)
    begin = turn.rendered(marks, None)["content"].rfind(text) if text else -1
    return None if begin < 0 else (begin, begin + len(text))


def _written(numbered: str, rendered: str, marks: Marks) -> set[int] | None:
    """Return the indices of the turns that a template writes; None if it writes other text because of the indices.

    The arguments are those of `left_out`.
    """
    number = re.compile(f"{marks.begin}([{marks.split}{marks.end}]+){marks.begin}")
    no_marks = dict.fromkeys(map(ord, (marks.split, marks.begin, marks.end)))
    if numbered.translate(no_marks) != rendered.translate(no_marks):
        return None
    bits = {ord(marks.split): "0", ord(marks.end): "1"}
    return {int(found[1].translate(bits), 2) for found in number.finditer(numbered)}


def _missing(turns: Sequence[Turn], marks: Marks, rendered: str, written: Sequence[set[int]]) -> Iterable[Turn]:
    position = num_missing = 0
    dense: str | None = None
    for index, turn in enumerate(turns):
        text = _expected(turn, marks)
        # Some templates write the system prompt into the last question. All others must follow in their order.
        found = rendered.find(text, 0 if turn.role == "system" else position)
        is_written = all(index in each for each in written) or _place(turn, marks) is None
        if found >= 0 and is_written:
            position = position if turn.role == "system" else found + len(text)
            continue
        dense = _dense(rendered) if dense is None else dense
        if text in rendered or _dense(text) not in dense:
            yield turn
            num_missing += 1
            if num_missing >= _MAX_MISSING:
                return


def _expected(turn: Turn, marks: Marks) -> str:
    """Return the part of a turn that every template should write; empty if there is none."""
    if turn.role == "tool":
        return ""  # Templates write results of tools in many forms.
    if turn.role == "assistant" and reasoning_end(turn.text):
        return "" if turn.answer is None else turn.answer.text
    return turn.rendered(marks, None)["content"].strip()


def _dense(text: str) -> str:
    """Return a text without white space."""
    return "".join(text.split())


def changed(text: str, spelled: str) -> Sentence | None:
    """Return a sentence if a tokenizer changes text: its tokens for `text` spell `spelled`. Usually None."""
    if spelled in (text, f" {text}") or len(text) > _MAX_COMPARED_CHARS:
        return None
    letters, spelled_letters = _letters(text), _letters(spelled)
    lost = Counter(letters) - Counter(spelled_letters)
    if lost:
        first = "".join(dict.fromkeys(character for character in text if lost.keys() & set(_letters(character))))
        return Sentence(
            "The tokenizer of this model leaves out or replaces some characters, so the model did not see them: "
            "{characters}",
            characters=first[:_NUM_QUOTED_CHARS],
        )
    if letters != spelled_letters:
        return Sentence(
            "The tokenizer of this model adds or moves some characters, so the model saw “{characters}”.",
            characters=_from_letter(spelled, _num_same(letters, spelled_letters))[:_NUM_QUOTED_CHARS],
        )
    if _num_blanks(spelled) < _num_blanks(text):
        return Sentence(
            "The tokenizer of this model leaves out white space, so the model did not see every indent and line break."
        )
    return None


def _letters(text: str) -> str:
    """Return the visible characters of a text, ignoring case, accents and variant forms."""
    plain = unicodedata.normalize("NFKD", text.casefold()).casefold()
    return "".join(character for character in plain if unicodedata.category(character)[0] not in "CMZ")


def _num_same(one: str, other: str) -> int:
    """Return the number of equal characters at the beginning of two different texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (mine, its) in pairs if mine != its), min(len(one), len(other)))


def _from_letter(text: str, number: int) -> str:
    """Return the rest of a text, from the letter with this index in `_letters(text)` on."""
    before = accumulate(len(_letters(character)) for character in text)
    return text[bisect_right(list(before), number) :]


def _num_blanks(text: str) -> int:
    """Return the number of line breaks, and of white space characters that follow white space."""
    blanks = [character.isspace() for character in text.strip()]
    return sum(
        character == "\n" or (is_blank and before)
        for character, before, is_blank in zip(text.strip()[1:], blanks, blanks[1:], strict=False)
    )
