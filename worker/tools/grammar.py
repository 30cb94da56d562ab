"""The grammar of tool calls in a form, in llguidance's variant of Lark. Pure text: nothing here needs the library.

Control tokens are written as ids, because models generate them as single tokens; all other text is written as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from worker.tools.forms import Braces, Channels, Form, JsonObject, NamedJson, Python, Tagged
from worker.tools.schemas import ALL_TYPES, object_of, resolved, types_of

Literal = Callable[[str], str]
"""Returns text as a Lark expression."""

_CHANNEL, _MESSAGE = "<|channel|>", "<|message|>"
_ANY_TEXT = r"/(?s:.*)/"
_MAX_DEPTH = 32


def literals(control_ids: Mapping[str, int]) -> Literal:
    """Return a function that writes text as Lark, with control tokens as ids. `control_ids`: the ids by text."""
    pattern = re.compile("|".join(map(re.escape, sorted(control_ids, key=len, reverse=True))) or r"(?!)")

    def literal(text: str) -> str:
        pieces: list[str] = []
        end = 0
        for found in pattern.finditer(text):
            pieces += [_quoted(text[end : found.start()]), f"<[{control_ids[found[0]]}]>"]
            end = found.end()
        pieces.append(_quoted(text[end:]))
        return " ".join(filter(None, pieces)) or '""'

    return literal


def _quoted(text: str) -> str:
    """Return text as Lark strings. Line breaks are separate: a longer string that begins with one would win over it."""
    return " ".join(json.dumps(part, ensure_ascii=False) for part in re.split("(\n)", text) if part)


@dataclass
class CallGrammar:
    """Builds the grammar for calls of the given tools."""

    form: Form
    tools: Sequence[tuple[str, Mapping[str, Any]]]
    """Names, and JSON schemas of the parameters."""
    literal: Literal
    json_options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """llguidance's options for JSON, such as how much white space is allowed."""
    _rules: dict[str, str] = field(default_factory=dict[str, str])

    def after_begin(self, *, is_several: bool, is_bare: bool = False) -> str:
        """Return the grammar of one section after `form.begin`; with `is_bare`, after the beginning of a bare call."""
        self._rules = {}
        return self._written(self._section(is_several=is_several, is_bare=is_bare))

    def whole(self, *, is_several: bool) -> str:
        """Return the grammar of a whole answer that consists of calls."""
        self._rules = {}
        form = self.form
        if isinstance(form.syntax, Channels):
            analysis = '(<A> "analysis" <M> /(?s:.*)/ <E> <S> "assistant")? <A> "commentary"'
            for mark, text in (("<A>", _CHANNEL), ("<M>", _MESSAGE), ("<E>", "<|end|>"), ("<S>", "<|start|>")):
                analysis = analysis.replace(mark, self.literal(text))
            return self._written(
                f"{analysis} {self.literal(form.begin)} {self._section(is_several=False, is_bare=False)}"
            )
        begin = "" if form.is_bare else self.literal(form.lead + form.begin)
        section = self._section(is_several=is_several, is_bare=False)
        answer = f'("\\n" | "\\n\\n")? {begin} {section}'
        if is_several and form.is_repeated:
            answer += f" ({self.literal(form.between + form.begin)} {section})*"
        return self._written(answer)

    def _written(self, start: str) -> str:
        rules = "\n".join(f"{name}: {body}" for name, body in self._rules.items())
        return f"%llguidance {{}}\nstart: {start}\n{rules}\n"

    def _section(self, *, is_several: bool, is_bare: bool) -> str:
        form = self.form
        self._rules["call"] = " | ".join(f"call_{at}" for at in range(len(self.tools)))
        for at, (name, schema) in enumerate(self.tools):
            self._rules[f"call_{at}"] = self._call(at, name, schema)
        calls = "call"
        if is_bare:
            self._rules["bare"] = " | ".join(f"bare_{at}" for at in range(len(self.tools)))
            for at, (name, schema) in enumerate(self.tools):
                self._rules[f"bare_{at}"] = self._call(at, name, schema, is_bare=True)
            calls = "bare"
        if is_several and form.separator is not None:
            calls = f"{calls} ({self.literal(form.separator)} call)*" if form.separator else f"{calls} call*"
        before, after = form.line + form.opening, form.closing + form.line + form.end
        return " ".join(
            filter(None, [self.literal(before) if before else "", calls, self.literal(after) if after else ""])
        )

    # --- one call ------------------------------------------------------------------------------------------

    def _call(self, at: int, name: str, schema: Mapping[str, Any], *, is_bare: bool = False) -> str:
        match self.form.syntax:
            case JsonObject(key, has_id):
                first = "" if is_bare else '{"name": "'
                self._rules[f"args_{at}"] = self._json(schema, schema)
                identity = ' (", \\"id\\": \\"" /[a-zA-Z0-9]{9}/ "\\"")?' if has_id else ""
                head = self.literal(f'{first}{name}", "{key}": ')
                return f'{head} args_{at}{identity} "}}"'
            case NamedJson(before, between, after, counted):
                self._rules[f"args_{at}"] = self._json(schema, schema)
                middle = (
                    f"{self.literal(f'{before}functions.{name}:')} /[0-9]{{1,3}}/ {self.literal(between)}"
                    if counted
                    else self.literal(before + name + between)
                )
                return f"{middle} args_{at} {self.literal(after) if after else ''}"
            case Tagged() as syntax:
                head = self.literal(syntax.before + name + syntax.opened)
                if syntax.is_typed:
                    number = '"\\" index=\\"" /[0-9]{1,3}/ "\\""'
                    head = f"{self.literal(syntax.before + name)} {number} {self.literal(syntax.opened)}"
                tail = self.literal(syntax.after) if syntax.after else ""
                return f"{head} {self._tagged(at, syntax, schema)} {tail}"
            case Braces(quote):
                return f"{self.literal(f'call:{name}')} {_Nested(self, schema, quote).object(schema, f'o_{at}')}"
            case Python():
                return f'{self.literal(f"{name}(")} {self._python(at, schema)} ")"'
            case Channels():
                self._rules[f"args_{at}"] = self._json(schema, schema)
                self._rules["json_type"] = f'" json" | " " {self.literal("<|constrain|>")} "json"'
                channel = f'({self.literal(_CHANNEL)} "commentary")?'
                return f"{self.literal(name)} {channel} json_type? {self.literal(_MESSAGE)} args_{at}"

    def _json(self, schema: Any, root: Mapping[str, Any]) -> str:
        """Return the rule for a JSON value of a schema that may refer to parts of `root`."""
        described = dict(resolved(schema, root)) if isinstance(schema, dict) else {}
        if isinstance(schema, dict) and "$ref" in schema:
            described = dict(cast("dict[str, Any]", schema))
        if described is not root:
            described |= {key: root[key] for key in ("$defs", "definitions") if key in root and key not in described}
        if schema is root and "type" not in described and not {"anyOf", "oneOf", "allOf", "$ref"} & described.keys():
            described["type"] = "object"
        given = described.get("x-guidance")
        options = {
            **self.json_options,
            **(cast("dict[str, Any]", given) if isinstance(given, dict) else {}),
        }
        return f"%json {json.dumps({**described, 'x-guidance': options})}"

    # --- markup --------------------------------------------------------------------------------------------

    def _tagged(self, at: int, syntax: Tagged, schema: Mapping[str, Any]) -> str:
        properties, required, takes_others = object_of(schema)
        parts: list[str] = []
        for number, (key, described) in enumerate(properties.items()):
            rule = f"p_{at}_{number}"
            self._rules[rule] = self._argument(rule, syntax, key, described, schema)
            parts.append(rule if key in required else f"{rule}?")
        if takes_others and not properties:
            rule = f"p_{at}_other"
            key_of = f"{self.literal(syntax.key)} /[A-Za-z_][A-Za-z0-9_]*/"
            value = self._raw(f"v_{at}_other", _ANY_TEXT, syntax)
            typed = '"\\" type=\\"string\\"" ' if syntax.is_typed else ""
            self._rules[rule] = f"{key_of} {typed}{self.literal(syntax.value)} {value}"
            parts.append(f"{rule}*")
        return " ".join(parts)

    def _argument(self, rule: str, syntax: Tagged, key: str, described: Any, root: Mapping[str, Any]) -> str:
        types = types_of(described, root)
        if not syntax.is_typed:
            head = self.literal(syntax.key + key + syntax.value)
            return f"{head} {self._value(rule, syntax, described, types, root)}"
        escaped = key.replace("&", "&amp;").replace('"', "&quot;")
        ways: list[str] = []
        for number, name in enumerate(sorted(types - {"integer"} | ({"number"} if "integer" in types else set()))):
            only = frozenset({"integer", "number"} & types) if name == "number" else frozenset({name})
            head = self.literal(f'{syntax.key}{escaped}" type="{name}"{syntax.value}')
            narrowed = {**resolved(described, root), "type": sorted(only)} if types != only else described
            ways.append(f"{head} {self._value(f'{rule}_{number}', syntax, narrowed, only, root)}")
        return " | ".join(ways)

    def _value(self, rule: str, syntax: Tagged, described: Any, types: frozenset[str], root: Mapping[str, Any]) -> str:
        """Return the grammar expression for a value, followed by the text that marks its end."""
        name = f"v_{rule}"
        if "string" not in types:
            self._rules[name] = self._json(described, root)
            return f"{name} {self.literal(syntax.value_end)}"
        return self._raw(name, _raw_pattern(described, types, root), syntax)

    def _raw(self, name: str, pattern: str, syntax: Tagged) -> str:
        """Return the grammar expression for raw text of this pattern, followed by the tag that marks its end."""
        return self.raw_until(name, pattern, syntax.value_end)

    def raw_until(self, name: str, pattern: str, end: str) -> str:
        """Return the grammar expression for raw text of this pattern, without the tag in `end`, followed by `end`."""
        terminal = name.upper()
        core = end.strip()
        written = self.literal(end)
        if core and written.startswith("<["):
            self._rules[terminal] = pattern
            return f"{terminal} {written}"
        without = f"~/(?s:.*){_regex(core)}(?s:.*)/"
        self._rules[f"{terminal}_TEXT"] = f"({pattern}) & {without} & {_ANY_TEXT}"
        if "<[" not in written:
            self._rules[terminal] = f"{terminal}_TEXT {_quoted(end)}"
            return terminal
        return f"{terminal}_TEXT {written}"

    # --- Python --------------------------------------------------------------------------------------------

    def _python(self, at: int, schema: Mapping[str, Any]) -> str:
        properties, required, takes_others = object_of(schema)
        items: list[tuple[str, bool]] = []
        for number, (key, described) in enumerate(properties.items()):
            rule = f"p_{at}_{number}"
            types = types_of(described, schema)
            ways = [self._json(described, schema)]
            ways += ['"True"', '"False"'] if "boolean" in types and types != ALL_TYPES else []
            if "string" in types and types != ALL_TYPES and not _has_text_rules(described, schema):
                ways.append(_SINGLE_QUOTED)
            ways += ['"None"'] if "null" in types and types != ALL_TYPES else []
            self._rules[f"{rule}_v"] = " | ".join(ways)
            self._rules[rule] = f"{self.literal(f'{key}=')} {rule}_v"
            items.append((rule, key in required))
        if takes_others and not properties:
            self._rules[f"p_{at}_v"] = self._json({}, {})
            self._rules[f"p_{at}"] = f'/[A-Za-z_][A-Za-z0-9_]*/ "=" p_{at}_v'
            return f'(p_{at} (", " p_{at})*)?'
        return self.listed(f"l_{at}", items, ", ")

    def listed(self, name: str, items: Sequence[tuple[str, bool]], separator: str) -> str:
        """Return a rule for items in their order, with separators. Each item is a rule, and whether it is required."""
        comma = _quoted(separator)
        for number in reversed(range(len(items))):
            rule, is_required = items[number]
            is_last = number + 1 == len(items)
            rest = "" if is_last else f"{name}_c{number + 1}"
            self._rules[f"{name}_c{number}"] = f"{comma} {rule} {rest}" + (
                "" if is_required else f" | {rest or _EMPTY}"
            )
            self._rules[f"{name}_o{number}"] = f"{rule} {rest}" + (
                "" if is_required else f" | {_EMPTY if is_last else f'{name}_o{number + 1}'}"
            )
        return f"{name}_o0" if items else ""

    def add(self, name: str, body: str) -> str:
        """Add a rule. Return its name."""
        self._rules[name] = body
        return name

    def has(self, name: str) -> bool:
        """Return whether there is a rule of this name."""
        return name in self._rules

    def json_value(self, schema: Any, root: Mapping[str, Any]) -> str:
        """Return the rule for a JSON value."""
        return self._json(schema, root)


