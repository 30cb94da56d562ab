"""Excerpts to export, with trees of any shape, and helpers that read them back."""

from __future__ import annotations

import re
import string
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TypeVar

from hypothesis import strategies as st
from msgspec import structs

from app.model.exports.excerpt import Excerpt
from app.model.grafts import Graft
from app.model.imports.importing import Summary, import_files
from app.model.message import Alternative, Conversation, Earlier, Figures, HookRecord, Message, Record, Role, Sampling
from app.model.sources import OURS, Source
from app.model.store import Store
from app.model.tree import Tree

_R = TypeVar("_R")

PIECES = (
    "```", "````", "~~~", "```python", "``` a`b", "   ```", "    ```", "> ```", "- ```", "`", "word", "# heading",
    "## You", "## Answer", "## Answer · guide · 2023-11-14 22:13 UTC", "## System", "# Branch 2", "---", "===",
    "<!-- bough {} -->", '<!-- bough {"id":1,"parent":null,"role":"user","lines":2} -->', "<!-- bough-2 x -->",
    "| a | b |", "|---|---|", "<div>", "</div>", "<!--", "-->", "<pre>", "<script>", "</textarea>", "<?php", "]]>",
    "[a]: /x 'title", "\\", "$$", "$a_b$", "\\(x\\)", "\\[", "&amp;", "&lt;", "", " ", "  ", "\t", "\r", "\r\n", "\f",
    "\0", "\u2028", "\u0085", "\ufeff", "😀", "שלום", "漢字", "e\u0301", "\U000f0000", "\\u0041",
    "a\u202eb\u2066", "\u200f", '"', "'", "{", "}",
)  # fmt: skip

BIDI_CONTROLS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""All controls of the writing direction in Unicode."""

TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=7).map("\n".join)
"""Texts that are hard to preserve in any format."""

_ALTERNATIVES = st.builds(Alternative, st.integers(0, 9), TEXTS, st.none())
_RECORDS = st.builds(
    Record,
    model=st.sampled_from(["", "guide", "a · b", "<m> & n"]),
    model_identity=st.text(string.hexdigits, max_size=8),
    versions=st.dictionaries(st.sampled_from(["mlx", "mlx-lm"]), st.just("1.0")),
    chunk_tokens=st.sampled_from([0, 512]),
    token_ids=st.lists(st.integers(0, 2**31), max_size=4).map(tuple),
    logprobs=st.lists(st.none() | st.floats(-50, 0), max_size=3).map(tuple),
    alternatives=st.lists(st.tuples(st.builds(Alternative, st.integers(0, 9), TEXTS, st.none())), max_size=2).map(
        tuple
    ),
    token_chars=st.lists(st.integers(0, 9), max_size=4).map(tuple),
    hooks=st.sampled_from([(), ("no_repeats", "a <hook>")]),
    hook_options=st.dictionaries(TEXTS, st.dictionaries(TEXTS, st.none() | TEXTS | st.integers(0, 9)), max_size=2),
    hook_records=st.lists(
        st.builds(HookRecord, name=TEXTS, calls=st.integers(0, 9), is_off=st.booleans()), max_size=2
    ).map(tuple),
    draft=st.sampled_from(["auto", "tree", "off"]),
    template_options=st.dictionaries(TEXTS, st.booleans() | st.lists(TEXTS, max_size=2), max_size=2),
    kv_bits=st.sampled_from([None, 4, 8]),
    is_part=st.booleans(),
    sampling=st.builds(Sampling, temperature=st.floats(0, 2), seed=st.none() | st.integers(0, 2**63 - 1)),
    seed=st.none() | st.integers(0, 2**63 - 1),
    earlier=st.lists(
        st.builds(Earlier, end=st.integers(0, 9), seed=st.none(), sampling=st.builds(Sampling)), max_size=2
    ).map(tuple),
    error=st.none() | TEXTS,
    figures=st.builds(Figures, new_tokens=st.integers(0, 99), tokens_per_s=st.floats(0, 999)),
)


_WHOLE_RECORDS = _RECORDS.map(lambda record: structs.replace(record, is_part=False))


@st.composite
def excerpts(
    draw: st.DrawFn, *, texts: st.SearchStrategy[str] = TEXTS, first_id: int = 1, has_parts: bool = True
) -> Excerpt:
    """Generate a conversation with a root, a system prompt and a tree of any shape below them.

    `has_parts`: whether messages may be parts of those above them, at any place.
    """
    root, system = first_id, first_id + 1
    messages = [
        Message(id=root, parent_id=None, role="root", text="", created_ms=1_700_000_000_000),
        Message(id=system, parent_id=root, role="system", text=draw(texts), created_ms=1_700_000_000_000),
    ]
    message_id = system
    for _ in range(draw(st.integers(0, 9))):
        message_id += draw(st.integers(1, 3))
        above = draw(st.sampled_from(messages))
        role: Role = "system" if above.role == "root" else draw(st.sampled_from(["user", "assistant", "note", "file"]))
        messages.append(
            Message(
                id=message_id,
                parent_id=above.id,
                role=role,
                text=draw(texts),
                state=draw(st.sampled_from(["complete", "stopped", "cut", "failed"])),
                created_ms=draw(st.integers(0, 2_000_000_000_000)),
                record=draw(_RECORDS if has_parts else _WHOLE_RECORDS) if role == "assistant" else None,
                name=draw(st.sampled_from(["", "a name"])),
                starred_ms=draw(st.none() | st.integers(0, 9)),
                pinned_ms=draw(st.none() | st.integers(0, 9)),
            )
        )
    choices: dict[int, int | None] = {}
    for message in messages:
        below = [other.id for other in messages if other.parent_id == message.id]
        if below and draw(st.booleans()):
            choices[message.id] = draw(st.sampled_from([None, *below]))
    conversation = Conversation(
        id=draw(st.integers(1, 99)),
        name=draw(texts),
        root_id=root,
        created_ms=1,
        updated_ms=2,
        pinned_ms=None,
        folder=draw(texts),
        archived_ms=draw(st.none() | st.integers(0, 9)),
        model=draw(st.sampled_from(["", "guide"])),
        uid=f"{draw(st.integers(0, 2**64 - 1)):016x}",
    )
    return Excerpt(conversation, messages, choices, Tree(messages, root).path(choices))


def add_to_store(store: Store, excerpt: Excerpt) -> int:
    """Store a conversation and return its id."""
    (conversation_id,) = store.grafts.add([graft(excerpt)], store.grafts.offset())
    return conversation_id


def graft(excerpt: Excerpt) -> Graft:
    conversation = excerpt.conversation
    return Graft(
        name=conversation.name,
        messages=excerpt.messages,
        root_id=conversation.root_id,
        choices=excerpt.choices,
        created_ms=conversation.created_ms,
        updated_ms=conversation.updated_ms,
        folder=conversation.folder,
        archived_ms=conversation.archived_ms,
        model=conversation.model,
        id=conversation.id,
        source=Source(OURS, conversation.uid),
    )


def import_all(store: Store, *paths: Path) -> Summary:
    """Import the files and return the summary."""
    return result_of(import_files(store, paths))


def result_of(work: Generator[object, None, _R]) -> _R:
    try:
        while True:
            next(work)
    except StopIteration as end:
        return end.value


def roles_and_texts(messages: Sequence[Message]) -> list[tuple[str, str]]:
    """Return roles and texts, without the root and empty system prompts."""
    return [
        (message.role, message.text)
        for message in messages
        if message.role != "root" and (message.role != "system" or message.text.strip())
    ]
