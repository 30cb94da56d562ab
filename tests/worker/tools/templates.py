"""Chat templates that write calls as their families do, in one frame, and tokenizers with the families' control tokens.

How each writes a call is taken from the real templates in llama.cpp's models/templates: Qwen-Qwen3-0.6B,
Mistral-Small-3.2-24B-Instruct-2506, mistralai-Mistral-Nemo-Instruct-2407, meta-llama-Llama-3.2-3B-Instruct,
moonshotai-Kimi-K2, GLM-4.6, Qwen3-Coder, MiniMax-M2, muse-glimmer, openbmb-MiniCPM5-1B, Kimi-K3, google-gemma-4-31B-it,
LFM2.5-8B-A1B, deepseek-ai-DeepSeek-V3.1, Apriel-1.6-15b-Thinker, NVIDIA-Nemotron-Nano-v2, MiniMax-M1; FunctionGemma's
and LongCat's follow mlx-lm's tool parsers.
"""

from __future__ import annotations

from functools import lru_cache

from tokenizers import AddedToken, Tokenizer

from tests.models import byte_level_tokenizer
from worker.tools.forms import form_named

_FRAME = """\
{%- macro raw(value) %}{{ value if value is string else value | tojson }}{% endmacro -%}
{%- macro braced(value, quote) -%}
    {%- if value is string %}{{ quote + value + quote }}
    {%- elif value is mapping %}{{ "{" }}
        {%- for key, item in value.items() %}{{ key }}:{{ braced(item, quote) }}{{ "," if not loop.last }}{% endfor -%}
    {{ "}" }}
    {%- elif value is iterable -%}
        [{% for item in value %}{{ braced(item, quote) }}{{ "," if not loop.last }}{% endfor %}]
    {%- else %}{{ value | tojson }}{% endif -%}
{%- endmacro -%}
{%- if tools %}{{ "<|im_start|>system\\n" + (tools | tojson) + "<|im_end|>\\n" }}{% endif -%}
{%- for message in messages -%}
    {{- "<|im_start|>" + message.role + "\\n" -}}
    {%- if message.reasoning_content and not loop.last %}
        {{- "<think>\\n" + message.reasoning_content + "\\n</think>\\n\\n" -}}
    {%- endif -%}
    {{- message.content -}}
    {%- if message.tool_calls -%}CALLS{%- endif -%}
    {{- "<|im_end|>\\n" -}}
{%- endfor -%}
{%- if add_generation_prompt %}{{ "<|im_start|>assistant\\n" }}{% endif -%}"""

_EACH = "{%- for call in message.tool_calls -%}{%- set f = call.function -%}"
_END = "{%- endfor -%}"


def _pairs(prefix: str) -> str:
    tag = prefix + "tool_call"
    return (
        f'{_EACH}{{{{- "<{tag}>" + f.name + "\\n" -}}}}'
        "{%- for key, value in f.arguments.items() -%}"
        f'{{{{- "<{prefix}arg_key>" + key + "</{prefix}arg_key>\\n<{prefix}arg_value>" + raw(value) '
        f'+ "</{prefix}arg_value>\\n" -}}}}{{%- endfor -%}}{{{{- "</{tag}>" -}}}}'
        '{{- "\\n" if not loop.last -}}' + _END
    )


def _parameters(before: str, middle: str, after: str) -> str:
    written = f"'{before}' + key + '{middle}' + raw(value) + '{after}'"
    return "{%- for key, value in f.arguments.items() -%}{{- " + written + " -}}" + _END


def _listed(begin: str, end: str) -> str:
    call = "({'name': f.name, 'arguments': f.arguments} | tojson)"
    return (
        f"{{{{- '{begin}[' -}}}}{_EACH}{{{{- {call} + (', ' if not loop.last else '') -}}}}{_END}{{{{- ']{end}' -}}}}"
    )


