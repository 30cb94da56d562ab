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

from worker.normalizing import normalized
from worker.sentence import Sentence
from worker.templates.turn import Marks, Turn
from worker.text.control_tokens import reasoning_end

_MAX_MISSING = 8
"""The search ends after this many missing messages, because each one costs a search of the whole text."""
_NUM_QUOTED_CHARS = 40


def left_out(
    turns: Sequence[Turn], marks: Marks, rendered: str, numbered: Iterable[str | None] = ()
) -> tuple[Sentence, ...]:
    """Return sentences about messages that a template leaves out or changes; usually none.

    `rendered`: the turns as the template writes them, with marks only in control tokens. `numbered`: the same with the
    turns as `with_number` returns them; None if the template rejects such turns. The numbers show which of several
    equal texts is left out.
    """
    written = [_written(each, rendered, marks) for each in numbered if each is not None]
    found = list(_missing(turns, marks, rendered, [each for each in written if each is not None]))
    missing = [turn for turn, is_spaced in found if not is_spaced]
    spaced = [turn for turn, is_spaced in found if is_spaced]
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
                beginning=_beginning(others[0]),
            )
        )
    if spaced:
        sentences.append(
            Sentence(
                "The chat template of this model changes white space inside messages, so the model did not see every "
                "space, indent and line break. The first begins with “{beginning}”.",
                beginning=_beginning(spaced[0]),
            )
        )
    return tuple(sentences)


def _beginning(turn: Turn) -> str:
    return " ".join(turn.text[: 4 * _NUM_QUOTED_CHARS].split())[:_NUM_QUOTED_CHARS]


def with_number(turn: Turn, index: int, marks: Marks, *, at_end: bool) -> dict[str, Any]:
    """Return a turn as a message for a template, with its index at the beginning or end of its text.

    The index is written with marks, which occur in no text.
    """
    message = turn.rendered(marks, None)
    place = _place(turn, marks)
    if place is None:
        return message
    number = f"{index:b}".replace("0", marks.split).replace("1", marks.end)
    content, position = message["content"], place[at_end]
    return {**message, "content": f"{content[:position]}{marks.begin}{number}{marks.begin}{content[position:]}"}


def _place(turn: Turn, marks: Marks) -> tuple[int, int] | None:
    """Return the range in a message of the text that every template should write; None if there is no such text."""
    text = _expected(turn, marks)
    begin = turn.rendered(marks, None)["content"].rfind(text) if text else -1
    return None if begin < 0 else (begin, begin + len(text))


def _written(numbered: str, rendered: str, marks: Marks) -> set[int] | None:
    """Return the indices of the turns that a template writes; None if it writes other text because of the indices.

    The arguments are those of `left_out`.
    """
    number = re.compile(f"{marks.begin}([{marks.split}{marks.end}]+){marks.begin}")
    if marks.removed_from(numbered) != marks.removed_from(rendered):
        return None
    return {int(found[1].replace(marks.split, "0").replace(marks.end, "1"), 2) for found in number.finditer(numbered)}


