"""Parses the tool calls of one section, in any form, and passes on their arguments as JSON text piece by piece."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping
from typing import Any, cast

from worker.tools.forms import Braces, Channels, Form, JsonObject, NamedJson, Python, Tagged
from worker.tools.incoming import JSON_NUMBER, MAX_DEPTH, BrokenError, Incoming, Sink
from worker.tools.schemas import as_json, parameter, types_of

_NAME = re.compile(r"[^\s<>\"'=(){}\[\],|]+")
_KEY = re.compile(r"[^\s<>\"'=(){}\[\],:]+")
_WORD = re.compile(r"[-+.\w]+")
_BARE = re.compile(r"[^,{}\[\]<]+")
_COUNTED = re.compile(r"(?:functions\.)?(?P<name>.+?)(?::\d+)?")
_TYPE = re.compile(r'\btype="(\w+)"')
_WORDS = {"true": "true", "false": "false", "null": "null", "True": "true", "False": "false", "None": "null"}
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "0": "\0", "\n": ""}

_Step = Generator[None]


class CallText:
    """Parses one section of tool calls."""

    def __init__(
        self,
        form: Form,
        incoming: Incoming,
        tools: Mapping[str, Mapping[str, Any]],
        start: Callable[[str, str], None],
        add: Sink,
        *,
        is_bare: bool,
    ) -> None:
        """`start` is called with a call's name, and its id or "". `add` is called with each piece of the arguments."""
        self._form = form
        self._in = incoming
        self._tools = tools
        self._start_call = start
        self._add = add
        self._is_bare = is_bare
        self._separator, self._closing, self._syntax = form.separator, form.closing, form.syntax

    def open_section(self) -> _Step:
        """Parse the text before the first call."""
        yield from self._in.skip_space()
        if isinstance(self._syntax, NamedJson) and not self._syntax.before and (yield from self._in.starts_with("[")):
            # Mistral's older form after the same marker.
            self._separator, self._closing, self._syntax = ",", "]", JsonObject()
            yield from self._in.take("[")
        elif self._form.opening:
            yield from self._in.takes(self._form.opening)

    def read(self) -> _Step:
        """Parse one call. Raises `BrokenError`."""
        yield from self._in.skip_space()
        match self._syntax:
            case JsonObject():
                yield from self._json_object()
            case NamedJson() as syntax:
                yield from self._named_json(syntax)
            case Tagged() as syntax:
                yield from self._tagged(syntax)
            case Braces(quote):
                yield from self._braces(quote)
            case Python():
                yield from self._python()
            case Channels():
                raise BrokenError

    def read_arguments(self, name: str) -> _Step:
        """Parse the arguments of a call whose name is already parsed. Raises `BrokenError`."""
        self._start(name)
        yield from self._in.skip_space()
        yield from self._arguments(self._add)

    def finds_another(self) -> Generator[None, None, bool]:
        """Return whether another call follows in this section."""
        if self._separator is None:
            return False
        yield from self._in.skip_space()
        separator = self._separator.strip()
        if separator:
            return (yield from self._in.takes(separator))
        match self._syntax:
            case NamedJson(before) | Tagged(before):
                return (yield from self._in.starts_with(before))
            case JsonObject():
                return (yield from self._in.starts_with("{"))
            case _:
                return False

    def close_section(self) -> _Step:
        """Parse the text after the last call, if there is any. Raises `BrokenError` if the text is cut there."""
        for text in (self._closing, self._form.end):
            yield from self._in.skip_space()
            if text and not (yield from self._in.takes(text)) and self._in.is_cut_here:
                raise BrokenError

    def _start(self, name: str, call_id: str = "") -> None:
        if not name or (self._is_bare and self._tools and name not in self._tools):
            raise BrokenError
        self._start_call(name, call_id)

    def _check_uncut(self) -> None:
        """Raise `BrokenError` if the text was cut at the present position."""
        if self._in.is_cut_here:
            raise BrokenError

    # --- JSON ----------------------------------------------------------------------------------------------

    def _json_object(self) -> _Step:
        yield from self._in.take("{")
        yield from self._in.skip_space()
        is_started = has_arguments = False
        call_id = ""
        waiting: list[str] = []
        is_last = yield from self._in.takes("}")
        while not is_last:
            key = yield from self._in.json_string()
            yield from self._in.skip_space()
            yield from self._in.take(":")
            yield from self._in.skip_space()
            if key in ("name", "function", "tool") and not is_started and (yield from self._in.starts_with('"')):
                self._start((yield from self._in.json_string()), call_id)
                is_started = True
                self._add("".join(waiting))
            elif key in ("arguments", "parameters") and not has_arguments:
                has_arguments = True
                yield from self._arguments(self._add if is_started else waiting.append)
            elif key == "id" and (yield from self._in.starts_with('"')):
                call_id = yield from self._in.json_string()
            elif is_started or key in ("type", "id"):
                yield from self._in.json_value(lambda _: None)
            else:
                raise BrokenError
            yield from self._in.skip_space()
            is_last = yield from self._in.takes("}")
            if not is_last:
                yield from self._in.take(",")
                yield from self._in.skip_space()
        if not is_started:
            raise BrokenError
        if not has_arguments:
            self._add("{}")

    def _arguments(self, sink: Sink) -> _Step:
        """Parse a JSON object, which may be written as a JSON string."""
        match (yield from self._in.peek()):
            case "{":
                yield from self._in.json_value(sink)
            case '"':
                sink(_as_object((yield from self._in.json_string())))
            case "n":
                yield from self._in.take("null")
                sink("{}")
            case _:
                raise BrokenError

    def _named_json(self, syntax: NamedJson) -> _Step:
        yield from self._in.take(syntax.before)
        written, end = yield from self._in.collect(syntax.between, "[CALL_ID]")
        name, call_id = written.strip(), ""
        if end != syntax.between:
            call_id = (yield from self._in.collect(syntax.between))[0].strip()
        if syntax.counted:
            call_id, found = name, _COUNTED.fullmatch(name)
            name = found["name"] if found is not None else ""
        if any(character in name for character in "\n{<["):
            raise BrokenError
        self._start(name, call_id)
        yield from self._in.skip_space()
        yield from self._arguments(self._add)
        if syntax.after:
            yield from self._in.skip_space()
            yield from self._in.take(syntax.after)

    # --- markup --------------------------------------------------------------------------------------------

    def _tagged(self, syntax: Tagged) -> _Step:
        yield from self._in.take_lines(syntax.before)
        name = yield from self._in.take_while(_NAME)
        if syntax.is_typed:
            yield from self._in.collect(syntax.opened)
        else:
            yield from self._in.take_lines(syntax.opened)
        yield from self._in.skip_space()
        if not (yield from self._begins(syntax.key, syntax.after, self._form.end, "<|open|>json")):
            raise BrokenError
        self._start(name)
        if syntax.is_typed and (yield from self._in.takes("<|open|>json")):
            yield from self._in.collect("<|sep|>")
            yield from self._arguments(self._add)
            yield from self._in.take("<|close|>json<|sep|>")
        else:
            self._add("{")
            yield from self._tagged_arguments(syntax, name)
            # Another argument may have followed.
            self._check_uncut()
            self._add("}")
        yield from self._in.take_lines(syntax.after)

    def _begins(self, *literals: str) -> Generator[None, None, bool]:
        for literal in filter(None, literals):
            if (yield from self._in.starts_with(literal.strip())):
                return True
        return False

    def _tagged_arguments(self, syntax: Tagged, name: str) -> _Step:
        schema = self._tools.get(name, {})
        is_first = True
        while True:
            yield from self._in.skip_space()
            if not (yield from self._in.takes(syntax.key)):
                return
            middle, *lines = syntax.value.split("\n")
            key, _ = yield from self._in.collect('"' if syntax.is_typed else middle)
            written_type = ""
            if syntax.is_typed:
                attributes, _ = yield from self._in.collect(middle)
                found = _TYPE.search(attributes)
                written_type = "string" if found is None else found[1]
                key = key.replace("&quot;", '"').replace("&amp;", "&")
            for line in filter(None, lines):
                yield from self._in.skip_space()
                yield from self._in.take(line)
            self._add(("" if is_first else ", ") + json.dumps(key.strip(), ensure_ascii=False) + ": ")
            is_first = False
            if syntax.value.endswith("\n"):
                yield from self._in.takes("\n")
            types = frozenset({written_type}) if written_type else types_of(parameter(schema, key.strip()), schema)
            yield from self._tagged_value(syntax, types)

    def _tagged_value(self, syntax: Tagged, types: frozenset[str]) -> _Step:
        end = syntax.value_end.strip()
        ends = [f"\n{end}", end] if syntax.value_end.startswith("\n") else [end]
        if syntax.has_cdata and (yield from self._in.takes("<![CDATA[")):
            self._add('"')
            yield from self._raw(["]]>"])
            self._add('"')
            yield from self._in.skip_space()
            yield from self._in.take(end)
        elif types == {"string"}:
            self._add('"')
            yield from self._raw(ends)
            self._add('"')
        else:
            held: list[str] = []
            if "string" not in types:
                yield from self._in.skip_space()
                if (yield from self._begins("{", "[")):
                    yield from self._in.json_value(self._add)
                    yield from self._in.skip_space()
                    yield from self._in.take(end)
                    return
            if (yield from self._in.until(ends, held.append, trims=False, keeps=True)) is None:
                raise BrokenError
            self._add(as_json("".join(held), types))

    def _raw(self, ends: list[str]) -> _Step:
        """Pass raw text on, escaped for JSON."""
        if (yield from self._in.until(ends, self._add_escaped, trims=False, keeps=True)) is None:
            raise BrokenError

    def _add_escaped(self, text: str) -> None:
        self._add(_escaped(text))

    # --- Gemma's braces and Python's calls -----------------------------------------------------------------

    def _braces(self, quote: str) -> _Step:
        yield from self._in.take("call:")
        name = yield from self._in.take_while(_KEY)
        yield from self._in.skip_space()
        if not (yield from self._in.starts_with("{")):
            raise BrokenError
        self._start(name)
        yield from self._braced(quote, 0)

    def _braced(self, quote: str, depth: int) -> _Step:
        yield from self._in.take("{")
        self._add("{")
        yield from self._items("}", lambda: self._braced_item(quote, depth))
        self._add("}")

    def _braced_item(self, quote: str, depth: int) -> _Step:
        if (yield from self._in.takes(quote)):
            self._add('"')
            yield from self._raw([quote])
            self._add('"')
        elif (yield from self._in.starts_with('"')):
            yield from self._in.json_value(self._add)
        else:
            key = yield from self._in.take_while(_KEY)
            self._check_uncut()
            self._add(json.dumps(key, ensure_ascii=False))
        yield from self._in.skip_space()
        yield from self._in.take(":")
        self._add(": ")
        yield from self._in.skip_space()
        yield from self._braced_value(quote, depth + 1)

    def _braced_value(self, quote: str, depth: int) -> _Step:
        if depth > MAX_DEPTH:
            raise BrokenError
        if (yield from self._in.takes(quote)):
            self._add('"')
            yield from self._raw([quote])
            self._add('"')
            return
        match (yield from self._in.peek()):
            case "{":
                yield from self._braced(quote, depth)
            case "[":
                yield from self._in.take("[")
                self._add("[")
                yield from self._items("]", lambda: self._braced_value(quote, depth + 1))
                self._add("]")
            case '"':
                yield from self._in.json_value(self._add)
            case _:
                word = yield from self._in.take_while(_BARE)
                self._check_uncut()
                self._add(_word(word.strip()) or json.dumps(word.strip(), ensure_ascii=False))

    def _python(self) -> _Step:
        name = yield from self._in.take_while(_NAME)
        yield from self._in.skip_space()
        if not (yield from self._in.takes("(")):
            raise BrokenError
        self._start(name)
        self._add("{")
        yield from self._items(")", self._python_argument)
        self._add("}")

    def _python_argument(self) -> _Step:
        key = yield from self._in.take_while(_KEY)
        self._check_uncut()
        yield from self._in.skip_space()
        if not key:
            raise BrokenError
        yield from self._in.take("=")
        self._add(json.dumps(key, ensure_ascii=False) + ": ")
        yield from self._in.skip_space()
        yield from self._python_value(1)

    def _python_value(self, depth: int) -> _Step:
        if depth > MAX_DEPTH:
            raise BrokenError
        match (yield from self._in.peek()):
            case "'" | '"':
                yield from self._python_text()
            case "{":
                yield from self._in.take("{")
                self._add("{")
                yield from self._items("}", lambda: self._python_item(depth))
                self._add("}")
            case "[" | "(" as opener:
                yield from self._in.take(opener)
                self._add("[")
                yield from self._items("]" if opener == "[" else ")", lambda: self._python_value(depth + 1))
                self._add("]")
            case _:
                word = _word((yield from self._in.take_while(_WORD)))
                self._check_uncut()
                if not word:
                    raise BrokenError
                self._add(word)

    def _python_item(self, depth: int) -> _Step:
        if not (yield from self._begins("'", '"')):
            raise BrokenError
        yield from self._python_text()
        yield from self._in.skip_space()
        yield from self._in.take(":")
        self._add(": ")
        yield from self._in.skip_space()
        yield from self._python_value(depth + 1)

    def _items(self, closer: str, read: Callable[[], _Step]) -> _Step:
        """Parse items between commas, up to and including `closer`."""
        yield from self._in.skip_space()
        is_first = True
        while not (yield from self._in.takes(closer)):
            if not is_first:
                yield from self._in.take(",")
                yield from self._in.skip_space()
                if (yield from self._in.takes(closer)):
                    return
                self._add(", ")
            is_first = False
            yield from read()
            yield from self._in.skip_space()

    def _python_text(self) -> _Step:
        quote = yield from self._in.peek()
        triple = quote * 3
        end = triple if (yield from self._in.takes(triple)) else quote
        if end == quote:
            yield from self._in.take(quote)
        self._add('"')
        while (marker := (yield from self._in.until(["\\", end], self._add_escaped, trims=False, keeps=True))) != end:
            if marker is None:
                raise BrokenError
            yield from self._python_escape()
        self._add('"')

    def _python_escape(self) -> _Step:
        letter = yield from self._in.peek()
        yield from self._in.take(letter)
        length = {"x": 2, "u": 4, "U": 8}.get(letter)
        if length is None:
            self._add_escaped(_ESCAPED.get(letter, letter if letter in "\\'\"/" else "\\" + letter))
            return
        digits = ""
        while len(digits) < length:
            character = yield from self._in.peek()
            if character not in "0123456789abcdefABCDEF":
                raise BrokenError
            digits += character
            yield from self._in.take(character)
        number = int(digits, 16)
        if number > 0x10FFFF:
            raise BrokenError
        self._add(json.dumps(chr(number))[1:-1])


def _word(word: str) -> str:
    """Return a number, truth value or null of Python or JSON as JSON; empty for any other word."""
    if word in _WORDS:
        return _WORDS[word]
    if JSON_NUMBER.fullmatch(word):
        return word
    try:
        return json.dumps(float(word), allow_nan=False)
    except ValueError:
        return ""


def _as_object(text: str) -> str:
    """Return the JSON object that a JSON string holds. Raises `BrokenError`."""
    try:
        value = json.loads(text, strict=False) if text.strip() else {}
    except (ValueError, RecursionError):
        raise BrokenError from None
    if not isinstance(value, dict):
        raise BrokenError
    return json.dumps(cast("dict[str, Any]", value), ensure_ascii=False)


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
