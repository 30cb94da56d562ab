"""Chat templates of well-known families, written from their published formats, with tokenizers that fit them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import mlx.core as mx
from mlx_lm.utils import load_tokenizer
from tokenizers import AddedToken, Tokenizer

from tests.architectures import small_llama, write_random_model
from tests.models import CHATML, byte_level_tokenizer, sentencepiece_tokenizer, write_tokenizer
from tests.trials import TRIALS
from worker.templates.chat_template import ChatTemplate
from worker.templates.rendering import chat_renderer, time_texts_of
from worker.text.vocabulary import Vocabulary

# Reasoning is kept in the turns after the last question (between calls of tools) and dropped from those before it.
QWEN3 = """\
{%- set ns = namespace(last_question=-1) %}
{%- for message in messages %}
    {%- if message.role == "user" and not message.content.startswith("<tool_response>") %}
        {%- set ns.last_question = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- if ns.last_question < 0 %}
    {%- set ns.last_question = messages | length - 1 %}
{%- endif %}
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == "assistant" %}
        {%- set reasoning = "" %}
        {%- if "</think>" in content %}
            {%- set reasoning = content.split("</think>")[0].rstrip("\\n").split("<think>")[-1].lstrip("\\n") %}
            {%- set content = content.split("</think>")[-1].lstrip("\\n") %}
        {%- endif %}
        {{- "<|im_start|>assistant\\n" }}
        {%- if loop.index0 > ns.last_question and (loop.last or reasoning) %}
            {{- "<think>\\n" + reasoning.strip("\\n") + "\\n</think>\\n\\n" }}
        {%- endif %}
        {{- content + "<|im_end|>\\n" }}
    {%- elif message.role == "tool" %}
        {%- if loop.first or messages[loop.index0 - 1].role != "tool" %}
            {{- "<|im_start|>user" }}
        {%- endif %}
        {{- "\\n<tool_response>\\n" + content + "\\n</tool_response>" }}
        {%- if loop.last or messages[loop.index0 + 1].role != "tool" %}
            {{- "<|im_end|>\\n" }}
        {%- endif %}
    {%- else %}
        {{- "<|im_start|>" + message.role + "\\n" + content + "<|im_end|>\\n" }}
    {%- endif %}
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

# There is always a system message, which contains today's date.
LLAMA32 = """\
{{- "<|begin_of_text|>" }}
{%- if not date_string is defined %}
    {%- if strftime_now is defined %}
        {%- set date_string = strftime_now("%d %b %Y") %}
    {%- else %}
        {%- set date_string = "26 Jul 2024" %}
    {%- endif %}
{%- endif %}
{%- set system = "" %}
{%- if messages[0].role == "system" %}
    {%- set system = messages[0].content | trim %}
    {%- set messages = messages[1:] %}
{%- endif %}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\nCutting Knowledge Date: December 2023\\n" }}
{{- "Today Date: " + date_string + "\\n\\n" + system + "<|eot_id|>" }}
{%- for message in messages %}
    {%- set role = "ipython" if message.role == "tool" else message.role %}
    {{- "<|start_header_id|>" + role + "<|end_header_id|>\\n\\n" + message.content | trim + "<|eot_id|>" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|start_header_id|>assistant<|end_header_id|>\\n\\n" }}
{%- endif %}"""

# Roles must alternate, the model's role is `model`, and there is no system role (Gemma 2).
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

# The system message is put before the first question (Gemma 3).
GEMMA3 = """\
{{- "<bos>" }}
{%- set first = "" %}
{%- if messages[0].role == "system" %}
    {%- set first = messages[0].content + "\\n\\n" %}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") != (loop.index0 % 2 == 0) %}
        {{- raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif %}
    {%- set role = "model" if message.role == "assistant" else message.role %}
    {{- "<start_of_turn>" + role + "\\n" + (first if loop.first else "") }}
    {{- message.content | trim + "<end_of_turn>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<start_of_turn>model\\n" }}
{%- endif %}"""

