"""Estimates how many characters in a row the repetitions of an answer format require, without llguidance."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

_MAX_LENGTH = 10**12
"""The largest estimate. Longer texts get this estimate, too."""
_MAX_DIGITS = 13


class _Length(NamedTuple):
    """The length of the texts that an expression allows."""

    least: int
    """The length of the shortest text."""
    most: int
    """Like `least`, but with the longest of alternatives, and with optional parts counted once."""


_NOTHING, _ONE = _Length(0, 0), _Length(1, 1)


def longest_repetition(grammar: str) -> int:
    """Return the least number of characters of the longest repetition `{n}` or `{n,m}` in a grammar or schema.

    Repetitions may be nested, as in `(a{1000}){1000}`, also through names of terminals. Rules count as one character,
    because llguidance itself limits their work. Terminals count as a whole, and so do a schema's own texts.
    """
    if grammar.lstrip().startswith("{"):
        try:
            return _longest_in(json.loads(grammar))
        except ValueError:
            pass
    return _Lark(grammar).longest


def _longest_in(described: Any) -> int:
    """Return the longest repetition, or fixed text, in a JSON value with grammars, schemas and regular expressions."""
    longest = 0
    waiting = [described]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += cast("list[Any]", value)
        elif isinstance(value, dict):
            for key, inner in cast("dict[str, Any]", value).items():
                # Names of properties may be patterns.
                longest = max(longest, len(key), _of_regex(key)[1], _longest_at(key, inner))
                if isinstance(inner, dict | list):
                    waiting.append(inner)
    return longest


def _longest_at(key: str, value: Any) -> int:
    match key, value:
        case "lark_grammar", str():
            return _Lark(value).longest
        case "const", _:
            return len(json.dumps(value))
        case "enum", list():
            return max((len(json.dumps(each)) for each in cast("list[Any]", value)), default=0)
        case _, str():
            return _of_regex(value)[1]
        case _:
            return 0


# --- adding up an expression -----------------------------------------------------------------------------------


@dataclass
class _Group:
    """The parts between two brackets."""

    is_optional: bool = False
    now: _Length = _NOTHING
    """The length of the alternative that is being parsed."""
    before: _Length | None = None
    """The length of the alternatives before the present one; None if there are none."""
    last: _Length = _NOTHING
    """The length of the last part, which a repetition would repeat."""

    def add(self, length: _Length) -> None:
        self.now, self.last = _added(self.now, length), length

    def end_alternative(self) -> None:
        before = self.before or self.now
        self.before = _Length(min(before.least, self.now.least), max(before.most, self.now.most))
        self.now = self.last = _NOTHING

    def end(self) -> _Length:
        self.end_alternative()
        assert self.before is not None
        return _Length(0, self.before.most) if self.is_optional else self.before


@dataclass
class _Sum:
    """Adds up the parts of an expression."""

    longest: int = 0
    """The length of the longest repetition so far."""
    _groups: list[_Group] = field(default_factory=lambda: [_Group()])

    def add(self, length: _Length) -> None:
        self._groups[-1].add(length)

    def repeat(self, digits: str) -> None:
        group = self._groups[-1]
        times = int(digits[:_MAX_DIGITS] or 0)
        repeated = _Length(*(min(times * length, _MAX_LENGTH) for length in group.last))
        self.longest = max(self.longest, repeated.most)
        # The parts before it stay, so that a repetition that may be left out counts once.
        group.now = _Length(group.now.least - group.last.least, group.now.most - group.last.most)
        group.add(repeated if times else _Length(0, group.last.most))

    def make_optional(self) -> None:
        group = self._groups[-1]
        group.now = group.now._replace(least=group.now.least - group.last.least)
        group.last = group.last._replace(least=0)

    def end_alternative(self) -> None:
        self._groups[-1].end_alternative()

    def open(self, *, is_optional: bool = False) -> None:
        self._groups.append(_Group(is_optional))

    def close(self) -> None:
        if len(self._groups) > 1:
            length = self._groups.pop().end()
            self.add(length)

    def end(self) -> _Length:
        while len(self._groups) > 1:
            self.close()
        return self._groups[0].end()


def _added(one: _Length, other: _Length) -> _Length:
    return _Length(min(one.least + other.least, _MAX_LENGTH), min(one.most + other.most, _MAX_LENGTH))


# --- regular expressions ---------------------------------------------------------------------------------------

_REGEX = re.compile(
    r"""
    \{(?P<repeat>\d+)(?:,\d*)?\}\??
    | (?P<optional>[?*]\??)
    | (?P<open>\((?:\?[^:()<>]{0,99}(?::|(?=\)))|\?P?<\w{0,99}>)?)
    | (?P<close>\))
    | (?P<or>\|)
    | (?P<one>\\[xupP](?:\{[^}]{0,99}\}|[0-9A-Fa-f]{2,8})|\\.|\[\^?\]?(?:\\.|[^\]\\])*(?:\]|\Z))
    | (?P<plain>[^\\\[(){|?*+]+|.)
    """,
    re.DOTALL | re.VERBOSE,
)


def _of_regex(pattern: str) -> tuple[_Length, int]:
    """Return the length of the texts that a regular expression matches, and its longest repetition."""
    found = _Sum()
    for part in _REGEX.finditer(pattern):
        match part.lastgroup:
            case "repeat":
                found.repeat(part["repeat"])
            case "optional":
                found.make_optional()
            case "open":
                found.open()
            case "close":
                found.close()
            case "or":
                found.end_alternative()
            case "one":
                found.add(_ONE)
            case _ if part[0] != "+":
                if len(part[0]) > 1:
                    found.add(_Length(len(part[0]) - 1, len(part[0]) - 1))
                found.add(_ONE)
            case _:
                pass
    return found.end(), found.longest


# --- Lark ------------------------------------------------------------------------------------------------------

_LARK = re.compile(
    r"""
    (?P<skip>[\ \t]+|(?:\#|//)[^\n]*)
    | (?P<or>(?:(?:\r?\n)+[\ \t]*)?\|)
    | (?P<line>(?:\r?\n)+[\ \t]*)
    | (?P<string>"(?:\\.|[^"\\\n])*(?:"i?|(?=\n)|\Z))
    | (?P<regex>/(?:\\.|[^/\\])+(?:/[imslux]*|\Z))
    | (?P<name>[!?_]{0,3}[A-Za-z][\w\-]*)
    | \{\ *(?P<repeat>\d+)\ *(?:,\ *\d*\ *)?\}
    | ~\ *(?P<times>\d+)(?:\ *\.\.\ *\d+)?
    | (?P<upto>\{\ *,\ *\d*\ *\})
    | (?P<optional>[?*])
    | (?P<json>%(?:json|regex|llguidance)\b)
    | (?P<lark>%lark\s*\{)
    | (?P<other>.)
    """,
    re.DOTALL | re.VERBOSE,
)
_ESCAPE = re.compile(r"\\.")
_BLANK = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


class _Lark:
    """A grammar in Lark's syntax, as llguidance reads it."""

    def __init__(self, text: str, start: int = 0) -> None:
        self.longest = 0
        """The length of the longest text that a repetition or a terminal requires."""
        self.end = start
        """The position after the grammar, which may end at a closing brace."""
        self._rules: dict[str, list[tuple[str, _Length | str]]] = {}
        """The parts of each rule and terminal: kinds, with lengths, digits or names."""
        self._read(text)
        terminals = {name: parts for name, parts in self._rules.items() if name.lstrip("_")[:1].isupper()}
        lengths: dict[str, _Length] = {}
        for name in _ordered(terminals):
            lengths[name] = self._measured(terminals[name], lengths)
            self.longest = max(self.longest, lengths[name].least)
        for name in self._rules.keys() - terminals.keys():
            self._measured(self._rules[name], {})

    def _read(self, text: str) -> None:
        parts: list[tuple[str, _Length | str]] = []
        depth = 0
        while found := _LARK.match(text, self.end):
            self.end = found.end()
            kind, value = found.lastgroup or "", found[0]
            if kind == "other" and value == ":" and parts:
                # The rule's name is first in its line, before its priority and attributes.
                parts = self._rules.setdefault(str(next((part[1] for part in parts if part[0] == "name"), "")), [])
            elif kind == "line":
                if not depth:
                    parts = []
            elif kind == "other" and value in "()[]":
                depth = max(0, depth + (1 if value in "([" else -1))
                parts.append((value, ""))
            elif kind == "other" and value == "{":
                self._skip_braces(text)
            elif kind == "other" and value == "}":
                break
            elif kind == "json":
                parts.append(("one", self._json_length(text)))
            elif kind == "lark":
                inner = _Lark(text, self.end)
                self.end, self.longest = inner.end, max(self.longest, inner.longest)
                parts.append(("one", _ONE))
            elif kind == "string":
                num_chars = len(_ESCAPE.sub(".", value.rstrip("i"))) - 2
                parts.append(("one", _Length(num_chars, num_chars)))
            elif kind == "regex":
                length, longest = _of_regex(value[1 : value.rindex("/") or None])
                self.longest = max(self.longest, longest)
                parts.append(("one", length))
            elif kind == "name":
                parts.append(("name", value.lstrip("!?")))
            elif kind in {"repeat", "times"}:
                parts.append(("repeat", found[kind]))
            elif kind in {"or", "optional", "upto"}:
                parts.append((kind, ""))

    def _skip_braces(self, text: str) -> None:
        end = text.find("}", self.end)
        self.end = len(text) if end < 0 else end + 1

    def _json_length(self, text: str) -> _Length:
        """Parse the JSON value at the present position; its texts may have any length."""
        blank = _BLANK.match(text, self.end)
        try:
            value, self.end = _DECODER.raw_decode(text, self.end if blank is None else blank.end())
        except (ValueError, RecursionError):
            self.end = len(text)  # llguidance refuses the grammar
            return _ONE
        self.longest = max(self.longest, _longest_in(value))
        return _ONE

    def _measured(self, parts: Iterable[tuple[str, _Length | str]], lengths: Mapping[str, _Length]) -> _Length:
        found = _Sum()
        for kind, value in parts:
            match kind, value:
                case "one", _Length():
                    found.add(value)
                case "name", str():
                    least = lengths.get(value, _ONE).least
                    found.add(_Length(least, least))
                case "repeat", str():
                    found.repeat(value)
                case "optional" | "upto", _:
                    found.make_optional()
                case "or", _:
                    found.end_alternative()
                case "(" | "[", _:
                    found.open(is_optional=kind == "[")
                case _:
                    found.close()
        self.longest = max(self.longest, found.longest)
        return found.end()


def _ordered(rules: Mapping[str, Iterable[tuple[str, _Length | str]]]) -> list[str]:
    """Return the names of rules, each after those to which it refers, without rules that refer to themselves."""
    ordered: dict[str, None] = {}
    entered: set[str] = set()
    for first in rules:
        waiting = [first]
        while waiting:
            name = waiting[-1]
            if name not in entered:
                entered.add(name)
                inner = (str(value) for kind, value in rules[name] if kind == "name")
                waiting += [each for each in inner if each in rules and each not in entered]
            else:
                ordered.setdefault(waiting.pop())
    return list(ordered)
