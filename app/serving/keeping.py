"""Converts answered requests to conversations: their turns become messages of a tree, each found by its history.

The messages have exactly the text that the model processed, so an answer that the user generates below them has the
same prompt ids.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import UNSET, structs

from app.answers.prompt import finished
from app.model.generation_settings import GenerationSettings
from app.model.kept_requests import KeptRequest, KeptTurn, NewMessage
from app.model.message import Constraint, Message, Record, Sampling, Sent, State, Tool, ToolCall, without_tokens
from app.model.notes import fenced, note
from app.model.titles import title_of
from app.model.token_pieces import with_first_tokens
from app.serving.growing import end_of
from app.serving.history import chained, digest_of, digest_of_tools
from app.serving.relay import Exchange
from app.serving.turns import turn_of
from worker import protocol
from worker.protocol import Choice, FinishReason, Generate, ModelLoaded
from worker.tools.forms import form_named
from worker.tools.turn_parts import CallStarted, Content, Part, TurnReader

FOLDER = "Local API"
"""The name of the folder for conversations that are made of requests."""
_NO_SYSTEM_TEXT = b"no system text"


def kept_request(exchange: Exchange) -> KeptRequest | None:
    """Return an exchange in the form that is stored; None if it is not a chat, or has no answer."""
    generate, loaded = exchange.generate, exchange.loaded
    if generate.messages is UNSET or loaded is None:
        return None
    choices = [(number, choice) for number, choice in enumerate(exchange.finished.choices) if _is_answer(choice)]
    if not choices:
        return None
    history = _history(generate, loaded)
    answers = [_answer(exchange, loaded, choice, number) for number, choice in choices]
    above = bytes.fromhex(history[-1].key)
    first = next((message.content for message in generate.messages if message.role == "user"), "")
    return KeptRequest(
        history=history,
        answers=[KeptTurn(chained(above, [digest_of(turn)])[0].hex(), messages) for turn, messages in answers],
        name=": ".join(part for part in (exchange.client.name, title_of(first)) if part) or FOLDER,
        folder=FOLDER,
        model=loaded.model,
        generation=GenerationSettings(
            sampling=_sampling(generate, Sampling().max_tokens), template_options=generate.template_options or {}
        ),
    )


def _is_answer(choice: Choice) -> bool:
    return bool(choice.text) or choice.reason != "cancelled"


# --- the history -------------------------------------------------------------------------------------------


def _history(generate: Generate, loaded: ModelLoaded) -> list[KeptTurn]:
    messages = generate.messages or []
    tools = tuple(
        Tool(name=tool.name, description=tool.description, parameters=tool.parameters) for tool in generate.tools
    )
    has_system = bool(messages) and messages[0].role == "system"
    system, rest = (messages[0].content, messages[1:]) if has_system else ("", messages)
    is_blank = has_system and not system.strip()
    record = Record(tools=tools, sent=Sent() if is_blank else None)
    turns = [[NewMessage("system", system, record=record if tools or is_blank else None)]]
    before = ""
    for message in rest:
        turns.append(_messages(message, before, loaded))
        before = message.role
    digests = [digest_of(messages[0]) if has_system else _NO_SYSTEM_TEXT, *map(digest_of, rest)]
    keys = chained(digest_of_tools(generate.tools), digests)
    return [KeptTurn(key.hex(), turn) for key, turn in zip(keys, turns, strict=True)]


def _messages(message: protocol.Message, role_before: str, loaded: ModelLoaded) -> list[NewMessage]:
    """Return a message of a request in the form that is stored. `role_before`: the role of the previous message."""
    match message.role:
        case "user":
            # Otherwise, questions that follow each other are one turn.
            record = Record(sent=Sent()) if role_before == "user" else None
            return [NewMessage("user", message.content, record=record)]
        case "assistant":
            return _given_answer(message, loaded)
        case "tool":
            sent = Sent(role="tool", call_id=message.tool_call_id, name=message.name)
            label = f"Tool result: {message.name}".rstrip(": ")
            return [NewMessage("note", note(label, fenced(message.content)), record=Record(sent=sent))]
        case "system":
            text = note("System", fenced(message.content))
            return [NewMessage("note", text, record=Record(sent=Sent(role="system")))]


def _given_answer(message: protocol.Message, loaded: ModelLoaded) -> list[NewMessage]:
    """Return an answer that a client sent in its history."""
    ids = () if message.token_ids is UNSET else tuple(message.token_ids)
    record = Record(model=loaded.model, model_identity=loaded.identity, token_ids=ids) if ids else Record()
    written = message.content if message.written is UNSET else message.written
    if message.written is UNSET and (message.reasoning or message.tool_calls):
        return _with_calls(message, _composed(message), None, record)
    text = written if not message.tool_calls else _composed(message)
    return _with_calls(message, text, written, record)


def _composed(turn: protocol.Message) -> str:
    """Return an answer without its calls, with its reasoning in tags before it, as models write it."""
    reasoning = turn.reasoning.strip()
    return f"<think>\n{reasoning}\n</think>\n\n{turn.content}" if reasoning else turn.content


def _with_calls(
    turn: protocol.Message, text: str, written: str | None, record: Record, *, state: State = "complete"
) -> list[NewMessage]:
    """Return an answer, and a note for each of its calls.

    `text` is the part that the user reads. `written` is the whole text as the model generated it, which the record's
    tokens spell; None if it is not known.
    """
    sent = Sent(
        num_calls=len(turn.tool_calls),
        content=None if turn.content == text else turn.content,
        reasoning=turn.reasoning,
        written=None if written is None or written == text else written,
        token_ids=record.token_ids if written is not None and written != text else (),
    )
    is_plain = sent == Sent() and bool(text)
    if written is not None and written != text:
        record = _for_text(record, text)
    record = structs.replace(record, sent=None if is_plain else sent)
    calls = [ToolCall(name=call.name, arguments=call.arguments, id=call.id) for call in turn.tool_calls]
    return [
        NewMessage("assistant", text, state, None if record == Record() else record),
        *(NewMessage("note", _call_text(call), record=Record(sent=Sent(call=call))) for call in calls),
    ]


def _call_text(call: ToolCall) -> str:
    arguments = msgspec.json.format(msgspec.json.encode(call.arguments), indent=2).decode()
    return note(f"Tool call: {call.name}", fenced(arguments, "json"))


def _for_text(record: Record, text: str) -> Record:
    """Return a record with the tokens of the turn's beginning that spell `text`; without tokens if none do."""
    num_chars = num_tokens = 0
    for num_chars_of_one in record.token_chars:
        if num_chars >= len(text):
            break
        num_chars += num_chars_of_one
        num_tokens += 1
    if num_chars != len(text):
        return without_tokens(record)
    return with_first_tokens(record, num_tokens)


