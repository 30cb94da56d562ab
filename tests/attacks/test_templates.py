"""Chat templates that never end, take all memory, write far too much or crash: each is a sentence (7 s of CPU)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.attacks.victim import Attack, Victim, rows
from tests.driver import Event
from tests.models import CHATML

_HELLO = {"type": "generate", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
_LOOP = "{{% for i in range(99999) %}}{}{{% endfor %}}"
_ENDLESS = _LOOP.format(_LOOP.format(_LOOP.format("")))
_MACRO = "{% macro m(n) %}{{ m(n + 1) }}{{ m(n + 1) }}{% endmacro %}{{ m(0) }}"


def _set_template(folder: Path, template: str) -> None:
    path = folder / "tokenizer_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chat_template": template}))


def _with(template: str) -> Callable[[Path], None]:
    return lambda folder: _set_template(folder, template)


def _attack(name: str, template: str, words: str, *, ends: str = "model_invalid", is_long: bool = False) -> Attack:
    return Attack(name, _with(template), ends, words, _HELLO, is_long)


_MEMORY = "The model's chat template needs more than"
_LENGTH = "The model's chat template turns these messages into a prompt of more than"
_TIME = "The model's chat template did not finish within"
_FAILS = "The model's chat template"

ATTACKS = [
    _attack("product", "{{ 'x' * 10000000000 }}", _MEMORY),
    _attack("product of lists", "{{ ([0] * 3000000000) | length }}", _MEMORY),
    _attack("ljust", "{{ 'x'.ljust(10000000000) }}", _MEMORY),
    _attack("center", "{{ 'x' | center(10000000000) }}", _MEMORY),
    _attack("format", "{{ '%10000000000d' % 3 }}", _MEMORY),
    _attack("join", "{{ range(99999) | join('x' * 100000) }}", _MEMORY),
    _attack("grown text", "{% set n = namespace(t='x') %}" + _LOOP.format("{% set n.t = n.t ~ n.t %}"), _MEMORY),
    _attack("20 MB", "{{ 'x' * 20000000 }}", _LENGTH),
    _attack("8 MB in pieces", "{% for i in range(80000) %}{{ 'x' * 100 }}{% endfor %}", _LENGTH),
    _attack("recursion of a macro", _MACRO, _FAILS, ends="bad_request"),
    _attack("endless loops", _ENDLESS, _TIME, is_long=True),
    _attack("lipsum", "{{ lipsum(n=100000000) }}", _TIME, is_long=True),
    _attack("a long power", "{{ 10 ** 1000000000 }}", _TIME, is_long=True),
    _attack("deep brackets", "{{ " + "(" * 50_000 + "1" + ")" * 50_000 + " }}", _FAILS, ends="bad_request"),
    _attack("a giant number as text", "{{ 10 ** 5000 }}", _FAILS, ends="bad_request"),
]


@pytest.mark.parametrize("attack", rows(ATTACKS))
def test_a_template_exceeds_a_limit_and_the_worker_continues(attack: Attack, victim: Victim, folder: Path) -> None:
    victim.attack(folder, attack)


def _load(victim: Victim, folder: Path, template: str) -> None:
    _set_template(folder, template)
    assert victim.end_of("load_model", model=str(folder))["type"] == "model_loaded"


def _ends(victim: Victim, *request_ids: str) -> list[Event]:
    """Return the terminal events of these requests, in this order."""
    return [victim.events_until_end(request_id)[-1] for request_id in request_ids]


def test_a_request_in_an_endless_template_can_be_cancelled(victim: Victim, folder: Path) -> None:
    _load(victim, folder, _ENDLESS)
    request_id = victim.send("generate", messages=_HELLO["messages"])
    # This is answered while the template runs.
    assert victim.end_of("cancel", target="another")["type"] == "done"
    victim.send("cancel", target=request_id)
    (event,) = _ends(victim, request_id)
    # Had the template reached its time limit, the request would have failed.
    assert event["choices"][0]["reason"] == "cancelled"
    victim.check()


def test_another_model_can_be_loaded_while_a_question_waits_for_an_endless_template(
    victim: Victim, folder: Path
) -> None:
    _load(victim, folder, _ENDLESS)
    question = victim.send("plan", prompts=[{"messages": _HELLO["messages"]}])
    load = victim.send("load_model", model="guide")
    asked, loaded = _ends(victim, question, load)
    assert asked["kind"] == "superseded"
    assert loaded["type"] == "model_loaded"
    victim.check()


def test_a_load_that_probes_an_endless_template_can_be_replaced(victim: Victim, folder: Path) -> None:
    _set_template(folder, "{% if enable_thinking %}{% endif %}" + _ENDLESS)
    first = victim.send("load_model", model=str(folder))
    second = victim.send("load_model", model="guide")
    superseded, loaded = _ends(victim, first, second)
    assert superseded["kind"] == "superseded"
    assert loaded["type"] == "model_loaded"
    victim.check()


@pytest.mark.long
def test_an_endless_tokenizer_and_an_endless_template_share_the_time_limit_of_a_load(
    victim: Victim, folder: Path
) -> None:
    """The template is tried with two options for thinking. The tokenizer has an unusual part, so it is tried, too."""
    options = "{% if enable_thinking or thinking %}{% endif %}"
    split = {"type": "Split", "pattern": {"Regex": "[a-m]+|[n-z]+|."}, "behavior": "Isolated", "invert": False}
    file = folder / "tokenizer.json"
    described = json.loads(file.read_text())
    file.write_text(json.dumps(described | {"pre_tokenizer": split}))
    _set_template(folder, options + _ENDLESS)
    loaded = victim.end_of("load_model", model=str(folder))
    assert loaded["type"] == "model_loaded", loaded
    assert not loaded["thinking"]
    victim.check()


def test_a_worker_ends_at_once_in_an_endless_template(folder: Path) -> None:
    with Victim() as victim:
        _load(victim, folder, _ENDLESS)
        request_id = victim.send("generate", messages=_HELLO["messages"])
        ending = victim.send("shutdown")
        answered, ended = _ends(victim, request_id, ending)
        assert answered["choices"][0]["reason"] == "cancelled"
        assert ended["type"] == "done"


@pytest.mark.long
def test_10_000_messages_of_an_ordinary_template_pass(victim: Victim, folder: Path) -> None:
    _load(victim, folder, CHATML)
    messages = [{"role": ("user", "assistant")[index % 2], "content": "word " * 80} for index in range(10_001)]
    counted = victim.end_of("tokenize", messages=messages, counts_only=True)
    assert counted["type"] == "tokenized", counted
