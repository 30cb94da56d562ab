"""Conversations of a project, asked through the real worker: the tokens that it reads, and the least possible."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from app.answers.prompt import turns
from app.model.attachment import Attachment
from app.model.message import Message
from app.model.project import Project
from app.model.store import Store
from tests.app.serving.agent import Oracle
from tests.driver import StdioWorker

_WORDS = ("tree", "branch", "return", "value", "Hello", "there", "lazy", "sky", "naïve", "café", "fox")
_NUM_CONVERSATIONS = 10
_NUM_FOLLOW_UPS = 2


class Reading(NamedTuple):
    """Numbers of tokens of all conversations together."""

    project: int
    """The tokens of the project alone."""
    num_read: int
    num_ideal: int
    planned: list[tuple[int, int]]
    """For each conversation before it began: the tokens that `plan` called kept, and those of its prompt."""


def read(worker: StdioWorker, folder: Path, num_words: int) -> Reading:
    """Ask ten conversations of one project, each with two follow-ups."""
    draw = Random(4)
    project = Project(
        instructions=_text(draw, num_words // 4),
        files=(Attachment(name="notes.md", text=_text(draw, num_words // 2)), Attachment(name="b.txt", text="Short.")),
    )
    store = Store(folder / "conversations.sqlite3")
    oracle, num_read, num_ideal = Oracle(), 0, 0
    planned: list[tuple[int, int]] = []
    alone = 0
    for number in range(_NUM_CONVERSATIONS):
        conversation, question = store.create_conversation(
            f"{number}",
            project.instructions,
            _text(draw, 12),
            folder="Garden",
            project_files=project.file_texts,
        )
        for step in range(1 + _NUM_FOLLOW_UPS):
            messages = _sent(store.messages.lineage(question.id))
            alone = alone or _num_tokens(worker, messages[:1])
            if not step:
                plan = worker.result("plan", prompts=[{"messages": messages}])["plans"][0]
                planned.append((plan["cached_tokens"], plan["prompt_tokens"]))
            ids = worker.result("tokenize", messages=messages)["token_ids"]
            end = worker.result("generate", messages=messages, max_tokens=8, sampling={"temperature": 0.0})
            assert end["type"] == "finished", end
            choice = end["choices"][0]
            num_read += end["usage"]["prefilled_tokens"]
            num_ideal += oracle.num_new(ids, choice["token_ids"][:-1])
            answer = store.add(conversation.id, question.id, "assistant", choice["text"])
            question = store.add(conversation.id, answer.id, "user", _text(draw, 12))
    store.close()
    return Reading(alone, num_read, num_ideal, planned)


def _sent(lineage: list[Message]) -> list[dict[str, Any]]:
    return [msgspec.to_builtins(turn) for turn in turns(lineage)]


def _num_tokens(worker: StdioWorker, messages: list[dict[str, Any]]) -> int:
    return len(worker.result("tokenize", messages=messages)["token_ids"])


def _text(draw: Random, num_words: int) -> str:
    return " ".join(draw.choices(_WORDS, k=num_words))
