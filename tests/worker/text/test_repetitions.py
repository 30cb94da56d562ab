"""How many characters the repetitions of an answer format ask for."""

from __future__ import annotations

import json

import pytest
from llguidance import LLMatcher

from worker.text.repetitions import longest_repetition


@pytest.mark.parametrize(
    ("lark", "longest"),
    [
        ('start: A\nA: B{10}\nB: C{10}\nC: "abc"', 300),
        ('start: A\nA: B{10,} | "y"\nB.2: C~3..5\nC: "\\"{9}\\"" // "x"{9}', 150),
        ('start: A\nA: B B B\nB: C C\nC: "x"', 6),
        ('start: A\nA: B{10}\nB: "abc"? | /d{3}/', 3),
        ('start: A\nA: B{10}\nB: C\n  | "abc"\nC: /[^{}]{4}|\\x{41}{5}/', 30),
        ('start: A{5}\nA: B{3}\nB: "a"{2}', 6),
        ("start: a{50}\na: b{50}\nb: a | A{50}\nA: /x/", 50),
        ('start: A\nA: B{10} | "x"\nB: A A', 20),
        ('start: A{0,7}\nA: [B]{9}\nB: "xyz"', 27),
        ('start: "given" rest\nrest: %lark {\nstart: A\nA: B{20}\nB: "xy"\n}\nmore: "x"{3}', 40),
        ('start: %json {"type": "string", "pattern": "^(a{7}){7}$"} b\nb[stop="x{99}"]: "{88}"', 49),
        ("start: <|x|> @other{3} /((?i)a|b(?P<n>c{5})){4}/", 24),
        ('%import common.INT\nstart: INT{1000}\n%ignore / {2}/\n', 1000),
        ('start: "unclosed', 0),
    ],
)  # fmt: skip
def test_repetitions_in_a_grammar_are_multiplied_through_names(lark: str, longest: int) -> None:
    assert longest_repetition(lark) == longest


def test_repetitions_in_schemas_and_expressions_are_found() -> None:
    schema = {"properties": {"a": {"pattern": "(a{9}){9}", "minLength": 10**9}}, "patternProperties": {"x{60}": {}}}
    assert longest_repetition(LLMatcher.grammar_from_json_schema(schema)) == 81
    assert longest_repetition(json.dumps({"anyOf": [{"const": ["x" * 100]}, {"enum": [1, "x" * 50]}]})) == 104
    assert longest_repetition(LLMatcher.grammar_from_regex("/(a{3}){4}/")) == 12


def test_long_chains_and_deep_brackets_are_measured() -> None:
    chain = "".join(f"T{number}: T{number + 1}\n" for number in range(5000)) + 'T5000: "abc"'
    assert longest_repetition(f"start: T0\n{chain}") == 3
    assert longest_repetition("start: /" + "(" * 5000 + "a" + "){1}" * 5000 + "/") == 1
