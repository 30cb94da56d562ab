"""A hook as its file describes itself, for whoever switches it on; values alone."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct

OptionKind: TypeAlias = Literal["bool", "int", "float", "str", "list", "any"]


class HookOption(Struct, frozen=True, kw_only=True):
    """What a hook can be given. `kind` "any" where its file says nothing that could be told."""

    name: str
    kind: OptionKind
    default: Any = None
    is_required: bool = False


class Hook(Struct, frozen=True, kw_only=True):
    """`problem`: why it can't be used; empty where nothing is known against it."""

    name: str
    summary: str = ""
    description: str = ""
    options: list[HookOption] = []
    is_own: bool = False
    """It lies in the person's folder."""
    problem: str = ""