# The system message is put inside the first question (Mistral 7B 0.1 and 0.2).
MISTRAL = """\
{{- "<s>" }}
{%- set first = "" %}
{%- if messages[0].role == "system" %}
    {%- set first = messages[0].content + "\\n\\n" %}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") != (loop.index0 % 2 == 0) %}
        {{- raise_exception("After the optional system message, roles must alternate user/assistant.") }}
    {%- endif %}
    {%- if message.role == "user" %}
        {{- "[INST] " + (first if loop.first else "") + message.content + " [/INST]" }}
    {%- else %}
        {{- " " + message.content + "</s>" }}
    {%- endif %}
{%- endfor %}"""

# The system message is put inside the last question, so it moves with each one (Mistral 7B 0.3, Nemo).
MISTRAL3 = """\
{{- "<s>" }}
{%- set system = "" %}
{%- if messages[0].role == "system" %}
    {%- set system = messages[0].content + "\\n\\n" %}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") != (loop.index0 % 2 == 0) %}
        {{- raise_exception("After the optional system message, roles must alternate user/assistant.") }}
    {%- endif %}
    {%- if message.role == "user" %}
        {{- "[INST] " + (system if loop.last else "") + message.content + "[/INST]" }}
    {%- else %}
        {{- " " + message.content | trim + "</s>" }}
    {%- endif %}
{%- endfor %}"""

# The system message has tokens of its own (Mistral Small 3).
MISTRAL7 = """\
{{- "<s>" }}
{%- for message in messages %}
    {%- if message.role == "system" %}
        {{- "[SYSTEM_PROMPT]" + message.content + "[/SYSTEM_PROMPT]" }}
    {%- elif message.role == "user" %}
        {{- "[INST]" + message.content + "[/INST]" }}
    {%- elif message.role == "assistant" %}
        {{- message.content + "</s>" }}
    {%- else %}
        {{- raise_exception("Only user, system and assistant roles are supported!") }}
    {%- endif %}
{%- endfor %}"""

PHI3 = """\
{%- for message in messages %}
    {{- "<|" + message.role + "|>\\n" + message.content + "<|end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|assistant|>\\n" }}
{%- endif %}"""

PHI4 = """\
{%- for message in messages %}
    {{- "<|im_start|>" + message.role + "<|im_sep|>" + message.content + "<|im_end|>" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|im_start|>assistant<|im_sep|>" }}
{%- endif %}"""

# System messages come first; the model begins after an open block of reasoning, which is dropped later.
DEEPSEEK_R1 = """\
{%- set ns = namespace(system="") %}
{%- for message in messages if message.role == "system" %}
    {%- set ns.system = ns.system + ("\\n\\n" if ns.system else "") + message.content %}
{%- endfor %}
{{- "<｜begin▁of▁sentence｜>" + ns.system }}
{%- for message in messages %}
    {%- if message.role == "user" %}
        {{- "<｜User｜>" + message.content }}
    {%- elif message.role == "assistant" %}
        {%- set content = message.content %}
        {%- if "</think>" in content %}
            {%- set content = content.split("</think>")[-1] %}
        {%- endif %}
        {{- "<｜Assistant｜>" + content + "<｜end▁of▁sentence｜>" }}
    {%- elif message.role == "tool" %}
        {{- "<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>" + message.content }}
        {{- "<｜tool▁output▁end｜><｜tool▁outputs▁end｜>" }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<｜Assistant｜><think>\\n" }}
{%- endif %}"""

