"""Random changes of bytes and of JSON, each with a few words that say what was changed."""

from __future__ import annotations

import json
import random
from typing import Any, cast

_BYTES = (
    *(b"\0", b"\xff", b"\xc3", b'"', b"\\", b"{", b"}", b"[", b"]", b",", b":", b"-"),
    *(b"\\ud800", b"\\u0000", b"1e999"),
)
_LONGEST_SPAN = 64

_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 7, 64, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64, 10**30, 0.5, -0.0),
    *(1e308, 1e-320, float("inf"), float("nan"), "", " ", "\0", "a", "0", "null", "\ud800", "\u202e\x1b[31m", "ééé"),
    *("{{", "{% for", "../..", "/", "x" * 5000, [], {}, [[]], [None], {"": ""}, [0] * 300, ["a"] * 300),
    {"a": {"a": {"a": {}}}},
)
_DEEP = 300


def changed_bytes(draw: random.Random, data: bytes) -> tuple[bytes, str]:
    """Return the bytes with one change, and the change in words."""
    at = draw.randrange(len(data) + 1)
    span = draw.randint(1, _LONGEST_SPAN)
    kind = draw.choice(("flip", "set", "insert", "delete", "repeat", "cut", "swap", "zero"))
    before, after = data[:at], data[at:]
    match kind:
        case "flip" if after:
            new = before + bytes([after[0] ^ (1 << draw.randrange(8))]) + after[1:]
        case "set" if after:
            new = before + bytes([draw.randrange(256)]) + after[1:]
        case "insert":
            new = before + draw.choice(_BYTES) * draw.choice((1, 1, 1, 20)) + after
        case "delete":
            new = before + after[span:]
        case "repeat":
            new = before + after[:span] * draw.choice((2, 2, 30)) + after[span:]
        case "cut":
            new = before
        case "swap":
            new = before + after[span : 2 * span] + after[:span] + after[2 * span :]
        case _:
            new = before + bytes(min(span, len(after))) + after[span:]
    return new, f"{kind} {span} at {at} of {len(data)}"


def changed_json(draw: random.Random, value: Any) -> tuple[Any, str]:
    """Return a copy of a JSON value with one change, and the change in words."""
    value = json.loads(json.dumps(value))
    places = _places(value)
    if not places:
        return draw.choice(_VALUES), "all"
    holder, key = draw.choice(places)
    old = holder[key]
    match draw.choice(("value", "value", "value", "near", "near", "delete", "rename", "deep", "copy", "move")):
        case "near":
            new = _near(draw, old)
        case "delete":
            del holder[key]
            return value, f"delete {key!r}"
        case "rename" if isinstance(holder, dict):
            name = draw.choice((str(key) + "s", str(key).upper(), "", "__proto__", "type", "request_id"))
            holder[name] = holder.pop(key)
            return value, f"rename {key!r} to {name!r}"
        case "deep":
            new = old
            for _ in range(draw.choice((2, 40, _DEEP))):
                new = [new]
        case "copy":
            other, other_key = draw.choice(places)
            new = json.loads(json.dumps(other[other_key]))
        case "move" if isinstance(old, list):
            new = draw.sample(old, len(old))
        case _:
            new = draw.choice(_VALUES)
    holder[key] = new
    return value, f"{key!r}: {str(old)[:40]!r} → {str(new)[:40]!r}"


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return each list or object below `value` with each of its keys."""
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    for holder in waiting:
        if isinstance(holder, dict | list):
            keys: Any = holder.keys() if isinstance(holder, dict) else range(len(cast("list[Any]", holder)))
            for key in keys:
                places.append((holder, key))
                waiting.append(holder[key])
    return places


def _near(draw: random.Random, old: Any) -> Any:
    """Return a value of the same type."""
    match old:
        case bool():
            return not old
        case int():
            return draw.choice((old + 1, old - 1, old * 2, -old, old * 10**6, 0, float(old)))
        case float():
            return draw.choice((old * 2, -old, 1 / (abs(old) + 1e-9), old * 1e300))
        case str():
            return changed_bytes(draw, old.encode("utf-8", "surrogatepass"))[0].decode("utf-8", "surrogateescape")
        case list():
            return draw.choice((old * 2, old[::-1], old[: len(old) // 2], old * 100 if len(old) < 50 else old))
        case _:
            return draw.choice(_VALUES)
