"""How each family of models writes tool calls, and how its form is recognised. Pure data.

The names are those of mlx-lm's tool parsers, where it has one for the family.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

from worker.values import ReasoningMarks


@dataclass(frozen=True)
class JsonObject:
    """A call is one JSON object: `{"name": "f", "arguments": {…}}`."""

    arguments: str = "arguments"
    """The key under which templates write the arguments."""
    has_id: bool = False
    """Whether an `id` may follow the arguments."""


@dataclass(frozen=True)
class NamedJson:
    """The name, then the arguments as JSON: `before name between {…} after`."""

    before: str
    between: str
    after: str
    counted: bool = False
    """Whether the name is written as `functions.name:0`, which is also the call's id."""


@dataclass(frozen=True)
class Tagged:
    """Markup: each argument is between tags. A text is written without quotes, any other value as JSON.

    White space at the ends of these texts is a line break that models may leave out, except around values.
    """

    before: str
    """Text before the name."""
    opened: str
    """Text after the name."""
    key: str
    """Text before the name of an argument."""
    value: str
    """Text between an argument's name and its value."""
    value_end: str
    after: str
    """Text after the last argument."""
    has_cdata: bool = False
    """Whether `<![CDATA[…]]>` may surround a value."""
    is_typed: bool = False
    """Whether each argument contains its JSON type, as in `type="string"`, and the call its number."""


@dataclass(frozen=True)
class Braces:
    """Gemma's syntax: `call:name{key:value,…}`, with texts between `quote`."""

    quote: str


@dataclass(frozen=True)
class Python:
    """A list of Python calls: `[f(a="x", b=2), g()]`."""


@dataclass(frozen=True)
class Channels:
    """gpt-oss's syntax: each message names its channel, and a call its recipient."""


Syntax: TypeAlias = JsonObject | NamedJson | Tagged | Braces | Python | Channels


@dataclass(frozen=True)
class Form:
    """How one family writes tool calls: in sections from `begin` to `end`, with one call or several in each."""

    name: str
    syntax: Syntax
    begin: str
    """The marker before the first call of a section."""
    end: str = ""
    """The marker after the last call of a section; empty if the turn ends there."""
    opening: str = ""
    """Text between `begin` and the first call."""
    separator: str | None = None
    """Text between two calls of a section; None if a section has only one call."""
    closing: str = ""
    """Text between the last call and `end`."""
    line: str = ""
    """A line break that templates write after `begin` and before `end`."""
    between: str = "\n"
    """Text that templates write between two sections."""
    lead: str = ""
    """Text that templates write before a call, where there is no other text."""
    is_bare: bool = False
    """Whether a call may also begin a turn without `begin`."""
    is_repeated: bool = True
    """Whether a turn may have several sections."""
    silent: tuple[str, ...] = ()
    """Markers around the answer's text. They are not part of the text."""
    reasoning: ReasoningMarks | None = None
    """The marks of reasoning, for templates that build them from parts; None if they are found in the template."""
    id_length: int = 0
    """The length that the template demands of a call's id; 0 if any id will do."""

    @property
    def frames_text(self) -> bool:
        """Whether a turn's text is between markers, so that it is parsed by its form even if there are no tools."""
        return bool(self.silent) or isinstance(self.syntax, Channels)