def _has_text_rules(described: Any, root: Mapping[str, Any]) -> bool:
    """Return whether a schema has rules for texts besides their type."""
    schema = resolved(described, root)
    branches = [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key) or ()]
    return bool(_TEXT_RULES & schema.keys()) or any(_TEXT_RULES & resolved(each, root).keys() for each in branches)


_EMPTY = '""'
_SINGLE_QUOTED = r"/'([^'\\\n]|\\[\\'\"nrt])*'/"
_TEXT_RULES = {"enum", "const", "pattern", "minLength", "maxLength", "format"}


class _Nested:
    """Values in Gemma's syntax, with its own quotes around texts."""

    def __init__(self, grammar: CallGrammar, root: Mapping[str, Any], quote: str) -> None:
        self._grammar = grammar
        self._root = root
        self._quote = quote
        self._names: dict[int, str] = {}
        """The rule of each schema, by its `id`. A schema may contain itself, and then so does its rule."""

    def object(self, schema: Any, name: str, depth: int = 0) -> str:
        """Add the rules for an object. Return an expression."""
        properties, required, takes_others = object_of(schema, self._root)
        if not properties:
            free = f'("{{" "}}" | "{{" {self._key()} ":" {self._any()} ("," {self._key()} ":" {self._any()})* "}}")'
            return free if takes_others else '"{" "}"'
        items: list[tuple[str, bool]] = []
        for number, (key, described) in enumerate(properties.items()):
            rule = f"{name}_{number}"
            value = self.value(described, f"{rule}_v", depth + 1)
            self._grammar.add(rule, f"{self._grammar.literal(f'{key}:')} {value}")
            items.append((rule, key in required))
        return f'"{{" {self._grammar.listed(name, items, ",")} "}}"'

    def value(self, schema: Any, name: str, depth: int) -> str:
        """Add the rules for a value. Return the name of its rule."""
        described = resolved(schema, self._root)
        if depth > _MAX_DEPTH or not described.keys() - {"description", "title", "default"}:
            return self._any()
        if id(described) in self._names:
            return self._names[id(described)]
        self._names[id(described)] = name
        branches = described.get("anyOf") or described.get("oneOf")
        if isinstance(branches, list) and "type" not in described:
            alike = cast("list[Any]", branches)
            ways = [self.value(each, f"{name}_{number}", depth + 1) for number, each in enumerate(alike)]
            return self._grammar.add(name, " | ".join(way for way in ways if way != name) or self._any())
        types = types_of(described, self._root)
        ways = []
        plain = types - {"string", "object", "array"}
        if plain:
            narrowed = {**described, "type": sorted(plain)} if types != plain else described
            self._grammar.add(f"{name}_j", self._grammar.json_value(_without_texts(narrowed), self._root))
            ways.append(f"{name}_j")
        if "string" in types:
            ways.append(self._text(name, _raw_pattern(described, frozenset({"string"}), self._root)))
        if "object" in types:
            ways.append(self.object(described, f"{name}_o", depth))
        if "array" in types:
            item = self.value(described.get("items", {}), f"{name}_i", depth + 1)
            least, most = described.get("minItems", 0), described.get("maxItems")
            ways.append(_array(item, least if isinstance(least, int) else 0, most if isinstance(most, int) else None))
        return self._grammar.add(name, " | ".join(ways))

    def _text(self, name: str, pattern: str) -> str:
        quote = self._grammar.literal(self._quote)
        return f"{quote} {self._grammar.raw_until(f'{name}_t', pattern, self._quote)}"

    def _key(self) -> str:
        return "/[A-Za-z_][A-Za-z0-9_]*/"

    def _any(self) -> str:
        if not self._grammar.has("any_value"):
            self._grammar.add("any_value", "")
            self._grammar.add("any_plain", self._grammar.json_value({"type": ["number", "boolean", "null"]}, {}))
            text = self._text("any_text", _ANY_TEXT)
            pairs = f'{self._key()} ":" any_value'
            self._grammar.add(
                "any_value",
                f'any_plain | {text} | "{{" ({pairs} ("," {pairs})*)? "}}" | {_array("any_value", 0, None)}',
            )
        return "any_value"