# Messages in channels. Only the final channel of an answer is rendered again, and it must come without markup.
GPT_OSS = """\
{{- "<|start|>system<|message|>You are ChatGPT, a large language model trained by OpenAI.\\n" }}
{{- "Knowledge cutoff: 2024-06\\nCurrent date: " + strftime_now("%Y-%m-%d") + "\\n\\n" }}
{{- "Reasoning: " + reasoning_effort | default("medium") + "\\n\\n" }}
{{- "# Valid channels: analysis, commentary, final. Channel must be included for every message.<|end|>" }}
{%- if messages[0].role == "system" %}
    {{- "<|start|>developer<|message|># Instructions\\n\\n" + messages[0].content + "\\n\\n<|end|>" }}
    {%- set messages = messages[1:] %}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == "assistant" %}
        {%- set tags = ["<|channel|>analysis<|message|>", "<|channel|>final<|message|>"] %}
        {%- if tags[0] in message.content or tags[1] in message.content %}
            {{- raise_exception("The content holds <|channel|> tags. Pass the text of the final channel only.") }}
        {%- endif %}
        {{- "<|start|>assistant<|channel|>final<|message|>" + message.content + "<|end|>" }}
    {%- elif message.role == "user" %}
        {{- "<|start|>user<|message|>" + message.content + "<|end|>" }}
    {%- else %}
        {{- raise_exception("Message has tool role, but there was no previous message with a tool call!") }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|start|>assistant" }}
{%- endif %}"""

# As ChatML; the latest answer keeps its reasoning, earlier ones lose theirs (LFM2.5).
LFM2 = """\
{{- "<|startoftext|>" }}
{%- set ns = namespace(last_answer=-1) %}
{%- for message in messages %}
    {%- if message.role == "assistant" %}
        {%- set ns.last_answer = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content %}
    {%- if message.role == "assistant" and not keep_past_thinking and loop.index0 != ns.last_answer %}
        {%- if "</think>" in content %}
            {%- set content = content.split("</think>")[-1] | trim %}
        {%- endif %}
    {%- endif %}
    {{- "<|im_start|>" + message.role + "\\n" + content + "<|im_end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|im_start|>assistant\\n" }}
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
    """A template and the control tokens of its tokenizer."""

    name: str
    template: str | None
    special: tuple[str, ...] = ()
    plain: tuple[str, ...] = ()
    """Control tokens that are not marked as special."""
    is_sentencepiece: bool = False
    swallows_space: bool = False
    """Whether its control tokens swallow the white space after them."""
    trims: bool = False
    spaces_answers: bool = False
    """Whether the template writes a space before each answer, but not at the end of a prompt."""
    folds_system: bool = False
    """Whether a system message becomes the beginning of the first question."""
    moves_system: bool = False
    """Whether a system message becomes the beginning of the last question."""
    knows_tools: bool = True
    reasoning: str = ""
    """The beginning of an answer before its text, which the template drops later."""
    opens_reasoning: bool = False
    """Whether a prompt ends with the opening mark of reasoning, which is not rendered in later prompts."""

    def tokenizer(self) -> Tokenizer:
        return self.added_to(sentencepiece_tokenizer() if self.is_sentencepiece else byte_level_tokenizer())

    def added_to(self, tokenizer: Tokenizer) -> Tokenizer:
        """Add the family's control tokens to a tokenizer."""
        tokenizer.add_special_tokens(
            [AddedToken(text, special=True, rstrip=self.swallows_space, normalized=False) for text in self.special]
        )
        tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in self.plain])
        return tokenizer


_THINK = "<think>\nHm, let me see.\n</think>\n\n"
_LLAMA_TOKENS = ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>")
_GEMMA_TOKENS = ("<start_of_turn>", "<end_of_turn>")
_INST_TOKENS = ("<s>", "</s>", "[INST]", "[/INST]")

