"""Chat templates of well-known families, written from their published formats, with tokenizers that fit them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mlx_lm.utils import load_tokenizer
from tokenizers import AddedToken, Tokenizer

from tests.models import CHATML, byte_level_tokenizer, sentencepiece_tokenizer, write_tokenizer
from worker.chat_template import ChatTemplate
from worker.language_model import chat_renderer
from worker.vocabulary import Vocabulary

QWEN_THINKING = """\
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == "assistant" and "</think>" in content %}
        {%- set content = content.split("</think>")[-1].lstrip("\\n") %}
    {%- endif %}
    {{- "<|im_start|>" + message.role + "\\n" + content + "<|im_end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|im_start|>assistant\\n" }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- "<think>\\n\\n</think>\\n\\n" }}
    {%- endif %}
{%- endif %}"""

LLAMA3 = """\
{{- "<|begin_of_text|>" }}
{%- for message in messages %}
    {{- "<|start_header_id|>" + message.role + "<|end_header_id|>\\n\\n" + message.content | trim + "<|eot_id|>" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|start_header_id|>assistant<|end_header_id|>\\n\\n" }}
{%- endif %}"""

GEMMA = """\
{{- "<bos>" }}
{%- if messages[0].role == "system" %}
    {{- raise_exception("System role not supported") }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") != (loop.index0 % 2 == 0) %}
        {{- raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif %}
    {%- set role = "model" if message.role == "assistant" else message.role %}
    {{- "<start_of_turn>" + role + "\\n" + message.content | trim + "<end_of_turn>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<start_of_turn>model\\n" }}
{%- endif %}"""

MISTRAL = """\
{{- "<s>" }}
{%- for message in messages %}
    {%- if message.role == "user" %}
        {{- "[INST] " + message.content + " [/INST]" }}
    {%- elif message.role == "assistant" %}
        {{- " " + message.content + "</s>" }}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported!") }}
    {%- endif %}
{%- endfor %}"""

PHI3 = """\
{%- for message in messages %}
    {{- "<|" + message.role + "|>\\n" + message.content + "<|end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|assistant|>\\n" }}
{%- endif %}"""

VICUNA = """\
{%- for message in messages %}
    {%- if message.role == "user" %}
        {{- "USER: " + message.content + " " }}
    {%- elif message.role == "assistant" %}
        {{- "ASSISTANT: " + message.content + "</s>" }}
    {%- else %}
        {{- message.content + " " }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "ASSISTANT:" }}
{%- endif %}"""


@dataclass(frozen=True)
class Family:
    """A template and the control tokens that its tokenizer has."""

    name: str
    template: str | None
    special: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    """Control tokens that are not marked as special."""
    is_sentencepiece: bool = False
    swallows_space: bool = False
    """Whether its control tokens take the white space behind them with them."""
    trims: bool = False
    knows_system: bool = True

    def tokenizer(self) -> Tokenizer:
        tokenizer = sentencepiece_tokenizer() if self.is_sentencepiece else byte_level_tokenizer()
        tokenizer.add_special_tokens(
            [AddedToken(text, special=True, rstrip=self.swallows_space, normalized=False) for text in self.special]
        )
        tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in self.plain])
        return tokenizer


FAMILIES = [
    Family("chatml", CHATML),
    Family("qwen-thinking", QWEN_THINKING, plain=("<think>", "</think>", "<tool_call>")),
    Family(
        "llama3",
        LLAMA3,
        special=("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        trims=True,
    ),
    Family(
        "gemma",
        GEMMA,
        special=("<bos>", "<eos>"),
        plain=("<start_of_turn>", "<end_of_turn>"),
        trims=True,
        knows_system=False,
    ),
    Family("mistral", MISTRAL, special=("<s>", "</s>", "[INST]", "[/INST]"), is_sentencepiece=True, knows_system=False),
    Family("mistral-old", MISTRAL, special=("<s>", "</s>"), is_sentencepiece=True, knows_system=False),
    Family(
        "phi3", PHI3, special=("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"), swallows_space=True
    ),
    Family("vicuna", VICUNA, special=("<s>", "</s>"), is_sentencepiece=True),
]


def chat_template_of(family: Family, folder: Path) -> tuple[ChatTemplate, Vocabulary]:
    """Load the family's tokenizer as a model's folder gives it."""
    write_tokenizer(folder, family.tokenizer(), family.template)
    wrapper = load_tokenizer(folder)
    vocabulary = Vocabulary(wrapper.backend_tokenizer, wrapper.eos_token_ids)
    return ChatTemplate(chat_renderer(wrapper), wrapper.backend_tokenizer, vocabulary), vocabulary
