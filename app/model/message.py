"""What a conversation is made of: messages, and the record of how an answer came about; values without behaviour."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

MessageId: TypeAlias = int

Role: TypeAlias = Literal["root", "system", "user", "assistant"]
"""`root` is no message: it stands above the system prompt, so that this one can have siblings, too."""

State: TypeAlias = Literal["complete", "streaming", "stopped", "cut", "failed"]
"""`stopped`: by the person, or by a worker that died. `cut`: the maximum of tokens or the context was reached."""

Overflow: TypeAlias = Literal["fail", "drop_oldest"]
"""What is done where a conversation is longer than the model's context: say so, or leave out the oldest messages."""

CAN_CONTINUE: frozenset[State] = frozenset({"stopped", "cut", "failed"})


class Sampling(Struct, frozen=True, kw_only=True):
    """How a person wants answers drawn; `seed` None draws one for each answer."""

    temperature: Annotated[float, Meta(ge=0, le=100)] = 0.8
    top_p: Annotated[float, Meta(gt=0, le=1)] = 1.0
    max_tokens: Annotated[int, Meta(ge=1)] = 1024
    stop: tuple[Annotated[str, Meta(min_length=1)], ...] = ()
    seed: Annotated[int, Meta(ge=0, le=2**63 - 1)] | None = None


class Figures(Struct, frozen=True, kw_only=True):
    """What an answer cost: tokens of its prompt, how many of them were kept and read, and times."""

    prompt_tokens: int = 0
    kept_tokens: int = 0
    read_tokens: int = 0
    new_tokens: int = 0
    first_word_ms: float = 0.0
    tokens_per_s: float = 0.0
    left_out_messages: int = 0
    """The oldest messages behind the system prompt that the model did not see, for want of room."""


class Record(Struct, frozen=True, kw_only=True):
    """How an answer came about. `token_ids` are the whole turn as the model wrote and read it."""

    model: str = ""
    token_ids: tuple[int, ...] = ()
    sampling: Sampling = Sampling()
    overflow: Overflow = "fail"
    seed: int | None = None
    reason: str | None = None
    stop: str | None = None
    error: str | None = None
    """Why it failed or was interrupted, as a sentence."""
    figures: Figures = Figures()


class Message(Struct, frozen=True, kw_only=True):
    """One node of the forest. A parent link is the only link."""

    id: MessageId
    parent_id: MessageId | None
    role: Role
    text: str
    state: State = "complete"
    created_ms: int = 0
    record: Record | None = None


class Conversation(Struct, frozen=True, kw_only=True):
    """A name, a root in the forest, and (in the store) its own choice of child at each fork."""

    id: int
    name: str
    root_id: MessageId
    created_ms: int
    updated_ms: int
