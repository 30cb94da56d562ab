"""The template's switch for reasoning."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mlx_lm.utils import load_tokenizer

from tests.chat_families import FAMILIES, Family, family, write_family_model
from tests.driver import StdioWorker
from tests.models import write_tokenizer
from worker.templates.rendering import Thinking, chat_renderer, plain_transcript, thinking_of

SEES_A_QUESTION = "{% for m in messages %}{{ m.content }}{% endfor %}"


def switch_of(made: Family, folder: Path) -> Thinking | None:
    write_tokenizer(folder, made.tokenizer(), made.template)
    return thinking_of(chat_renderer(load_tokenizer(folder)))


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
    assert thinking_of(plain_transcript) is None


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
