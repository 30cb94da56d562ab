"""Exports conversations as records for the trainers mlx-lm, TRL and Axolotl, as docs/fine-tuning.md describes them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from app.model.exports.excerpt import Excerpt, Options, RecordKind
from app.model.exports.files import Piece, Trainer
from app.model.exports.fine_tuning import json_line
from app.model.exports.training_turns import Losses, Turn, answer_turn, is_complete, turns
from app.model.message import Conversation, Message, MessageId

KINDS: dict[Trainer, tuple[RecordKind, ...]] = {
    "mlx-lm": ("chat", "completion"),
    "trl": ("chat", "completion", "preference"),
    "axolotl": ("chat", "preference"),
}
"""The kinds of records that each trainer loads."""

_VALID_SHARE = 10
"""One conversation of this many is for validation."""


def is_for_validation(conversation: Conversation) -> bool:
    """Return the side of a conversation in every export; it depends on nothing but the conversation's id."""
    digest = hashlib.sha256((conversation.uid or str(conversation.id)).encode()).digest()
    return int.from_bytes(digest[:8], "big") % _VALID_SHARE == 0


def training_records(excerpt: Excerpt, trainer: Trainer, options: Options, losses: Losses) -> Iterator[Piece]:
    """Yield a line for each branch, or for each answer that was not chosen. `losses` gets what is left out."""
    writer = _Writer(excerpt, trainer, options, losses)
    yield from writer.pairs() if options.records == "preference" else writer.branches()


class _Writer:
    """Writes the records of one conversation."""

    def __init__(self, excerpt: Excerpt, trainer: Trainer, options: Options, losses: Losses) -> None:
        self._excerpt, self._options, self._losses = excerpt, options, losses
        self._trainer: Trainer = trainer

    def branches(self) -> Iterator[Piece]:
        done: set[MessageId] = set()
        num_done, num_leaves = 0, len(self._excerpt.leaves)
        for number, leaf in enumerate(self._excerpt.leaves, 1):
            num_new = len(self._excerpt.messages) * number // num_leaves - num_done
            num_done += num_new
            path = self._excerpt.tree.lineage(leaf)
            found = turns(path, self._options, self._losses)
            while found and found[-1].role != "assistant":
                found.pop()
            record = None
            if found and found[-1].message_id not in done:
                done.add(found[-1].message_id)
                record = self._branch(path, found)
            yield Piece("" if record is None else json_line(record) + "\n", num_new)

    def _branch(self, path: Sequence[Message], found: list[Turn]) -> dict[str, Any] | None:
        if self._options.records == "chat":
            return {"messages": self._messages(found), **self._tools(path)}
        if self._trainer != "mlx-lm":
            return {
                "prompt": self._messages(found[:-1]),
                "completion": self._messages(found[-1:]),
                **self._tools(path),
            }
        return self._completion(found)

    def _completion(self, found: list[Turn]) -> dict[str, Any] | None:
        """Return a record of two texts; None if the branch is not one question and one answer."""
        if found[0].role == "system":
            self._losses.add("system", found[0].message_id)
            found = found[1:]
        question, answer = found[0], found[-1]
        if len(found) != 2 or answer.calls:
            self._losses.add("long", answer.message_id)
            return None
        self._lose_reasoning(answer)
        return {"prompt": question.content, "completion": answer.content}

    def pairs(self) -> Iterator[Piece]:
        tree, choices = self._excerpt.tree, self._excerpt.choices
        for message in self._excerpt.messages:
            answers = [tree[child] for child in tree.children(message.id) if is_complete(tree[child])]
            if len(answers) > 1:
                shown = choices.get(message.id)
                chosen = next((answer for answer in answers if answer.id == shown), answers[-1])
                yield from self._pairs(message, chosen, [answer for answer in answers if answer is not chosen])
            yield Piece("", 1)

    def _pairs(self, above: Message, chosen: Message, others: Sequence[Message]) -> Iterator[Piece]:
        path = self._excerpt.tree.lineage(above.id)
        prompt = turns(path, self._options, self._losses, is_prompt=True)
        if not prompt or prompt[-1].role not in {"user", "tool"}:
            self._losses.add("unasked", chosen.id)
            return
        wanted = self._answer(chosen)
        for other in others:
            record = self._pair(path, prompt, wanted, self._answer(other))
            if record is not None:
                yield Piece(json_line(record) + "\n")

    def _pair(self, path: Sequence[Message], prompt: list[Turn], chosen: Turn, other: Turn) -> dict[str, Any] | None:
        if self._trainer != "axolotl":
            sides = {"chosen": self._messages([chosen]), "rejected": self._messages([other])}
            return {"prompt": self._messages(prompt), **sides, **self._tools(path)}
        # Axolotl reads nothing but the roles and the texts of a pair.
        if any(turn.calls for turn in (*prompt, chosen, other)):
            self._losses.add("with_tools", other.message_id)
            return None
        for turn in (*prompt, chosen, other):
            self._lose_reasoning(turn)
        texts = [{"role": turn.role, "content": turn.content} for turn in (*prompt, chosen, other)]
        return {"messages": texts[:-2], "chosen": texts[-2], "rejected": texts[-1]}

    def _answer(self, message: Message) -> Turn:
        tree, below = self._excerpt.tree, list[Message]()
        last = message
        while (child := next((tree[child] for child in tree.children(last.id)), None)) is not None and _is_call(child):
            below.append(child)
            last = child
        return answer_turn(message, below, self._options)

    def _lose_reasoning(self, turn: Turn) -> None:
        if turn.reasoning:
            self._losses.add("reasoning", turn.message_id)

    def _messages(self, found: Sequence[Turn]) -> list[dict[str, Any]]:
        return [self._message(turn) for turn in found]

    def _message(self, turn: Turn) -> dict[str, Any]:
        made: dict[str, Any] = {"role": turn.role, "content": turn.content}
        if turn.reasoning:
            made["reasoning_content"] = turn.reasoning
        if turn.calls:
            made["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": self._arguments(call.arguments)},
                }
                for call in turn.calls
            ]
        if turn.role == "tool":
            made |= {"tool_call_id": turn.call_id, "name": turn.name}
        return made

    def _arguments(self, arguments: dict[str, Any]) -> Any:
        # Axolotl reads JSON text, as OpenAI writes it. The others give the value to templates, which need an object.
        return _as_json(arguments) if self._trainer == "axolotl" else arguments

    def _tools(self, path: Sequence[Message]) -> dict[str, Any]:
        """Return the field for the tools that the answers of a branch could call; empty if there were none."""
        offered = next((message.record.tools for message in path if message.record and message.record.tools), ())
        if not offered:
            return {}
        tools = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
            }
            for tool in offered
        ]
        # TRL and Axolotl load records as tables, whose columns can't hold schemas of different forms.
        return {"tools": tools if self._trainer == "mlx-lm" else _as_json(tools)}


def _is_call(message: Message) -> bool:
    sent = None if message.record is None else message.record.sent
    return sent is not None and sent.call is not None


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
