"""Answer formats that crash the library, or keep it busy for long: each is a sentence (6 s of CPU)."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

from tests.attacks.victim import Victim
from tests.driver import shown_text


def _chain(length: int) -> str:
    rules = "".join(f"r{number}: r{number + 1}\n" for number in range(length))
    return f'start: r0\n{rules}r{length}: "x"\n'


def _ambiguous(number: int) -> str:
    """Return rules that read "[xy]{3}x*", each "x" in as many ways as there are rules."""
    rules = "".join(f'r{rule}: "x" | "x" r{rule * 7 % number}\n' for rule in range(number))
    return f"start: /[xy]{{3}}/ a*\na: {' | '.join(f'r{rule}' for rule in range(number))}\n{rules}"


def _named(*names: str) -> str:
    """Return a grammar whose first name repeats the second a thousand times, which repeats the third, and so on."""
    rules = (f"{name}: {inner}{{1000}}\n" for name, inner in itertools.pairwise(names))
    return f'start: {names[0]}\n{"".join(rules)}{names[-1]}: "x"\n'


def _doubled(times: int) -> str:
    return "start: T0\n" + "".join(f"T{n}: T{n + 1} T{n + 1}\n" for n in range(times)) + f'T{times}: "x"\n'


BAD = [
    pytest.param({"kind": "lark", "value": _chain(3000)}, "nested too deeply", id="3,000 chained rules"),
    pytest.param({"kind": "lark", "value": "start: " + "(" * 3000 + '"x"' + ")" * 3000}, "nested", id="brackets"),
    pytest.param({"kind": "regex", "value": "x" * 5_000_000}, "at most 200,000", id="a regex of 5 MB"),
    pytest.param({"kind": "choice", "value": ["x" * 100] * 50_000}, "at most 4,000,000", id="a choice of 5 MB"),
    pytest.param({"kind": "regex", "value": "(a{1000}){1000}"}, "1,000,000 characters in a row", id="repetitions"),
    pytest.param({"kind": "regex", "value": "c|b(a{10000}){10000}"}, "in a row", id="repetitions after a choice"),
    pytest.param({"kind": "lark", "value": 'start: A\nA: "b" (/a{1000}/){1000}'}, "in a row", id="repeated terminals"),
    pytest.param({"kind": "lark", "value": _named("A", "B", "C", "D")}, "1,000,000,000 characters", id="named"),
    pytest.param({"kind": "lark", "value": _doubled(22)}, "4,194,304 characters", id="doubled terminals"),
    pytest.param({"kind": "json_schema", "value": {"const": "x" * 1_000_000}}, "1,000,002 characters", id="a constant"),
    pytest.param({"kind": "json_schema", "value": {"pattern": "^((a{99}){99}){99}$"}}, "in a row", id="in a schema"),
    pytest.param({"kind": "choice", "value": ["x", "y" * 1_000_000]}, "in a row", id="a choice of one long text"),
]


@pytest.mark.parametrize(("constraint", "words"), BAD)
def test_an_invalid_format_is_reported_and_the_worker_continues(
    constraint: dict[str, Any], words: str, victim: Victim
) -> None:
    victim.check()
    for _ in range(2):
        validated = victim.end_of("validate", constraint=constraint)
        assert not validated["ok"]
        assert words in validated["message"], validated
    failed = victim.end_of("generate", text="Hello", constraint=constraint)
    assert failed["kind"] == "constraint_invalid"
    assert words in failed["message"]
    victim.check()


def test_a_choice_of_40_000_texts_is_read(victim: Victim) -> None:
    victim.check()
    constraint = {"kind": "choice", "value": [f"{number * 7919 % 1_000_003} texts" for number in range(40_000)]}
    assert victim.end_of("validate", constraint=constraint)["ok"]
    finished = victim.end_of("generate", text="Hello", constraint=constraint, max_tokens=30)
    assert finished["choices"][0]["text"] in constraint["value"], finished


@pytest.mark.parametrize(
    ("constraint", "begins"),
    [
        ({"kind": "regex", "value": "[xy]{3}(a?){2000}a{2000}"}, r"[xy]{1,3}"),
        (
            {"kind": "lark", "value": _ambiguous(3000)},
            r"[xy]{3}x*",
        ),
    ],
    ids=["states", "ambiguous"],
)
def test_a_format_that_grows_while_it_is_followed_ends_the_answer_and_keeps_its_text(
    constraint: dict[str, Any], begins: str, victim: Victim
) -> None:
    victim.check()
    events = victim.ask("generate", text="Hello", constraint=constraint, max_tokens=50)
    assert (events[-1]["type"], events[-1]["kind"]) == ("failed", "constraint_invalid"), events[-1]
    assert "The text so far is kept" in events[-1]["message"]
    assert re.fullmatch(begins, shown_text(events, 0)), events
    victim.check()
