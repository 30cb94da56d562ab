"""Calls as each family writes them, spelled out by hand, independent of Bough's own description of the forms.

The texts follow the templates of llama.cpp's models/templates and mlx-lm's tool parsers.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

Call = tuple[str, dict[str, Any]]

STRING, INTEGER, OBJECT = {"type": "string"}, {"type": "integer"}, {"type": "object"}
SCHEMAS: dict[str, dict[str, Any]] = {
    "write_file": {
        "type": "object",
        "properties": {
            "path": STRING,
            "mode": INTEGER,
            "options": OBJECT,
            "note": {"anyOf": [STRING, {"type": "null"}]},
            "flag": {"type": "boolean"},
            "lines": {"type": "array", "items": STRING},
        },
        "required": ["path"],
    },
    "stop": {"type": "object", "properties": {}},
}
CALLS: list[Call] = [
    (
        "write_file",
        {
            "path": 'a/"b"\\c\n<é 😀>{[</p',
            "mode": -17,
            "options": {"deep": [1, 2.5, None, True, "q,}"], "x": {}},
            "note": None,
            "flag": False,
            "lines": ["one", "", "t'wo"],
        },
    ),
    ("stop", {}),
    ("write_file", {"path": "", "note": "a note: 5"}),
]


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def raw(value: Any) -> str:
    return value if isinstance(value, str) else dumped(value)


def json_tools(calls: list[Call]) -> str:
    return "\n".join(
        f'<tool_call>\n{{"name": {dumped(name)}, "arguments": {dumped(values)}}}\n</tool_call>'
        for name, values in calls
    )


def mistral(calls: list[Call]) -> str:
    return "".join(f"[TOOL_CALLS]{name}[ARGS]{dumped(values)}" for name, values in calls)


def mistral_list(calls: list[Call]) -> str:
    listed = [{"name": name, "arguments": values, "id": f"call{at:05}"} for at, (name, values) in enumerate(calls)]
    return f"[TOOL_CALLS]{dumped(listed)}"


def apriel(calls: list[Call]) -> str:
    return f"<tool_calls>{dumped([{'name': name, 'arguments': values} for name, values in calls])}</tool_calls>"


def nemotron(calls: list[Call]) -> str:
    return apriel(calls).replace("tool_calls>", "TOOLCALL>")


def minimax_m1(calls: list[Call]) -> str:
    lines = [dumped({"name": name, "arguments": values}) for name, values in calls]
    return "\n".join(["<tool_calls>", *lines, "</tool_calls>"])


def llama3(calls: list[Call]) -> str:
    return "; ".join(f'{{"name": "{name}", "parameters": {dumped(values)}}}' for name, values in calls)


def kimi_k2(calls: list[Call]) -> str:
    texts = [
        f"<|tool_call_begin|>functions.{name}:{at}<|tool_call_argument_begin|>{dumped(values)}<|tool_call_end|>"
        for at, (name, values) in enumerate(calls)
    ]
    return "".join(["<|tool_calls_section_begin|>", *texts, "<|tool_calls_section_end|>"])


def deepseek(calls: list[Call]) -> str:
    texts = [f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{dumped(values)}<｜tool▁call▁end｜>" for name, values in calls]
    return "".join(["<｜tool▁calls▁begin｜>", *texts, "<｜tool▁calls▁end｜>"])


def pairs(prefix: str) -> Callable[[list[Call]], str]:
    def written(calls: list[Call]) -> str:
        texts = [
            f"<{prefix}tool_call>{name}\n"
            + "".join(
                f"<{prefix}arg_key>{key}</{prefix}arg_key>\n<{prefix}arg_value>{raw(value)}</{prefix}arg_value>\n"
                for key, value in values.items()
            )
            + f"</{prefix}tool_call>"
            for name, values in calls
        ]
        return "\n".join(texts)

    return written


def qwen3_coder(calls: list[Call]) -> str:
    texts = [
        f"<tool_call>\n<function={name}>\n"
        + "".join(f"<parameter={key}>\n{raw(value)}\n</parameter>\n" for key, value in values.items())
        + "</function>\n</tool_call>"
        for name, values in calls
    ]
    return "\n".join(texts)


def invoke(prefix: str, name: str, values: dict[str, Any]) -> str:
    arguments = [f'<{prefix}parameter name="{key}">{raw(value)}</{prefix}parameter>\n' for key, value in values.items()]
    return f'<{prefix}invoke name="{name}">\n' + "".join(arguments) + f"</{prefix}invoke>"


def minimax_m2(calls: list[Call]) -> str:
    texts = [invoke("", name, values) for name, values in calls]
    return "\n".join(["<minimax:tool_call>", *texts, "</minimax:tool_call>"])


def muse_spark(calls: list[Call]) -> str:
    return "\n".join(
        f"<atem:function_calls>\n{invoke('atem:', name, values)}\n</atem:function_calls>" for name, values in calls
    )


def minicpm5(calls: list[Call]) -> str:
    def value_of(value: Any) -> str:
        is_marked = isinstance(value, str) and any(character in value for character in "<&\n")
        return f"<![CDATA[{value}]]>" if is_marked else raw(value)

    texts = [
        f'<function name="{name}">'
        + "".join(f'<param name="{key}">{value_of(value)}</param>' for key, value in values.items())
        + "</function>"
        for name, values in calls
    ]
    return "\n".join(texts)


def kimi_k3(calls: list[Call]) -> str:
    names = {str: "string", int: "number", bool: "boolean", dict: "object", list: "array", type(None): "null"}
    texts = [
        f'<|open|>call tool="{name}" index="{at}"<|sep|>'
        + "".join(
            f'<|open|>argument key="{key}" type="{names[type(value)]}"<|sep|>{raw(value)}<|close|>argument<|sep|>'
            for key, value in values.items()
        )
        + "<|close|>call<|sep|>"
        for at, (name, values) in enumerate(calls, 1)
    ]
    return "".join(["<|open|>tools<|sep|>", *texts, "<|close|>tools<|sep|>"])


def braces(begin: str, quote: str, end: str) -> Callable[[list[Call]], str]:
    def value_of(value: Any) -> str:
        match value:
            case str():
                return f"{quote}{value}{quote}"
            case dict():
                return "{" + ",".join(f"{key}:{value_of(item)}" for key, item in value.items()) + "}"
            case list():
                return "[" + ",".join(map(value_of, value)) + "]"
            case _:
                return dumped(value)

    return lambda calls: "".join(f"{begin}call:{name}{value_of(values)}{end}" for name, values in calls)


def pythonic(calls: list[Call]) -> str:
    def value_of(value: Any) -> str:
        return dumped(value) if isinstance(value, dict | list) else repr(value)

    texts = [
        f"{name}({', '.join(f'{key}={value_of(value)}' for key, value in values.items())})" for name, values in calls
    ]
    return f"<|tool_call_start|>[{', '.join(texts)}]<|tool_call_end|>"


FAMILIES: dict[str, Callable[[list[Call]], str]] = {
    "json_tools": json_tools,
    "plain": json_tools,
    "mistral": mistral,
    "mistral_list": mistral_list,
    "llama3": llama3,
    "kimi_k2": kimi_k2,
    "deepseek": deepseek,
    "glm47": pairs(""),
    "laguna": pairs(""),
    "longcat": pairs("longcat_"),
    "qwen3_coder": qwen3_coder,
    "minimax_m2": minimax_m2,
    "muse_spark": muse_spark,
    "minicpm5": minicpm5,
    "kimi_k3": kimi_k3,
    "gemma4": braces("<|tool_call>", '<|"|>', "<tool_call|>"),
    "function_gemma": braces("<start_function_call>", "<escape>", "<end_function_call>"),
    "pythonic": pythonic,
    "apriel": apriel,
    "nemotron": nemotron,
    "minimax_m1": minimax_m1,
}
