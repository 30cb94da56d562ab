"""Types that commands and events share: ids, bounded numbers, and the allowed values of string fields."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from msgspec import UNSET, Meta, Struct

STARTER = "starter"
"""The name of the small real model that Bough downloads first."""
STARTER_FOLDER = "SmolLM2-135M-Instruct"
"""The starter's folder, in the folder of Bough's models."""
STARTER_ON_HUB = "HuggingFaceTB/SmolLM2-135M-Instruct"

# Both transports carry all 64-bit integers; MessagePack has no larger ones.
RequestId: TypeAlias = str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

# Ids beyond the vocabulary are refused later, where the model is known.
TokenId: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]
# `choice` i samples with seed + i, so the highest of the key's 64 bits is left free.
Seed: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
# Larger than any disk.
NumBytes: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Nonempty: TypeAlias = Annotated[str, Meta(min_length=1)]
# Names that every family of models can write.
ToolName: TypeAlias = Annotated[str, Meta(pattern=r"^[\w.:/-]{1,128}$")]

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
Origin: TypeAlias = Literal["sampled", "forced", "healed", "draft"]
FinishReason: TypeAlias = Literal["stop", "eos", "length", "constraint", "hook", "cancelled"]
Overflow: TypeAlias = Literal["fail", "drop_oldest"]
CacheKind: TypeAlias = Literal["trimmable", "snapshot"]
Tier: TypeAlias = Literal["warm", "disk", "cold"]
FailureKind: TypeAlias = Literal[
    "bad_request",
    "model_not_found",
    "model_invalid",
    "model_untrusted",
    "model_not_loaded",
    "context_overflow",
    "constraint_invalid",
    "hook_failed",
    "out_of_memory",
    "cancelled",
    "superseded",
    "overloaded",
    "unsupported",
    "endpoint_failed",
    "internal",
]
Capability: TypeAlias = Literal[
    "tokens",
    "alternatives",
    "continue",
    "json_schema",
    "grammar",
    "hooks",
    "drafts",
    "tools",
    "template_options",
    "count",
    "plan",
    "cache",
    "overflow",
]
"""An ability of a loaded model that not every engine has.

`tokens`: an answer's tokens are known. `alternatives`: also what could have been sampled instead. `continue`: a given
beginning of an answer is continued. `grammar`: answer formats other than a JSON schema. `count`: a prompt's tokens can
be counted. `plan`: the cost of a prompt is known before it is sent. `cache`: keys and values are kept, with limits that
the user sets. `overflow`: the oldest messages can be left out of a prompt that is too long.
"""


class Value(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Base of all messages and their parts: immutable, and unknown fields are refused."""


def exactly_one(value: Struct, *names: str) -> None:
    """Raise `ValueError` unless exactly one of these fields is set."""
    present = [name for name in names if getattr(value, name) is not UNSET]
    if len(present) != 1:
        listed = ", ".join(f"`{name}`" for name in names)
        found = ", ".join(f"`{name}`" for name in present) or "none"
        raise ValueError(f"Expected exactly one of {listed}; found {found}")


Need: TypeAlias = Literal["network", "files"]
"""An ability that a hook may need, so that the worker keeps it."""
NEEDS: tuple[Need, ...] = get_args(Need)


class Confinement(Struct, frozen=True):
    """Whether the worker's process gave up, at its start, the network and writing files outside its own folder."""

    network: bool = False
    files: bool = False
    why_not: Literal["", "switched_off", "gpu", "hooks", "unsupported"] = ""
    """Why it did not give up both; empty if it did."""


class WeightForm(Struct, frozen=True):
    """The form that a model's weights take in memory."""

    form: Literal["stored", "unpacked", "packed"] = "stored"
    """`unpacked`: quantized weights are float32 now. `packed`: they stay quantized. `stored`: as on disk or widened."""
    needed_bytes: int = 0
    """The memory that unpacked weights need, with room for keys and values; 0 if no weights are quantized."""
    free_bytes: int = 0
    """The memory that was free when the model was loaded."""


ContinuedBy: TypeAlias = Literal["", "fields", "fields_without_thinking", "message", "prefix"]
"""How a server is asked to continue a given beginning of an answer; empty: it can't.

`fields`: the fields `continue_final_message` and `add_generation_prompt` (vLLM, SGLang, llama.cpp, Bough).
`fields_without_thinking`: these, and thinking is switched off, without which llama.cpp refuses them for some models.
`message`: an answer at the end of the messages is continued without being asked. `prefix`: the message has a field of
this name (Mistral, DeepSeek).
"""


class ServerFacts(Struct, frozen=True):
    """The abilities of a server's model, found by trying them. Valid until `version` changes, or a request fails."""

    version: Annotated[str, Meta(max_length=200)]
    """A hash of what the server reports about itself and the model."""
    continued_by: ContinuedBy = ""
    keeps_end: bool = False
    """Whether spaces and line ends at the end of a given beginning count. Some templates leave them out."""
    has_logprobs: bool = False
    """Whether its streams have log-probabilities, and of other tokens, too."""


class ReasoningMarks(Struct, frozen=True):
    """The texts around a model's reasoning."""

    begin: str
    end: str