_CALLS = {
    "json_tools": _EACH
    + '{{- "<tool_call>\\n" + ({"name": f.name, "arguments": f.arguments} | tojson) + "\\n</tool_call>" -}}'
    + '{{- "\\n" if not loop.last -}}'
    + _END,
    "mistral": _EACH + '{{- "[TOOL_CALLS]" + f.name + "[ARGS]" + f.arguments | tojson -}}' + _END,
    "mistral_list": '{{- "[TOOL_CALLS][" -}}'
    + _EACH
    + "{%- if call.id | length != 9 %}{{ raise_exception('An id must have 9 characters.') }}{% endif -%}"
    + '{{- (f | tojson)[:-1] + ", \\"id\\": \\"" + call.id + "\\"}" + (", " if not loop.last else "]") -}}'
    + _END,
    "llama3": "{%- set f = message.tool_calls[0].function -%}"
    '{{- "{\\"name\\": \\"" + f.name + "\\", \\"parameters\\": " + f.arguments | tojson + "}" -}}',
    "kimi_k2": '{{- "<|tool_calls_section_begin|>" -}}'
    + _EACH
    + '{{- "<|tool_call_begin|>functions." + f.name + ":" ~ loop.index0 ~ "<|tool_call_argument_begin|>" -}}'
    + '{{- f.arguments | tojson + "<|tool_call_end|>" -}}'
    + _END
    + '{{- "<|tool_calls_section_end|>" -}}',
    "deepseek": '{{- "<｜tool▁calls▁begin｜>" -}}'
    + _EACH
    + '{{- "<｜tool▁call▁begin｜>" + f.name + "<｜tool▁sep｜>" + f.arguments | tojson + "<｜tool▁call▁end｜>" -}}'
    + _END
    + '{{- "<｜tool▁calls▁end｜>" -}}',
    "glm47": _pairs(""),
    "longcat": _pairs("longcat_"),
    "qwen3_coder": _EACH
    + "{{- '<tool_call>\\n<function=' + f.name + '>\\n' -}}"
    + _parameters("<parameter=", ">\\n", "\\n</parameter>\\n")
    + "{{- '</function>\\n</tool_call>' -}}"
    + '{{- "\\n" if not loop.last -}}'
    + _END,
    "minimax_m2": "{{- '<minimax:tool_call>\\n' -}}"
    + _EACH
    + "{{- '<invoke name=\"' + f.name + '\">\\n' -}}"
    + _parameters('<parameter name="', '">', "</parameter>\\n")
    + "{{- '</invoke>\\n' -}}"
    + _END
    + "{{- '</minimax:tool_call>' -}}",
    "muse_spark": _EACH
    + "{{- '<atem:function_calls>\\n<atem:invoke name=\"' + f.name + '\">\\n' -}}"
    + _parameters('<atem:parameter name="', '">', "</atem:parameter>\\n")
    + "{{- '</atem:invoke>\\n</atem:function_calls>' -}}"
    + '{{- "\\n" if not loop.last -}}'
    + _END,
    "minicpm5": _EACH
    + "{{- '<function name=\"' + f.name + '\">' -}}"
    + _parameters('<param name="', '">', "</param>")
    + "{{- '</function>' -}}"
    + '{{- "\\n" if not loop.last -}}'
    + _END,
    "kimi_k3": "{{- '<|open|>tools<|sep|>' -}}"
    + _EACH
    + "{{- '<|open|>call tool=\"' + f.name + '\" index=\"' ~ loop.index ~ '\"<|sep|>' -}}"
    + "{%- for key, value in f.arguments.items() -%}"
    + "{%- set type = 'string' if value is string else 'boolean' if value is boolean else 'null' if value is none else "
    + "'number' if value is number else 'object' if value is mapping else 'array' -%}"
    + "{{- '<|open|>argument key=\"' + key + '\" type=\"' + type + '\"<|sep|>' + raw(value) -}}"
    + "{{- '<|close|>argument<|sep|>' -}}"
    + _END
    + "{{- '<|close|>call<|sep|>' -}}"
    + _END
    + "{{- '<|close|>tools<|sep|>' -}}",
    "gemma4": _EACH + "{{- '<|tool_call>call:' + f.name + braced(f.arguments, '<|\"|>') + '<tool_call|>' -}}" + _END,
    "function_gemma": _EACH
    + "{{- '<start_function_call>call:' + f.name + braced(f.arguments, '<escape>') + '<end_function_call>' -}}"
    + _END,
    "pythonic": "{{- '<|tool_call_start|>[' -}}"
    + _EACH
    + "{{- f.name + '(' -}}{%- for key, value in f.arguments.items() -%}"
    + "{{- key + '=' + value | tojson + (', ' if not loop.last else '') -}}"
    + _END
    + "{{- ')' + (', ' if not loop.last else '') -}}"
    + _END
    + "{{- ']<|tool_call_end|>' -}}",
    "apriel": _listed("<tool_calls>", "</tool_calls>"),
    "nemotron": _listed("<TOOLCALL>", "</TOOLCALL>"),
    "minimax_m1": "{{- '<tool_calls>\\n' -}}"
    + _EACH
    + "{{- ({'name': f.name, 'arguments': f.arguments} | tojson) + '\\n' -}}"
    + _END
    + "{{- '</tool_calls>' -}}",
}

TEMPLATES = {name: _FRAME.replace("CALLS", calls) for name, calls in _CALLS.items()}
"""By the name of the form. The plain form has no template: it is for templates without tools."""

_CONTROLS = [
    *("<think>", "</think>", "<tool_call>", "</tool_call>", "[TOOL_CALLS]", "[ARGS]", "<|python_tag|>"),
    *("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>", "<|tool_call_end|>"),
    *("<|tool_call_argument_begin|>", "<|open|>", "<|close|>", "<|sep|>", "<|tool_call>", "<tool_call|>", '<|"|>'),
    *("<|tool_call_start|>", "<|tool_call_end|>", "<start_function_call>", "<end_function_call>", "<escape>"),
    *("<minimax:tool_call>", "</minimax:tool_call>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"),
    *("<|channel|>", "<|message|>", "<|end|>", "<|start|>", "<|constrain|>"),
    *("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
]


@lru_cache
def tokenizer_of(name: str, *, has_controls: bool = True) -> Tokenizer:
    """Return a tokenizer with the control tokens of a family; without `has_controls`, its markers are plain text."""
    tokenizer = byte_level_tokenizer()
    if has_controls:
        source = "<|channel|><|message|><|end|><|start|><|constrain|>" if name == "harmony" else TEMPLATES.get(name, "")
        form = form_named(name)
        begin = "" if form is None or "<|open|>" in form.begin or name == "harmony" else form.begin
        used = [text for text in dict.fromkeys([*_CONTROLS, begin]) if text and (text in source or text == begin)]
        tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in used])
    return tokenizer