FAMILIES = [
    Family("chatml", CHATML),
    Family(
        "qwen3",
        QWEN3,
        plain=("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>"),
        reasoning=_THINK,
    ),
    Family("llama3", LLAMA3, special=_LLAMA_TOKENS, trims=True),
    Family("llama3.2", LLAMA32, special=_LLAMA_TOKENS, trims=True),
    Family("gemma2", GEMMA, ("<bos>", "<eos>"), _GEMMA_TOKENS, trims=True, folds_system=True, knows_tools=False),
    Family("gemma3", GEMMA3, ("<bos>", "<eos>"), _GEMMA_TOKENS, trims=True, folds_system=True, knows_tools=False),
    Family(
        "mistral",
        MISTRAL,
        special=_INST_TOKENS,
        is_sentencepiece=True,
        spaces_answers=True,
        folds_system=True,
        knows_tools=False,
    ),
    Family(
        "mistral-old",
        MISTRAL,
        special=("<s>", "</s>"),
        is_sentencepiece=True,
        spaces_answers=True,
        folds_system=True,
        knows_tools=False,
    ),
    Family(
        "mistral-0.3",
        MISTRAL3,
        special=_INST_TOKENS,
        is_sentencepiece=True,
        spaces_answers=True,
        trims=True,
        moves_system=True,
        knows_tools=False,
    ),
    Family(
        "mistral-small", MISTRAL7, special=(*_INST_TOKENS, "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"), knows_tools=False
    ),
    Family(
        "phi3", PHI3, special=("<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>"), swallows_space=True
    ),
    Family("phi4", PHI4, special=("<|im_sep|>",)),
    Family(
        "deepseek-r1",
        DEEPSEEK_R1,
        special=("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
        plain=(
            "<｜User｜>",
            "<｜Assistant｜>",
            "<think>",
            "</think>",
            "<｜tool▁outputs▁begin｜>",
            "<｜tool▁outputs▁end｜>",
            "<｜tool▁output▁begin｜>",
            "<｜tool▁output▁end｜>",
        ),
        reasoning="Hm, let me see.\n</think>\n\n",
        opens_reasoning=True,
    ),
    Family(
        "gpt-oss",
        GPT_OSS,
        special=("<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|constrain|>", "<|return|>", "<|call|>"),
        knows_tools=False,
        reasoning="<|channel|>analysis<|message|>Hm, let me see.<|end|><|start|>assistant<|channel|>final<|message|>",
    ),
    Family(
        "lfm2",
        LFM2,
        special=("<|startoftext|>", "<|tool_list_start|>", "<|tool_list_end|>"),
        plain=("<think>", "</think>"),
        reasoning=_THINK,
    ),
    Family("vicuna", VICUNA, special=("<s>", "</s>"), is_sentencepiece=True, spaces_answers=True),
]


def family(name: str) -> Family:
    """Return the family of this name."""
    return next(found for found in FAMILIES if found.name == name)


def chat_template_of(family: Family, folder: Path) -> tuple[ChatTemplate, Vocabulary]:
    """Load the family's tokenizer from a model folder."""
    write_tokenizer(folder, family.tokenizer(), family.template)
    wrapper = load_tokenizer(folder)
    vocabulary = Vocabulary(wrapper.backend_tokenizer, wrapper.eos_token_ids)
    moment = time_texts_of(wrapper)
    return ChatTemplate(chat_renderer(wrapper, TRIALS), wrapper.backend_tokenizer, vocabulary, moment), vocabulary


def write_family_model(folder: Path, family: Family, *, context_length: int = 4096) -> tuple[Path, Vocabulary]:
    """Write a small random llama with the family's format, whose answers never end by themselves.

    It writes plain ASCII alone: no control tokens, no parts of characters.
    """
    tokenizer = family.tokenizer()
    vocabulary = Vocabulary(tokenizer)
    config = small_llama(len(vocabulary)) | {"tie_word_embeddings": False, "max_position_embeddings": context_length}
    write_random_model(folder, tokenizer, config, chat_template=family.template)
    unsaid = [
        token_id
        for token_id, data in enumerate(vocabulary.bytes)
        if token_id in vocabulary.control_ids or not data.isascii() or not data
    ]
    weights = cast("dict[str, mx.array]", mx.load(str(folder / "model.safetensors")))
    # Another token's logit is always above zero.
    weights["lm_head.weight"][mx.array(unsaid)] = 0
    mx.save_safetensors(str(folder / "model.safetensors"), weights, metadata={"format": "mlx"})
    return folder, vocabulary
