"""`bough replay`: replays answers from their records in a separate worker."""

from __future__ import annotations

import argparse
from collections.abc import Generator

from app.catalog.starter import full_name
from app.model.message import Conversation, Message, MessageId
from app.model.store import Store
from app.model.tree import Tree
from app.places import Places
from app.replay.batch_replay import ReplayRequest, replay_answers
from app.replay.verdict import Verdict, sentences
from app.shell.find_commands import conversations_named
from app.shell.terminal import FailedError, print_error, print_json, print_line, run_to_end

_MAX_ID = 2**63 - 1


def replay(store: Store, chosen: argparse.Namespace, places: Places) -> int:
    """Replay the chosen answers and print the verdicts; return the exit code."""
    if not chosen.conversations and not chosen.message:
        raise FailedError("Name a conversation, or an answer with --message.")
    conversations, missing = conversations_named(store, chosen.conversations)
    requests: dict[MessageId, ReplayRequest] = {}
    for conversation in conversations:
        path = _visible_branch(store, conversation)
        for number, message in enumerate(path):
            if message.role == "assistant" and message.text:
                requests[message.id] = ReplayRequest(message, path[:number])
    problems = [f"There is no conversation “{name}”." for name in missing]
    for message_id in chosen.message:
        line = store.messages.lineage(message_id) if abs(message_id) <= _MAX_ID else []
        if line:
            requests[message_id] = ReplayRequest(line[-1], line[:-1])
        else:
            problems.append(f"There is no message {message_id}.")
    verdicts: list[Verdict] = []

    model = None if chosen.model is None else full_name(chosen.model, places.models)

    def work() -> Generator[str]:
        for step in replay_answers(list(requests.values()), model=model, hooks_folder=places.config / "hooks"):
            if isinstance(step, Verdict):
                verdicts.append(step)
                if not chosen.json:
                    print_line(f"Message {step.message_id} ({step.model or 'no model'}): {' '.join(sentences(step))}")
            else:
                yield f"answer {step.answer:,} of {step.of:,}, {step.done:.0%}"

    run_to_end(work(), str)
    if chosen.json:
        print_json(verdicts)
    for problem in problems:
        print_error(problem)
    for verdict in verdicts:
        if not verdict.matched:
            outcome, *rest = sentences(verdict)
            is_other_text = verdict.is_text_spelled is False and verdict.error is None and not verdict.differences
            print_error(f"Message {verdict.message_id}: {rest[0] if is_other_text else outcome}")
    return 0 if not problems and verdicts and all(verdict.matched for verdict in verdicts) else 1


def _visible_branch(store: Store, conversation: Conversation) -> list[Message]:
    # An excerpt would name models without the folders from which they are loaded.
    tree = Tree(store.messages.shown_by(conversation.id), conversation.root_id)
    path = tree.path(store.conversations.choices(conversation.id))
    return [message for message in path if message.role != "root"]
