"""The description of a hook, as its file gives it. Values only."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

OptionKind: TypeAlias = Literal["bool", "int", "float", "str", "list", "any"]


class HookOption(Struct, frozen=True, kw_only=True):
    """An option of a hook. `kind` is "any" if its file does not name a type."""

    name: str
    kind: OptionKind
    default: Any = None
    is_required: bool = False


class Hook(Struct, frozen=True, kw_only=True):
    """A hook. `problem` says why it can't be used; empty if no problem is known."""

    name: str
    summary: str = ""
    description: str = ""
    options: list[HookOption] = []
    is_own: bool = False
    """Whether it is in the user's folder."""
    problem: str = ""
