"""Exports conversations as JSON Lines for fine-tuning, as docs/fine-tuning.md describes them.

A line is a branch up to its last finished answer, or a pair of answers to one question.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from app.model.exports.excerpt import Excerpt, Options, RecordKind
from app.model.exports.files import LineFormat, Piece, Trainer
from app.model.exports.losses import Losses
from app.model.exports.training_turns import Line, Turn, answer_turn, is_complete
from app.model.message import Conversation, Message, MessageId, ToolCall

RecordFormat: TypeAlias = LineFormat | Trainer

KINDS: dict[Trainer, tuple[RecordKind, ...]] = {
    "mlx-lm": ("chat", "completion"),
    "trl": ("chat", "completion", "preference"),
    "axolotl": ("chat", "preference"),
}
"""The kinds of records that each trainer loads."""

_KIND_OF_LINES: dict[RecordFormat, RecordKind] = {
    "openai-jsonl": "chat",
    "sharegpt-jsonl": "chat",
    "preference-jsonl": "preference",
}
_SHAREGPT_ROLES = {"system": "system", "user": "human", "assistant": "gpt", "tool": "observation"}
_LINE_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_VALID_SHARE = 10
"""One conversation of this many is for validation."""


def is_for_validation(conversation: Conversation) -> bool:
    """Return whether a conversation is for validation.

    This depends only on its id, so it is the same in every export.
    """
    digest = hashlib.sha256((conversation.uid or str(conversation.id)).encode()).digest()
    return int.from_bytes(digest[:8], "big") % _VALID_SHARE == 0


def kind_of(format_: RecordFormat, options: Options) -> RecordKind:
    """Return the kind of a format's lines. Only the formats of trainers let the user choose it."""
    return _KIND_OF_LINES.get(format_, options.records)


def training_records(excerpt: Excerpt, format_: RecordFormat, options: Options, losses: Losses) -> Iterator[Piece]:
    """Yield a line for each branch, or for each answer that was not chosen. `losses` gets what is left out."""
    losses.add("marks", *(message.id for message in excerpt.messages if _is_marked(message)))
    writer = _Writer(excerpt, format_, options, losses)
    yield from writer.pairs() if kind_of(format_, options) == "preference" else writer.branches()