# --- the answers -------------------------------------------------------------------------------------------


def _answer(
    exchange: Exchange, loaded: ModelLoaded, choice: Choice, number: int
) -> tuple[protocol.Message, list[NewMessage]]:
    """Return an answer as a turn of later requests, and the messages that are stored."""
    generate = exchange.generate
    continuation = generate.continuation
    given = "" if continuation is None or continuation.text is UNSET else continuation.text
    given = given[: len(given) - choice.num_given_chars]
    before = Message(id=0, parent_id=None, role="assistant", text=given, record=_record(exchange, generate, loaded))
    tokens = exchange.tokens[number] if number < len(exchange.tokens) else ()
    answer = finished(before, [], tokens, exchange.finished, number)
    assert answer.record is not None
    opens_reasoning = exchange.opens_reasoning and not given
    parts = _parts(answer.text, choice.reason, generate, loaded, opens_reasoning=opens_reasoning)
    turn = turn_of(parts)
    if turn is None:
        # A broken call is text.
        turn = protocol.Message(role="assistant", content=answer.text)
    text = answer.text if not turn.tool_calls else _before_calls(answer.text, turn, parts, loaded)
    return turn, _with_calls(turn, text, answer.text, answer.record, state=answer.state)


def _parts(
    text: str, reason: FinishReason, generate: Generate, loaded: ModelLoaded, *, opens_reasoning: bool
) -> list[Part]:
    has_tools = bool(generate.tools) and generate.tool_choice != "none"
    form = None if loaded.tool_form is None else form_named(loaded.tool_form)
    reader = TurnReader(
        form if form is not None and (has_tools or form.frames_text) else None,
        loaded.reasoning,
        {tool.name: tool.parameters for tool in generate.tools},
        starts_in_reasoning=opens_reasoning,
    )
    return [*reader.feed(text), *end_of(reader, reason)]


def _before_calls(written: str, turn: protocol.Message, parts: Sequence[Part], loaded: ModelLoaded) -> str:
    """Return a turn's text before its first tool call. If other text follows the calls, compose it of the parts."""
    kinds = [CallStarted if isinstance(part, CallStarted) else Content for part in parts if _is_visible(part)]
    if Content in kinds and kinds.index(CallStarted) < len(kinds) - 1 - kinds[::-1].index(Content):
        return _composed(turn)
    if turn.content:
        position = written.rfind(turn.content)
        return written[: position + len(turn.content)] if position >= 0 else _composed(turn)
    if turn.reasoning and loaded.reasoning is not None:
        position = written.find(loaded.reasoning.end)
        return written[: position + len(loaded.reasoning.end)] if position >= 0 else _composed(turn)
    return ""


def _is_visible(part: Part) -> bool:
    return isinstance(part, CallStarted) or (isinstance(part, Content) and bool(part.text.strip()))


def _record(exchange: Exchange, generate: Generate, loaded: ModelLoaded) -> Record:
    """Return the record of an answer with the values that are known before it begins."""
    constraint, choice = generate.constraint, generate.tool_choice
    return Record(
        model=loaded.model,
        model_identity=loaded.identity,
        versions=loaded.versions,
        sampling=_sampling(generate, loaded.context_length),
        template_options=generate.template_options or {},
        constraint=None
        if constraint is None
        else Constraint(kind=constraint.kind, value=constraint.value, covers=constraint.covers),
        draft="auto" if generate.draft == "model" else generate.draft,
        overflow=generate.overflow,
        top_logprobs=generate.top_logprobs,
        client=exchange.client.name,
        read_again=exchange.read_again,
        dropped=tuple(exchange.dropped),
        tool_choice="required" if isinstance(choice, protocol.NamedTool) else choice,
        named_tool=choice.name if isinstance(choice, protocol.NamedTool) else "",
        calls_once=not generate.parallel_tool_calls,
    )


def _sampling(generate: Generate, most_tokens: int) -> Sampling:
    """Return the sampling of a request. `most_tokens`: the maximum number of tokens if the request sets none."""
    sampling = msgspec.convert(generate.sampling, Sampling, from_attributes=True)
    return structs.replace(sampling, max_tokens=generate.max_tokens or most_tokens, stop=tuple(generate.stop))
