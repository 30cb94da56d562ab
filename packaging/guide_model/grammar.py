"""A small pattern language: one line of text expands to many sentences. Independent of topics and models.

    how do I (edit|change) [the text of] {my_message}

`(a|b)` is a choice, `[a]` is optional, and `{name}` is a word from the word list of that name. All three can be nested.
A backslash escapes the next character. Files are divided by headings (`# name`). Every other line that is not empty is
a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeAlias

_LITERAL = re.compile(r"(?:[^()\[\]{}|\\]|\\.)+")


class PatternError(ValueError):
    """A line that does not follow the pattern language."""


@dataclass(frozen=True)
class Literal:
    """Literal text."""

    text: str


@dataclass(frozen=True)
class Slot:
    """A reference to a word list."""

    name: str


@dataclass(frozen=True)
class Sequence:
    """Parts in sequence."""

    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Choice:
    """One of several options."""

    options: tuple[Part, ...]


Part: TypeAlias = "Literal | Slot | Sequence | Choice"
Words: TypeAlias = Mapping[str, Choice]


def sections(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (heading, line) for every line of a file that is neither empty nor a heading."""
    heading = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            heading = line[2:].strip()
        elif line.strip():
            yield heading, line.strip()


def parse(pattern: str) -> Choice:
    """Parse one line. Raises PatternError if its brackets do not match."""
    tree, end = _parse_choice(pattern, 0)
    if end != len(pattern):
        raise PatternError(f"unexpected {pattern[end]!r} at {end} in {pattern!r}")
    return tree


def _parse_choice(text: str, start: int) -> tuple[Choice, int]:
    options: list[Part] = []
    position = start
    while True:
        option, position = _parse_sequence(text, position)
        options.append(option)
        if position < len(text) and text[position] == "|":
            position += 1
        else:
            return Choice(tuple(options)), position


def _parse_sequence(text: str, position: int) -> tuple[Sequence, int]:
    parts: list[Part] = []
    while position < len(text) and text[position] not in ")]|":
        opening = text[position]
        if opening == "{":
            end = text.find("}", position)
            if end < 0:
                raise PatternError(f"unclosed slot in {text!r}")
            parts.append(Slot(text[position + 1 : end]))
            position = end + 1
        elif opening in "([":
            inner, end = _parse_choice(text, position + 1)
            if end >= len(text) or text[end] != {"(": ")", "[": "]"}[opening]:
                raise PatternError(f"unclosed {opening!r} in {text!r}")
            parts.append(inner if opening == "(" else Choice((inner, Literal(""))))
            position = end + 1
        else:
            literal = _LITERAL.match(text, position)
            if literal is None:
                raise PatternError(f"unexpected {opening!r} at {position} in {text!r}")
            parts.append(Literal(re.sub(r"\\(.)", r"\1", literal[0])))
            position = literal.end()
    return Sequence(tuple(parts)), position


def expand(part: Part, words: Words, rng: Random) -> str:
    """Return a random sentence of the pattern."""
    return _tidy(_expand(part, words, rng))


def _expand(part: Part, words: Words, rng: Random) -> str:
    match part:
        case Literal(text):
            return text
        case Slot(name):
            return _expand(words[name], words, rng)
        case Sequence(parts):
            return "".join(_expand(each, words, rng) for each in parts)
        case Choice(options):
            return _expand(rng.choice(options), words, rng)


def _tidy(text: str) -> str:
    """Remove the extra spaces that omitted parts leave behind."""
    return re.sub(r" +([,.?!;:](?:\s|$))", r"\1", re.sub(r"\s+", " ", text)).strip()


def num_expansions(part: Part, words: Words) -> int:
    """Count the ways to expand a pattern. Equal sentences are counted repeatedly."""
    match part:
        case Literal():
            return 1
        case Slot(name):
            return num_expansions(words[name], words)
        case Sequence(parts):
            product = 1
            for each in parts:
                product *= num_expansions(each, words)
            return product
        case Choice(options):
            return sum(num_expansions(each, words) for each in options)


def read_words(path: Path) -> dict[str, Choice]:
    """Read the word lists: the words under each heading are separated by `|` or line breaks."""
    lists: dict[str, list[Part]] = {}
    for name, line in sections(path):
        lists.setdefault(name, []).extend(parse(re.sub(r"\s*\|\s*", "|", line)).options)
    return {name: Choice(tuple(options)) for name, options in lists.items()}
