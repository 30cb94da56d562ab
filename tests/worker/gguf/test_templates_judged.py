"""Chat templates of GGUF files render as llama-cpp-python renders them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from jinja2 import TemplateError
from mlx_lm.tokenizer_utils import load

from tests.worker.gguf.judge import Judge, vocabulary_file
from tests.worker.gguf.random_models import byte_tokenizer
from tests.worker.gguf.test_words import metadata
from worker.gguf.gguf_file import Metadata, read_files
from worker.gguf.words import word_files

USER = {"role": "user", "content": "Who was “Ada”?\n\n1 < 2 & <|im_end|>"}
ANSWER = {"role": "assistant", "content": " A *mathematician*.\n"}
CONVERSATIONS: Sequence[Sequence[Mapping[str, str]]] = (
    [USER],
    [USER, ANSWER, {"role": "user", "content": "When?"}],
    [{"role": "system", "content": "Answer briefly."}, USER],
    [{"role": "system", "content": "Answer briefly."}, USER, ANSWER, USER],
)


@pytest.mark.parametrize("name", ["qwen2", "phi-3", "command-r", "gemma-4"])
def test_templates_of_files(name: str, tmp_path: Path, judge: Judge) -> None:
    said = read_files(vocabulary_file(name)).metadata
    if name == "gemma-4":
        # Only its template is of use here.
        said = metadata({**byte_tokenizer(), "chat_template": said.text("tokenizer.chat_template")})
    compare(said, tmp_path, judge)


def test_templates_of_many_models(tmp_path: Path, judge: Judge) -> None:
    sources = sorted((vocabulary_file("gpt-2").parent / "templates").glob("*.jinja"))
    assert len(sources) > 20
    rendered = 0
    for number, source in enumerate(sources):
        folder = tmp_path / str(number)
        folder.mkdir()
        template = source.read_text(encoding="utf-8")
        rendered += compare(metadata({**byte_tokenizer(), "chat_template": template}), folder, judge)
    assert rendered > 3 * len(sources)


def compare(said: Metadata, folder: Path, judge: Judge) -> int:
    """Compare all conversations. Returns how many the template can render."""
    for name, text in word_files(said).items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "config.json").write_text('{"model_type": "llama"}')
    tokenizer: Any = load(folder, {"trust_remote_code": False, "local_files_only": True})
    template = said.text("tokenizer.chat_template")
    assert template is not None
    assert tokenizer._tokenizer.get_chat_template() == template
    num_rendered = 0
    for messages in CONVERSATIONS:
        expected = judge.render(template, messages, tokenizer.bos_token or "", tokenizer.eos_token or "")
        try:
            # mlx-lm's wrapper adds an option of its own, so ask the tokenizer in it.
            found = tokenizer._tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=True)
        except (TemplateError, TypeError, ValueError):
            found = None
        num_rendered += found is not None
        assert found == expected, messages
    return num_rendered