def _missing(
    turns: Sequence[Turn], marks: Marks, rendered: str, written: Sequence[set[int]]
) -> Iterable[tuple[Turn, bool]]:
    """Yield the turns that a template leaves out or changes, and whether it changes only white space."""
    position = num_missing = 0
    dense: str | None = None
    for index, turn in enumerate(turns):
        text = _expected(turn, marks)
        # Some templates write the system prompt into the last question. All other turns must follow in their order.
        found = rendered.find(text, 0 if turn.role == "system" else position)
        is_written = all(index in each for each in written) or _place(turn, marks) is None
        if found >= 0 and is_written:
            position = position if turn.role == "system" else found + len(text)
            continue
        dense = _dense(rendered) if dense is None else dense
        is_spaced = text not in rendered and _dense(text) in dense
        if not is_spaced or text.strip() not in rendered:
            yield turn, is_spaced
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
    if spelled in (text, f" {text}"):
        return None
    letters, spelled_letters = _letters(text), _letters(spelled)
    lost = Counter(letters) - Counter(spelled_letters) if letters != spelled_letters else Counter[str]()
    if lost:
        first = "".join(character for character in dict.fromkeys(text) if lost.keys() & set(_letters(character)))
        return Sentence(
            "The tokenizer of this model leaves out or replaces some characters, so the model did not see them: "
            "{characters}",
            characters=first[:_NUM_QUOTED_CHARS],
        )
    if letters != spelled_letters:
        return _added(spelled, _num_same(letters, spelled_letters))
    words, spelled_words = _words(text), _words(spelled)
    if len(words) < len(spelled_words):
        same = spelled_words[: _num_same(words, spelled_words)]
        return _added(spelled, len(same[: same.rfind(" ") + 1].replace(" ", "")))
    if words != spelled_words or _num_blanks(spelled) < _num_blanks(text) or spelled.count("\t") < text.count("\t"):
        return Sentence(
            "The tokenizer of this model leaves out or replaces white space, so the model did not see every space, "
            "indent and line break."
        )
    return None


def _added(spelled: str, num_same: int) -> Sentence:
    return Sentence(
        "The tokenizer of this model adds or moves some characters, so the model saw “{characters}”.",
        characters=_from_letter(spelled, num_same),
    )


def _letters(text: str) -> str:
    """Return the visible characters of a text, ignoring case, accents and variant forms."""
    return normalized("NFKD", text.casefold()).casefold().translate(_LETTERS)


def _words(text: str) -> str:
    """Return the words of a text, spelled as in `_letters`, with a space between two of them.

    Spaces beside other characters are left out, because some tokenizers add them there.
    """
    plain = normalized("NFKD", text.casefold()).casefold().translate(_WORDS)
    return " ".join(_BETWEEN_WORDS.sub(r"\1", plain).split())


class _Letters(dict[int, int | str | None]):
    """A table for `str.translate` that leaves out accents and characters that are not seen."""

    def __init__(self, *, keeps_space: bool) -> None:
        super().__init__()
        self._keeps_space = keeps_space

    def __missing__(self, code: int) -> int | str | None:
        character = chr(code)
        if character.isspace() or unicodedata.category(character)[0] == "Z":
            value = " " if self._keeps_space else None
        else:
            value = None if unicodedata.category(character) in _UNSEEN or _is_accent(character) else code
        self[code] = value
        return value


def _is_accent(character: str) -> bool:
    """Return whether a mark can be ignored. Marks of Indic scripts are vowels, and those of kana change sounds."""
    if unicodedata.category(character)[0] != "M":
        return False
    kind = unicodedata.combining(character)
    is_point = 10 <= kind <= 36  # of Hebrew and Arabic
    return is_point or kind == 1 or kind >= 200 or (kind == 0 and "SELECTOR" in unicodedata.name(character, ""))


def _num_same(one: str, other: str) -> int:
    """Return the number of equal characters at the beginning of two different texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _from_letter(text: str, number: int) -> str:
    """Return a short part of `text`, from the letter on that has this index in `_letters(text)`."""
    start = 0
    while start < len(text) and (num_letters := len(_letters(text[start : start + _STEP]))) <= number:
        number -= num_letters
        start += _STEP
    before = accumulate(len(_letters(character)) for character in text[start : start + _STEP])
    start += bisect_right(list(before), number)
    return text[start : start + _NUM_QUOTED_CHARS]


def _num_blanks(text: str) -> int:
    """Return the number of line breaks, and of white space characters that follow white space."""
    return sum(len(blanks) - (blanks[0] != "\n") for blanks in _BLANKS.findall(text.strip()))


_UNSEEN = {"Cc", "Cf", "Cs", "Me"}
_LETTERS, _WORDS = _Letters(keeps_space=False), _Letters(keeps_space=True)
_CJK = "\u2e80-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_BETWEEN_WORDS = re.compile(rf"\s*([{_CJK}]|[^\s{_CJK}](?<![^\W_]))\s*")
_BLANKS = re.compile(r"\s+")
_STEP = 1000