class _Writer:
    """Writes the records of one conversation. Shared turns are encoded once, and only one branch is in memory."""

    def __init__(self, excerpt: Excerpt, format_: RecordFormat, options: Options, losses: Losses) -> None:
        self._excerpt, self._options, self._losses = excerpt, options, losses
        self._format: RecordFormat = format_
        self._kind = kind_of(format_, options)
        self._line = Line(excerpt.tree, options, losses, is_prompt=self._kind == "preference")

    def branches(self) -> Iterator[Piece]:
        done: set[tuple[MessageId, int]] = set()
        unanswered: set[MessageId] = set()
        num_done, num_leaves = 0, len(self._excerpt.leaves)
        for number, leaf in enumerate(self._excerpt.leaves, 1):
            num_new = len(self._excerpt.messages) * number // num_leaves - num_done
            num_done += num_new
            self._line.go_to(leaf)
            found = self._line.up_to_answer()
            for turn in self._line.turns[len(found) :]:
                if turn.role == "assistant":
                    self._losses.add("incomplete", *turn.message_ids)
                elif turn.role != "system":
                    unanswered.update(turn.message_ids)
            record = ""
            # Another branch may begin between an answer and its calls.
            if found and (end := (found[-1].end_id, len(found[-1].calls))) not in done:
                done.add(end)
                record = self._branch(found)
            yield Piece(f"{record}\n" if record else "", num_new)
        self._losses.add("unanswered", *(unanswered - self._with_ancestors({answer_id for answer_id, _ in done})))

    def _branch(self, found: list[Turn]) -> str:
        """Return the record of a branch; empty if it has none."""
        if self._format == "sharegpt-jsonl":
            name = f"{self._excerpt.conversation.id}-{found[-1].end_id}"
            return f'{{"id":"{name}","conversations":[{",".join(self._sharegpt(found))}]{self._tools()}}}'
        if self._kind == "chat":
            return f'{{"messages":{self._messages(found)}{self._tools()}}}'
        if self._format != "mlx-lm":
            prompt, completion = self._messages(found[:-1]), self._messages(found[-1:])
            return f'{{"prompt":{prompt},"completion":{completion}{self._tools()}}}'
        return self._completion(found)

    def _completion(self, found: list[Turn]) -> str:
        """Return a record of two texts; empty if the branch is not one question and one answer."""
        if found[0].role == "system":
            self._losses.add("system", found[0].message_id)
            found = found[1:]
        question, answer = found[0], found[-1]
        if len(found) != 2 or answer.calls:
            self._losses.add("long", answer.message_id)
            return ""
        self._lose_reasoning(answer)
        return json_line({"prompt": question.content, "completion": answer.content})

    def pairs(self) -> Iterator[Piece]:
        tree, choices = self._excerpt.tree, self._excerpt.choices
        asked: list[MessageId] = []
        paired: set[MessageId] = set()
        for message in self._excerpt.messages:
            answers = [tree[child] for child in tree.children(message.id) if is_complete(tree[child])]
            if len(answers) > 1:
                shown = choices.get(message.id)
                chosen = next((answer for answer in answers if answer.id == shown), answers[-1])
                asked.append(message.id)
                for answer in answers:
                    paired.update((answer.id, *(note.id for note in self._calls_of(answer))))
                yield from self._pairs(message, chosen, [answer for answer in answers if answer is not chosen])
            yield Piece("", 1)
        self._lose_unpaired(paired | self._with_ancestors(asked))

    def _lose_unpaired(self, kept: Collection[MessageId]) -> None:
        for message in self._excerpt.messages:
            if message.id not in kept and message.role not in {"root", "system"}:
                is_broken_off = message.role == "assistant" and not is_complete(message)
                self._losses.add("incomplete" if is_broken_off else "unpaired", message.id)

    def _pairs(self, above: Message, chosen: Message, others: Sequence[Message]) -> Iterator[Piece]:
        self._line.go_to(above.id)
        prompt = self._line.turns
        if not prompt or prompt[-1].role not in {"user", "tool"}:
            self._losses.add("unasked", chosen.id)
            return
        wanted = answer_turn(chosen, self._calls_of(chosen), self._options)
        for other in others:
            record = self._pair(prompt, wanted, answer_turn(other, self._calls_of(other), self._options))
            if record:
                yield Piece(f"{record}\n")

    def _pair(self, prompt: list[Turn], chosen: Turn, other: Turn) -> str:
        """Return the record of a pair; empty if it has none."""
        if self._format != "axolotl":
            sides = f'"chosen":{self._messages([chosen])},"rejected":{self._messages([other])}'
            return f'{{"prompt":{self._messages(prompt)},{sides}{self._tools()}}}'
        # Axolotl reads only the roles and texts of a pair.
        if any(turn.calls for turn in (*prompt, chosen, other)):
            self._losses.add("with_tools", other.message_id)
            return ""
        for turn in (*prompt, chosen, other):
            self._lose_reasoning(turn)
        texts = [{"role": turn.role, "content": turn.content} for turn in (*prompt, chosen, other)]
        return json_line({"messages": texts[:-2], "chosen": texts[-2], "rejected": texts[-1]})

    def _calls_of(self, message: Message) -> list[Message]:
        """Return the notes below an answer that are its tool calls."""
        tree, below = self._excerpt.tree, list[Message]()
        last = message
        while (child := next((tree[child] for child in tree.children(last.id)), None)) is not None and _is_call(child):
            below.append(child)
            last = child
        return below

    def _with_ancestors(self, message_ids: Collection[MessageId]) -> set[MessageId]:
        found: set[MessageId] = set()
        for message_id in message_ids:
            current: MessageId | None = message_id
            while current is not None and current in self._excerpt.tree and current not in found:
                found.add(current)
                current = self._excerpt.tree[current].parent_id
        return found

    def _lose_reasoning(self, turn: Turn) -> None:
        if turn.reasoning:
            self._losses.add("reasoning", turn.message_id)

    # --- turns as JSON ---------------------------------------------------------------------------------------

    def _messages(self, found: Sequence[Turn]) -> str:
        for turn in found:
            if not turn.line:
                turn.line = json_line(self._message(turn))
        return f"[{','.join([turn.line for turn in found])}]"

    def _message(self, turn: Turn) -> dict[str, Any]:
        is_trainer = self._format in KINDS
        made: dict[str, Any] = {"role": turn.role, "content": turn.content if is_trainer else _with_thoughts(turn)}
        if turn.reasoning and is_trainer:
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
            made["tool_call_id"] = turn.call_id
            if is_trainer:
                made["name"] = turn.name
        return made

    def _arguments(self, arguments: dict[str, Any]) -> Any:
        # OpenAI writes JSON text, which Axolotl parses. mlx-lm and TRL give it to templates, which need an object.
        return arguments if self._format in {"mlx-lm", "trl"} else _as_json(arguments)

    def _sharegpt(self, found: Sequence[Turn]) -> Iterator[str]:
        """Yield the turns in ShareGPT's roles, in which the sides alternate: the results of several calls are one."""
        for is_result, group in itertools.groupby(found, lambda turn: turn.role == "tool"):
            turns = list(group)
            if is_result and len(turns) > 1:
                yield _sharegpt_line("observation", "\n\n".join(turn.content for turn in turns))
                continue
            for turn in turns:
                if not turn.line:
                    turn.line = self._sharegpt_turn(turn)
                yield turn.line

    def _sharegpt_turn(self, turn: Turn) -> str:
        if not turn.calls:
            return _sharegpt_line(_SHAREGPT_ROLES[turn.role], _with_thoughts(turn))
        # A turn is either words or calls.
        self._lose_reasoning(turn)
        if turn.content.strip():
            self._losses.add("words", turn.message_id)
        calls = [_sharegpt_call(call) for call in turn.calls]
        return _sharegpt_line("function_call", _as_json(calls if len(calls) > 1 else calls[0]))

    def _tools(self) -> str:
        """Return the field for the tools that the answers of a branch could call; empty if there were none."""
        tools: list[Any] = [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in self._line.tools
        ]
        if not tools:
            return ""
        if self._format != "sharegpt-jsonl":
            tools = [{"type": "function", "function": tool} for tool in tools]
        # TRL, Axolotl and readers of ShareGPT load tables, whose columns can't hold schemas of different forms.
        is_text = self._format in {"trl", "axolotl", "sharegpt-jsonl"}
        return f',"tools":{json_line(_as_json(tools) if is_text else tools)}'


def _is_marked(message: Message) -> bool:
    return bool(message.name) or message.starred_ms is not None or message.pinned_ms is not None


def _is_call(message: Message) -> bool:
    sent = None if message.record is None else message.record.sent
    return sent is not None and sent.call is not None


def _with_thoughts(turn: Turn) -> str:
    """Return a turn's words below its reasoning in tags, as models write it."""
    return f"<think>\n{turn.reasoning}\n</think>\n\n{turn.content}" if turn.reasoning else turn.content


def _sharegpt_line(role: str, text: str) -> str:
    return json_line({"from": role, "value": text})


def _sharegpt_call(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments}


def _as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def json_line(value: Any) -> str:
    """Return a value as JSON on one line, for every reader."""
    # Some readers treat these characters as line ends.
    return msgspec.json.encode(value).decode().translate(_LINE_BREAKS)
