"""Converts messages to the worker's commands, and its events to records."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

import msgspec
from msgspec import UNSET

from app.model.attachment import text_read
from app.model.message import (
    ORIGINS,
    Alternative,
    Constraint,
    Earlier,
    Figures,
    HookRecord,
    Message,
    Record,
    SampledToken,
    Sent,
    State,
    is_part,
    with_error,
    with_sampled,
    without_tokens,
)
from app.model.notes import fenced_text
from app.model.project import is_of_project
from worker import protocol
from worker.protocol import Choice, Continuation, Finished, Generate, RequestId, Token
from worker.sentence import Sentence, SentenceParts

_OF_USER = {"user", "file"}
_STATES: dict[str, State] = {"length": "cut", "cancelled": "stopped"}


def generate(request_id: RequestId, message: Message, prompt: Sequence[Message], *, num_answers: int = 1) -> Generate:
    """Return the command to answer `prompt`. Existing text of `message`, and of its parts above, is continued."""
    record = message.record or Record()
    prompt, before = split_continued(message, prompt)
    sampling = record.sampling
    offered = tools(prompt)
    choice = protocol.NamedTool(name=record.named_tool) if record.named_tool else record.tool_choice
    return Generate(
        request_id=request_id,
        messages=turns(prompt),
        tools=offered,
        tool_choice=choice if offered else "auto",
        parallel_tool_calls=not record.calls_once,
        template_options=record.template_options or UNSET,
        continuation=continuation_of(message, before),
        sampling=_sampling(record),
        stop=list(sampling.stop),
        max_tokens=sampling.max_tokens,
        n=num_answers,
        overflow=record.overflow,
        constraint=None if record.constraint is None else worker_constraint(record.constraint),
        hooks=list(record.hooks),
        hook_options=record.hook_options,
        draft=record.draft,
        top_logprobs=record.top_logprobs,
    )


def _sampling(record: Record) -> protocol.Sampling:
    settings = msgspec.convert(record.sampling, protocol.Sampling, from_attributes=True)
    return msgspec.structs.replace(settings, seed=record.seed) if settings.seed is None else settings


def split_continued(message: Message, prompt: Sequence[Message]) -> tuple[Sequence[Message], str]:
    """Return the prompt of an answer without the parts of it that are above `message`, and the text of these parts."""
    if not is_part(message):
        return prompt, ""
    first = len(prompt) - 1
    while first > 0 and is_part(prompt[first]):
        first -= 1
    return prompt[:first], _joined(part.text for part in prompt[first:] if part.role == "assistant")


def continuation_of(message: Message, before: str = "") -> Continuation | None:
    """Return the beginning of an answer, which the worker should continue; None if the answer is empty.

    `before` is the text of the answer's parts above `message`.
    """
    if before:
        return Continuation(text=_joined((before, message.text)))
    record = message.record or Record()
    if record.token_ids and record.origins.endswith(ORIGINS["chosen"]) and sum(record.token_chars) == len(message.text):
        # The user chose the last token itself, not its text.
        return Continuation(token_ids=list(record.token_ids))
    # The ids are exact as far as they spell the text. After a worker's death they may spell more or less of it; then
    # the worker heals the join.
    return Continuation(text=message.text, known_ids=list(record.token_ids)) if message.text else None


def worker_constraint(constraint: Constraint) -> protocol.Constraint:
    return protocol.Constraint(kind=constraint.kind, value=constraint.value, covers=constraint.covers)


def tools(path: Sequence[Message]) -> list[protocol.Tool]:
    """Return the tools that the model may call in answers of a branch, as its system prompt lists them."""
    found = next((message.record.tools for message in path if message.role == "system" and message.record), ())
    return [protocol.Tool(name=tool.name, description=tool.description, parameters=tool.parameters) for tool in found]


def turns(path: Sequence[Message]) -> list[protocol.Message]:
    """Return the turns of a branch that become the model's prompt.

    Empty system prompts, notes and empty answers are left out. Consecutive questions become one turn, with their files.
    So do consecutive answers, which come from other programs' files: templates demand that both alternate.
    The files of a project are a part of its system prompt, if it has one.
    Messages that another program sent become turns unchanged. The tool calls of an answer are a part of its turn.
    """
    return [turn for messages in _grouped(path) if (turn := _turn(messages)) is not None]


Place: TypeAlias = Literal["none", "joined", "new"]


def place_of(message: Message, last: Sequence[Message]) -> Place:
    """Return whether a message is left out, joins the last turn (`last` are its messages), or begins a new turn."""
    sent = _sent(message)
    if message.role == "root":
        return "none"
    if sent is not None:
        is_call = sent.call is not None
        return "new" if not is_call else "joined" if last and last[0].role == "assistant" else "none"
    if message.role == "note" or (message.role == "system" and not message.text.strip()):
        return "none"
    if message.role == "assistant" and not message.text:
        return "none"
    if message.role == "assistant":
        return "joined" if last and last[0].role == "assistant" and _sent(last[0]) is None else "new"
    if message.role == "file" and is_of_project(message) and last and last[0].role == "system":
        # They end where the system turn ends, so that a model whose cache can't be trimmed keeps its state there.
        return "joined"
    return "joined" if message.role in _OF_USER and last and last[0].role in _OF_USER else "new"


def _grouped(path: Sequence[Message]) -> list[list[Message]]:
    """Return the messages that are part of the prompt, grouped by turn."""
    groups: list[list[Message]] = []
    for message in path:
        match place_of(message, groups[-1] if groups else ()):
            case "joined":
                groups[-1].append(message)
            case "new":
                groups.append([message])
            case "none":
                pass
    return groups


def _sent(message: Message) -> Sent | None:
    return None if message.record is None else message.record.sent


def _turn(messages: Sequence[Message]) -> protocol.Message | None:
    """Return the turn of these messages; None for an answer without text whose tool calls have all been removed."""
    first, sent = messages[0], _sent(messages[0])
    if first.role == "assistant":
        return _answer(messages)
    if first.role == "note":
        content = fenced_text(first.text)
        if sent is not None and sent.role == "tool":
            return protocol.Message(role="tool", content=content, tool_call_id=sent.call_id, name=sent.name)
        return protocol.Message(role="system", content=content)
    texts = [text_read(message) for message in messages]
    role = "user" if first.role in _OF_USER else "system"
    return protocol.Message(role=role, content=_joined(texts))


def _answer(messages: Sequence[Message]) -> protocol.Message | None:
    """Return the turn of an answer and the notes of its tool calls.

    If one of the notes is missing, the tokens of the turn are not known.
    """
    first, sent = messages[0], _sent(messages[0]) or Sent()
    if len(messages) > 1 and messages[1].role == "assistant":
        return protocol.Message(role="assistant", content=_joined(message.text for message in messages))
    calls = [
        protocol.ToolCall(name=call.name, arguments=call.arguments, id=call.id)
        for message in messages[1:]
        if (record := message.record) is not None and record.sent is not None and (call := record.sent.call) is not None
    ]
    ids = sent.token_ids or (() if first.record is None else first.record.token_ids)
    if len(calls) < sent.num_calls:
        if not (first.text or calls):
            return None
        ids = ()
    content = first.text if sent.content is None else sent.content
    written = first.text if sent.written is None else sent.written
    is_plain = written == content and not calls
    return protocol.Message(
        role="assistant",
        content=content,
        reasoning=sent.reasoning,
        tool_calls=calls,
        token_ids=list(ids) if ids else UNSET,
        written=UNSET if is_plain or not ids else written,
    )


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text)


def _num_left_out(prompt: Sequence[Message], num_turns: int) -> int:
    """Return the number of messages in the oldest `num_turns` turns after the system prompt."""
    after_system = [group for group in _grouped(prompt) if group[0].role != "system"]
    return sum(len(group) for group in after_system[:num_turns])


def without_oldest(prompt: Sequence[Message], num_messages: int) -> list[Message]:
    """Return a prompt without the oldest `num_messages` messages after the system prompt."""
    after_system = [message for group in _grouped(prompt) if group[0].role != "system" for message in group]
    left_out = {message.id for message in after_system[:num_messages]}
    return [message for message in prompt if message.id not in left_out]


def finished(
    message: Message, prompt: Sequence[Message], tokens: Sequence[Token], event: Finished, number: int = 0
) -> Message:
    """Return the message of one choice of a request that has finished.

    `message` and `prompt` are from the request. `tokens` are all received tokens, including tokens whose text was not
    kept. `number` is the number of the choice.
    """
    choice, usage, timing = event.choices[number], event.usage, event.timing
    before = message.record or Record()
    if choice.text and any(token.id < 0 for token in tokens):
        before = _with_described(before, message.text, choice, tokens)
    elif choice.text:
        before = _with_tokens(before, choice, tokens)
    # If the choice is empty, the message keeps its earlier tokens.
    record = msgspec.structs.replace(
        before,
        seed=choice.seed,
        reason=choice.reason,
        stop=choice.stop,
        error=None,
        error_parts=None,
        notices=_new_notices(event, prompt),
        chunk_tokens=usage.chunk_tokens,
        ended_ms=_now_ms(),
        hook_records=tuple(
            HookRecord(
                name=use.name, calls=use.calls, total_ms=use.total_ms, longest_ms=use.longest_ms, is_off=use.is_off
            )
            for use in event.hooks
            if use.choice == number
        ),
        figures=Figures(
            prompt_tokens=usage.prompt_tokens,
            kept_tokens=usage.cached_tokens,
            is_kept_known=usage.is_cached_known,
            read_tokens=usage.prefilled_tokens,
            new_tokens=usage.generated_tokens if len(event.choices) == 1 else len(choice.token_ids),
            forced_tokens=usage.forced_tokens,
            draft_tokens=usage.draft_tokens,
            accepted_tokens=usage.accepted_tokens,
            queue_ms=timing.queue_ms,
            prefill_ms=timing.prefill_ms,
            # An answer stopped while its prompt was read has no first word.
            first_word_ms=timing.queue_ms + timing.ttft_ms if timing.ttft_ms else 0.0,
            tokens_per_s=timing.decode_tokens_per_s,
            memory_bytes=usage.peak_memory_bytes,
            left_out_messages=_num_left_out(prompt, usage.dropped_messages),
        ),
    )
    if is_part(message):
        # The tokens are those of all parts.
        record = without_tokens(record)
    state = _STATES.get(choice.reason, "complete")
    return msgspec.structs.replace(message, text=message.text + choice.text, state=state, record=record)


def _new_notices(event: Finished, prompt: Sequence[Message]) -> tuple[SentenceParts, ...]:
    """Return the notices of an answer that no earlier answer of its branch has."""
    notices = {repr(notice) for message in prompt if message.record is not None for notice in message.record.notices}
    return tuple(notice.sentence.parts for notice in event.notices if repr(notice.sentence.parts) not in notices)


def broken_off(message: Message, state: State, error: Sentence | None) -> Message:
    """Return a message whose answer failed or was stopped. `error` says why; None means that the user stopped it."""
    record = msgspec.structs.replace(with_error(message.record, error), ended_ms=_now_ms())
    return msgspec.structs.replace(message, state=state, record=record)


def sampled(tokens: Sequence[Token]) -> tuple[SampledToken, ...]:
    """Return tokens of the protocol in the form that is stored."""
    return tuple(
        SampledToken(token.id, ORIGINS[token.origin], token.logprob, _alternatives(token), token.num_chars)
        for token in tokens
    )


def _alternatives(token: Token) -> tuple[Alternative, ...]:
    return tuple(Alternative(other.id, other.text, other.logprob) for other in token.top)


def _with_tokens(before: Record, choice: Choice, tokens: Sequence[Token]) -> Record:
    """Return a record with the ids of the whole turn, and the origin, probability and alternatives of each.

    The new tokens are at the turn's end, before those that were tokenized again. Earlier tokens keep their facts.
    """
    ids = tuple(choice.turn_token_ids)
    num_sampled = _num_kept(ids, tokens, choice.num_recut, len(before.token_ids))
    num_given = len(ids) - num_sampled - choice.num_recut
    origins = [ORIGINS["given"]] * num_given + [ORIGINS["recut"]] * (num_sampled + choice.num_recut)
    logprobs: list[float | None] = [None] * len(ids)
    alternatives: list[tuple[Alternative, ...]] = [()] * len(ids)
    for index, (now, then) in enumerate(zip(ids[:num_given], before.token_ids, strict=False)):
        if now != then:
            break
        origins[index] = before.origins[index : index + 1] or origins[index]
        logprobs[index] = before.logprobs[index] if index < len(before.logprobs) else None
        alternatives[index] = before.alternatives[index] if index < len(before.alternatives) else ()
    for index, token in enumerate(tokens[:num_sampled], num_given):
        origins[index] = ORIGINS[token.origin]
        logprobs[index] = token.logprob
        alternatives[index] = _alternatives(token)
    return msgspec.structs.replace(
        before,
        token_ids=ids,
        earlier=(
            *[msgspec.structs.replace(part, end=min(part.end, num_given)) for part in before.earlier],
            # The part after a fork has a seed of its own.
            *[
                Earlier(
                    end=num_given + min(part.num_tokens, num_sampled),
                    seed=part.seed,
                    sampling=before.sampling,
                    has_forked=True,
                )
                for part in choice.drawn_before
            ],
        ),
        token_chars=tuple(choice.turn_token_chars),
        origins="".join(origins),
        logprobs=tuple(logprobs) if any(logprob is not None for logprob in logprobs) else (),
        alternatives=tuple(alternatives) if any(alternatives) else (),
    )


def _with_described(before: Record, given: str, choice: Choice, tokens: Sequence[Token]) -> Record:
    """Return a record with the tokens of a server's answer, whose ids are not known.

    `given` is the beginning that was continued; where its tokens are not known, it counts as one. Tokens after the text
    are left out, and the last one is cut where a stop string cut it.
    """
    kept = before if sum(before.token_chars) <= len(given) else without_tokens(before)
    num_left = len(given) - sum(kept.token_chars)
    found = [SampledToken(-1, ORIGINS["given"], num_chars=num_left)] if num_left else []
    num_left = len(choice.text)
    for token in sampled(tokens):
        if not num_left:
            break
        is_cut = token.num_chars > num_left
        found.append(
            SampledToken(
                token.id,
                ORIGINS["recut"] if is_cut else token.origin,
                token.logprob,
                token.alternatives,
                min(token.num_chars, num_left),
            )
        )
        num_left -= found[-1].num_chars
    is_known = not num_left and any(token.logprob is not None for token in found)
    return with_sampled(kept, found) if is_known else without_tokens(before)


def _num_kept(ids: Sequence[int], tokens: Sequence[Token], num_recut: int, num_before: int) -> int:
    """Return how many of the received tokens are at the turn's end, before those that were tokenized again.

    After token healing, they begin before the end of the earlier tokens.
    """
    new = [token.id for token in tokens]
    end = len(ids) - num_recut
    for num in (end - num_before, *range(min(len(new), end), 0, -1)):
        if 0 < num <= len(new) and list(ids[end - num : end]) == new[:num]:
            return num
    return 0


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
