"""`bough replay`: answers run again from their records, in a worker of their own."""

from __future__ import annotations

import argparse
from collections.abc import Generator

from app.model.exports.excerpt import branch
from app.model.message import Message, MessageId
from app.model.store import Store
from app.places import Places
from app.replay.run_again import Asked, run_again
from app.replay.verdict import Verdict, told
from app.shell.named import named
from app.shell.terminal import FailedError, complain, finished, say, say_json

_MAX_ID = 2**63 - 1


def replay(store: Store, chosen: argparse.Namespace, places: Places) -> int:
    """Run what was chosen again, say what came of it; return the exit code."""
    if not chosen.conversations and not chosen.message:
        raise FailedError("Name a conversation, or an answer with --message.")
    conversations, missing = named(store, chosen.conversations)
    asked: dict[MessageId, Asked] = {}
    for conversation in conversations:
        path = branch(store, conversation.id).path
        asked |= {message.id: Asked(message, path[:place]) for place, message in enumerate(path) if _is_answer(message)}
    problems = [f"There is no conversation “{name}”." for name in missing]
    for message_id in chosen.message:
        line = store.lineage(message_id) if abs(message_id) <= _MAX_ID else []
        if line:
            asked[message_id] = Asked(line[-1], line[:-1])
        else:
            problems.append(f"There is no message {message_id}.")
    verdicts: list[Verdict] = []

    def work() -> Generator[str]:
        for step in run_again(list(asked.values()), model=chosen.model, hooks_folder=places.config / "hooks"):
            if isinstance(step, Verdict):
                verdicts.append(step)
                if not chosen.json:
                    say(f"Message {step.message_id} ({step.model or 'no model'}): {' '.join(told(step))}")
            else:
                yield f"answer {step.answer:,} of {step.of:,}, {step.done:.0%}"

    finished(work(), str)
    if chosen.json:
        say_json(verdicts)
    for problem in problems:
        complain(problem)
    for verdict in verdicts:
        if not verdict.matched:
            outcome, *rest = told(verdict)
            is_other_text = verdict.is_text_spelled is False and verdict.error is None and not verdict.differences
            complain(f"Message {verdict.message_id}: {rest[0] if is_other_text else outcome}")
    return 0 if not problems and verdicts and all(verdict.matched for verdict in verdicts) else 1


def _is_answer(message: Message) -> bool:
    return message.role == "assistant" and bool(message.text)
