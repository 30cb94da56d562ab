"""Answer formats that crash the library, or keep it busy for long: each is a sentence (3 s of CPU)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.attacks.victim import Victim


def _chain(length: int) -> str:
    rules = "".join(f"r{number}: r{number + 1}\n" for number in range(length))
    return f'start: r0\n{rules}r{length}: "x"\n'


BAD = [
    pytest.param({"kind": "lark", "value": _chain(3000)}, "nested too deeply", id="3,000 chained rules"),
    pytest.param({"kind": "lark", "value": "start: " + "(" * 3000 + '"x"' + ")" * 3000}, "nested", id="brackets"),
    pytest.param({"kind": "regex", "value": "x" * 5_000_000}, "at most 4,000,000", id="a regex of 5 MB"),
    pytest.param({"kind": "choice", "value": ["x" * 100] * 50_000}, "at most 4,000,000", id="a choice of 5 MB"),
]


@pytest.mark.parametrize(("constraint", "words"), BAD)
def test_a_bad_format_is_a_sentence_and_the_worker_goes_on(
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


@pytest.mark.long
def test_a_format_whose_first_token_takes_seconds_is_refused(victim: Victim) -> None:
    victim.check()
    validated = victim.end_of("validate", constraint={"kind": "regex", "value": "(a{2000}){2000}"})
    assert not validated["ok"], validated
    victim.check()