def _without_texts(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema whose `enum` has no texts."""
    values = schema.get("enum")
    if not isinstance(values, list):
        return schema
    return {**schema, "enum": [value for value in cast("list[Any]", values) if not isinstance(value, str)]}


def _array(item: str, least: int, most: int | None) -> str:
    others = f"{{{max(0, least - 1)},{'' if most is None else most - 1}}}"
    items = f'{item} ("," {item}){others}'
    if most == 0:
        return '"[" "]"'
    return f'"[" ({items}){"" if least else "?"} "]"'


# --- raw text ----------------------------------------------------------------------------------------------


def _raw_pattern(
    described: Any, types: frozenset[str], root: Mapping[str, Any], known: dict[int, str] | None = None
) -> str:
    """Return a Lark terminal for the raw text of a value that may be a text.

    `known` has the terminal of each schema with branches by its `id`. One that contains itself may be any text.
    """
    schema = resolved(described, root)
    known = {} if known is None else known
    if "const" in schema:
        return _quoted(_raw_text(schema["const"])) or _EMPTY_TEXT
    if isinstance(schema.get("enum"), list):
        texts = [_quoted(_raw_text(value)) or _EMPTY_TEXT for value in cast("list[Any]", schema["enum"])]
        return f"({' | '.join(texts)})"
    branches = schema.get("anyOf") or schema.get("oneOf")
    if isinstance(branches, list):
        if id(schema) not in known:
            known[id(schema)] = _ANY_TEXT
            alike = cast("list[Any]", branches)
            known[id(schema)] = _one_of(_raw_pattern(each, types_of(each, root), root, known) for each in alike)
        return known[id(schema)]
    if types >= ALL_TYPES:
        return _ANY_TEXT
    ways = [_WORDS[name] for name in sorted(types) if name in _WORDS]
    if "string" in types:
        ways.append(_text_pattern(schema))
    if types & {"object", "array"}:
        ways.append(_ANY_TEXT)
    return _one_of(ways)


_EMPTY_TEXT = "/()/"
_WORDS = {
    "null": '"null"',
    "boolean": '("true" | "false")',
    "integer": "/-?(0|[1-9][0-9]*)/",
    "number": r"/-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/",
}


def _one_of(ways: Iterable[str]) -> str:
    found = list(dict.fromkeys(ways))
    return _ANY_TEXT if _ANY_TEXT in found else found[0] if len(found) == 1 else f"({' | '.join(found)})"


def _raw_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text_pattern(schema: Mapping[str, Any]) -> str:
    least, most = schema.get("minLength"), schema.get("maxLength")
    parts: list[str] = []
    if isinstance(least, int) or isinstance(most, int):
        parts.append(f"/(?s:.{{{least if isinstance(least, int) else 0},{most if isinstance(most, int) else ''}}})/")
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        begin = "" if pattern.startswith("^") else "(?s:.*)"
        end = "" if pattern.endswith("$") and not pattern.endswith("\\$") else "(?s:.*)"
        inner = pattern.removeprefix("^")
        inner = inner if end else inner.removesuffix("$")
        parts.append(
            "/" + f"{begin}({inner}){end}".replace("/", "\\/").replace("\\\\/", "\\/").replace("\n", "\\n") + "/"
        )
    return " & ".join(parts) or _ANY_TEXT


def _regex(text: str) -> str:
    """Return text as a part of a regular expression between slashes."""
    return "".join(character if character.isalnum() else rf"\x{{{ord(character):X}}}" for character in text)