JSON = Form("json_tools", JsonObject(), "<tool_call>", "</tool_call>", line="\n")
PLAIN = replace(JSON, name="plain")
"""For models whose template does not support tools: they are described in the system prompt."""
MISTRAL = Form("mistral", NamedJson("", "[ARGS]", ""), "[TOOL_CALLS]", between="", id_length=9)
MISTRAL_LIST = Form(
    "mistral_list",
    JsonObject(has_id=True),
    "[TOOL_CALLS]",
    opening="[",
    separator=", ",
    closing="]",
    between="",
    is_repeated=False,
    id_length=9,
)
APRIEL = replace(MISTRAL_LIST, name="apriel", begin="<tool_calls>", end="</tool_calls>", id_length=0)
NEMOTRON = replace(APRIEL, name="nemotron", syntax=JsonObject(), begin="<TOOLCALL>", end="</TOOLCALL>")
MINIMAX_M1 = Form(
    "minimax_m1", JsonObject(), "<tool_calls>", "</tool_calls>", separator="\n", line="\n", is_repeated=False
)
LLAMA3 = Form("llama3", JsonObject("parameters"), "<|python_tag|>", separator="; ", is_bare=True, is_repeated=False)
KIMI_K2 = Form(
    "kimi_k2",
    NamedJson("<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", counted=True),
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    separator="",
    between="",
    is_repeated=False,
)
DEEPSEEK = Form(
    "deepseek",
    NamedJson("<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    separator="",
    between="",
    is_repeated=False,
)

GLM = Form(
    "glm47",
    Tagged("", "\n", "<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n", ""),
    "<tool_call>",
    "</tool_call>",
)
LAGUNA = replace(GLM, name="laguna")
LONGCAT = Form(
    "longcat",
    Tagged("", "\n", "<longcat_arg_key>", "</longcat_arg_key>\n<longcat_arg_value>", "</longcat_arg_value>\n", ""),
    "<longcat_tool_call>",
    "</longcat_tool_call>",
)
QWEN3_CODER = Form(
    "qwen3_coder",
    Tagged("<function=", ">\n", "<parameter=", ">\n", "\n</parameter>\n", "</function>"),
    "<tool_call>",
    "</tool_call>",
    line="\n",
)
MINIMAX_M2 = Form(
    "minimax_m2",
    Tagged('<invoke name="', '">\n', '<parameter name="', '">', "</parameter>\n", "</invoke>"),
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    separator="\n",
    line="\n",
)
MINICPM5 = Form(
    "minicpm5",
    Tagged("", '">', '<param name="', '">', "</param>", "", has_cdata=True),
    '<function name="',
    "</function>",
)
MUSE_SPARK = Form(
    "muse_spark",
    Tagged('<atem:invoke name="', '">\n', '<atem:parameter name="', '">', "</atem:parameter>\n", "</atem:invoke>"),
    "<atem:function_calls>",
    "</atem:function_calls>",
    separator="\n",
    line="\n",
)
KIMI_K3 = Form(
    "kimi_k3",
    Tagged(
        '<|open|>call tool="',
        "<|sep|>",
        '<|open|>argument key="',
        "<|sep|>",
        "<|close|>argument<|sep|>",
        "<|close|>call<|sep|>",
        is_typed=True,
    ),
    "<|open|>tools<|sep|>",
    "<|close|>tools<|sep|>",
    separator="",
    between="",
    lead="<|open|>response<|sep|><|close|>response<|sep|>",
    reasoning=ReasoningMarks("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
    is_repeated=False,
    silent=(
        "<|open|>response<|sep|>",
        "<|close|>response<|sep|>",
        "<|close|>message<|sep|>",
    ),
)
GEMMA4 = Form("gemma4", Braces('<|"|>'), "<|tool_call>", "<tool_call|>", between="")
FUNCTION_GEMMA = Form("function_gemma", Braces("<escape>"), "<start_function_call>", "<end_function_call>", between="")
PYTHONIC = Form(
    "pythonic",
    Python(),
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    opening="[",
    separator=", ",
    closing="]",
)
HARMONY = Form(
    "harmony",
    Channels(),
    " to=functions.",
    between="",
    is_repeated=False,
    reasoning=ReasoningMarks("<|channel|>analysis<|message|>", "<|end|>"),
)

FORMS = (
    HARMONY,
    MINIMAX_M2,
    GEMMA4,
    FUNCTION_GEMMA,
    LONGCAT,
    GLM,
    LAGUNA,
    PYTHONIC,
    QWEN3_CODER,
    KIMI_K2,
    KIMI_K3,
    MINICPM5,
    MISTRAL,
    MISTRAL_LIST,
    MUSE_SPARK,
    DEEPSEEK,
    APRIEL,
    MINIMAX_M1,
    NEMOTRON,
    JSON,
    PLAIN,
    LLAMA3,
)
"""All forms, the more specific ones before the more general ones."""


def form_named(name: str) -> Form | None:
    """Return the form with this name; None if there is none."""
    return next((form for form in FORMS if form.name == name), None)


_REASONING = (
    ReasoningMarks("<think>", "</think>"),
    ReasoningMarks("[THINK]", "[/THINK]"),
    ReasoningMarks("<longcat_think>", "</longcat_think>"),
    ReasoningMarks("<seed:think>", "</seed:think>"),
    ReasoningMarks("<|think:start|>", "<|think:end|>"),
    ReasoningMarks("<|channel>thought", "<channel|>"),
    ReasoningMarks("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
)


def reasoning_of(sources: Iterable[str], control_texts: Iterable[str]) -> ReasoningMarks | None:
    """Return the marks of a model's reasoning; None if it has none.

    `sources`: its chat templates. `control_texts`: the texts of its control tokens.
    """
    source = "\n".join(sources)
    texts = frozenset(control_texts)
    for marks in _REASONING:
        if marks.end in source or (marks.begin in texts and marks.end in texts):
            return marks
    return None
