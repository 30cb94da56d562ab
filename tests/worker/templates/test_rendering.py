"""The template's switch for reasoning."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from mlx_lm.utils import load_tokenizer

from tests.chat_families import FAMILIES, Family, family, write_family_model
from tests.driver import StdioWorker
from tests.models import write_tokenizer
from tests.trials import TRIALS
from worker.templates.rendering import Thinking, chat_renderer, plain_transcript, sources_of, thinking_of

SEES_A_QUESTION = "{% for m in messages %}{{ m.content }}{% endfor %}"


def switch_of(made: Family, folder: Path) -> Thinking | None:
    write_tokenizer(folder, made.tokenizer(), made.template)
    tokenizer = load_tokenizer(folder)
    return thinking_of(chat_renderer(tokenizer, TRIALS), sources_of(tokenizer))


@pytest.mark.parametrize("made", FAMILIES, ids=lambda made: made.name)
def test_only_families_whose_template_reads_the_switch_have_one(made: Family, tmp_path: Path):
    found = switch_of(made, tmp_path)
    assert found == (Thinking("enable_thinking", is_default=True) if made.name == "qwen3" else None)


@pytest.mark.parametrize(
    ("end", "switch"),
    [
        ("{% if thinking %}<think>{% else %}</think>{% endif %}", Thinking("thinking", is_default=False)),
        ("{% if not thinking is defined or thinking %}<think>{% endif %}", Thinking("thinking", is_default=True)),
        ("{% if enable_thinking and thinking %}both{% endif %}", None),
        ("{{ enable_thinking.no.such }}", None),
        ("{{ raise_exception('no') }}", None),
    ],
)
def test_a_switch_is_found_by_trying(end: str, switch: Thinking | None, tmp_path: Path):
    assert switch_of(Family("one", SEES_A_QUESTION + end), tmp_path) == switch


def test_a_model_without_a_template_has_no_switch():
    assert thinking_of(plain_transcript, []) is None


def test_a_loaded_model_reports_its_switch(tmp_path: Path, shared_worker: StdioWorker):
    expected: dict[str, dict[str, Any]] = {
        "qwen3": {"thinking": True, "thinking_option": "enable_thinking", "thinking_default": True},
        "chatml": {"thinking": False, "thinking_option": None, "thinking_default": False},
    }
    for name, fields in expected.items():
        folder, _ = write_family_model(tmp_path / name, family(name))
        loaded = shared_worker.load(folder, disk_limit_bytes=0)
        assert {field: loaded[field] for field in fields} == fields
    prompts = [{"messages": [{"role": "user", "content": "Hello"}]}]
    assert shared_worker.result("plan", prompts=prompts)["type"] == "planned"


_BLOCKS = """
  {% generation %}  answer{% endgeneration %}
{% set ns = namespace(self=1, found='é"<') %}{% set ns.found = ns.found ~ messages[0].content %}
{{- ns.found | tojson }}{{ [1, {'b': 2.5, 'a': none}] | tojson(indent=2, sort_keys=true) }}{{ dict(a=ns.self) }}
{% for i in range(9) %}{% if i == 3 %}{% continue %}{% elif i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}
{{ bos_token }}|{{ eos_token }}
{{ tools }}|{{ documents }}|{{ enable_thinking }}|{{ shout }}|{{ add_generation_prompt }}
{{ messages | map(attribute='role') | join(',') }} {{ 'x'.format_map }} {{ dict.fromkeys('ab') }}
"""


@pytest.mark.parametrize(
    "template",
    [
        *(made.template for made in FAMILIES),
        _BLOCKS,
        {"default": "{{ messages[0].content }}", "tool_use": "{{ tools | tojson }}"},
        "{% set n = namespace(_x=1) %}",
        "{{ raise_exception('no') }}",
        "{{ messages.append(1) }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ dict.__class__ }}{{ no.such.name }}",
        "{% if %}",
    ],
)
def test_a_template_writes_what_transformers_writes(template: str | dict[str, str], tmp_path: Path):
    write_tokenizer(tmp_path, FAMILIES[0].tokenizer(), cast("str", template))
    limited, plain = load_tokenizer(tmp_path), load_tokenizer(tmp_path)
    render = chat_renderer(limited, TRIALS)
    roles = ("user", "assistant", "user")
    messages = [{"role": role, "content": f" <b>ü {role}'s\n"} for role in roles]
    for options in ({}, {"shout": [1]}, {"tools": [{"type": "f"}], "documents": [{"text": "t"}]}, {"eos_token": "E"}):

        def written(apply: Callable[..., str], **fields: Any) -> str:
            try:
                return re.sub(" at 0x[0-9a-f]+", "", apply(messages, **fields))
            except Exception as error:  # noqa: BLE001 (the two must fail alike)
                return f"failed: {error}"

        expected = written(plain.apply_chat_template, tokenize=False, add_generation_prompt=True, **options)
        assert written(render, options=options) == expected
