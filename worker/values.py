"""What commands and events are both made of: ids, numbers with their bounds, the words that may stand in a field."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct

# Both transports carry every integer of 64 bits, and MessagePack no larger one.
RequestId: TypeAlias = str | Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]

# What is not a whole token id is refused here, what is beyond the vocabulary where the model is known.
TokenId: TypeAlias = Annotated[int, Meta(ge=0, le=2**31 - 1)]
# `choice` i samples with seed + i, so the top of the 64 bits that a key takes is left free.
Seed: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
# Larger than any disk; a number that no float holds could not be worked with.
NumBytes: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Nonempty: TypeAlias = Annotated[str, Meta(min_length=1)]

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
    "internal",
]


class Value(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """What crosses: unknown fields are refused, and nobody changes it."""


def exactly_one(value: Struct, *names: str) -> None:
    """Raise `ValueError` unless exactly one of these fields is set."""
    present = [name for name in names if getattr(value, name) is not UNSET]
    if len(present) != 1:
        listed = ", ".join(f"`{name}`" for name in names)
        found = ", ".join(f"`{name}`" for name in present) or "none"
        raise ValueError(f"Expected exactly one of {listed}; found {found}")
