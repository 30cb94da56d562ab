"""JSON is laid out while it grows as `json.dumps` lays it out, and positions in it lead back to the source."""

from __future__ import annotations

import json
import random
from typing import Any, NoReturn

import pytest

from app.model import json_text
from app.model.json_text import JsonLayout, NotJsonError, begun_json

_CHARACTERS = 'ab "\\{}[]:,\n é😀'
_SEPARATORS = [(",", ":"), (", ", ": "), (" ,  ", "\n:\t")]


def _value(draw: random.Random, depth: int = 0) -> Any:
    match draw.randrange(7 if depth < 4 else 4):
        case 0:
            return draw.choice([None, True, False])
        case 1:
            return draw.random() * 10 ** draw.randrange(-9, 20) * draw.choice([1, -1])
        case 2:
            return draw.randrange(-99, 99)
        case 3:
            return "".join(draw.choices(_CHARACTERS, k=draw.randrange(8)))
        case 4 | 5:
            return [_value(draw, depth + 1) for _ in range(draw.randrange(4))]
        case _:
            return {str(number) * 2: _value(draw, depth + 1) for number in range(draw.randrange(4))}


def _in_pieces(draw: random.Random, text: str) -> tuple[JsonLayout, str]:
    layout, shown, start = JsonLayout(), "", 0
    while start < len(text):
        end = start + draw.randrange(1, 6)
        shown += layout.feed(text[start:end])
        start = end
    return layout, shown


def _is_json(text: str) -> bool:
    def refuse(_name: str) -> NoReturn:
        raise ValueError

    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        return False
    return True


def test_any_json_is_laid_out_piece_by_piece() -> None:
    draw = random.Random(3)
    for _ in range(600):
        value = _value(draw)
        source = json.dumps(value, ensure_ascii=False, separators=draw.choice(_SEPARATORS))
        layout, shown = _in_pieces(draw, source)
        assert shown == json.dumps(value, ensure_ascii=False, indent=2)
        assert layout.is_whole
        for position, character in enumerate(shown):
            if not character.isspace():
                assert source[layout.source_position(position)] == character


def test_exactly_json_is_taken_as_json() -> None:
    draw = random.Random(4)
    for _ in range(2_000):
        source = json.dumps(_value(draw), separators=draw.choice(_SEPARATORS))
        place = draw.randrange(len(source) + 1)
        damaged = source[:place] + draw.choice('x}],:"1\x01-. ') + source[place + draw.randrange(2) :]
        layout = JsonLayout()
        try:
            layout.feed(damaged)
            is_json = layout.is_whole
        except NotJsonError:
            is_json = False
        assert is_json == _is_json(damaged) or "\\u" in damaged, damaged


@pytest.mark.parametrize(
    "text", ["[a](b)", '["a"](b)', "{x}", '{"a": 1} and more', "[1] says", "{", "42", '"a"', "", "- a"]
)
def test_other_texts_are_not_json(text: str) -> None:
    assert begun_json(text) is None


@pytest.mark.parametrize("text", ["42", '"a"', "{", "[", "tru", " -"])
def test_any_beginning_is_json_if_json_was_asked_for(text: str) -> None:
    assert begun_json(text, is_certain=True) is not None


def test_the_end_of_long_json_is_shown_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "MAX_CHARS", 6)
    layout = JsonLayout()
    assert layout.feed("[1,") + layout.feed("2,3,4,") + layout.feed("5]") == "[\n  1,\n  2,\n  3,4,5]"
    assert [layout.source_position(position) for position in (0, 4, 9, 19)] == [0, 1, 3, 10]


def test_deep_levels_are_not_indented_further() -> None:
    assert len(JsonLayout().feed("[" * 30_000)) < 2_000_000
