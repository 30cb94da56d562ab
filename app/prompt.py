"""What the worker is asked for an answer, and what its end says of it: messages to commands, events to records."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from app.model.message import Figures, Message, Record, State
from worker import protocol
from worker.protocol import Continuation, Finished, Generate, RequestId

_STATES: dict[str, State] = {"length": "cut", "cancelled": "stopped"}


def generate(request_id: RequestId, message: Message, prompt: Sequence[Message]) -> Generate:
    """Return the command that answers `prompt`; text that the answer has already is gone on from."""
    record = message.record or Record()
    sampling = record.sampling
    continuation = None
    if message.text:
        # Ids are exact; where none are kept (the worker died), the seam in the text is healed.
        ids = list(record.token_ids)
        continuation = Continuation(token_ids=ids) if ids else Continuation(text=message.text)
    return Generate(
        request_id=request_id,
        messages=turns(prompt),
        continuation=continuation,
        sampling=protocol.Sampling(temperature=sampling.temperature, top_p=sampling.top_p, seed=sampling.seed),
        stop=list(sampling.stop),
        max_tokens=sampling.max_tokens,
        overflow=record.overflow,
    )


def turns(path: Sequence[Message]) -> list[protocol.Message]:
    """Return what the model is to read of a branch.

    No empty system prompt, no answer that never came to its first word, one turn where questions stand in a row.
    """
    return [_turn(said) for said in _said(path)]


def _said(path: Sequence[Message]) -> list[list[Message]]:
    """The messages that the model is to read, those of one turn together."""
    said: list[list[Message]] = []
    for message in path:
        if message.role == "root" or (message.role == "system" and not message.text.strip()):
            continue
        if message.role == "assistant" and not message.text:
            continue
        if message.role == "user" and said and said[-1][-1].role == "user":
            said[-1].append(message)
        else:
            said.append([message])
    return said


def _turn(said: Sequence[Message]) -> protocol.Message:
    first = said[0]
    if first.role == "assistant" and first.record is not None and first.record.token_ids:
        return protocol.Message(role="assistant", content=first.text, token_ids=list(first.record.token_ids))
    # A root is never said.
    role = first.role if first.role != "root" else "system"
    return protocol.Message(role=role, content="\n\n".join(message.text for message in said))


def _num_left_out(prompt: Sequence[Message], num_turns: int) -> int:
    """How many messages the oldest turns behind the system prompt are."""
    behind = [said for said in _said(prompt) if said[0].role != "system"]
    return sum(len(said) for said in behind[:num_turns])


def finished(message: Message, prompt: Sequence[Message], event: Finished) -> Message:
    """Return a message, as it was when the model was asked, with what the model made of it and of its prompt."""
    choice, usage, timing = event.choices[0], event.usage, event.timing
    before = message.record or Record()
    record = msgspec.structs.replace(
        before,
        # An answer that was stopped before it went on is what it was.
        token_ids=tuple(choice.turn_token_ids) if choice.text else before.token_ids,
        seed=choice.seed,
        reason=choice.reason,
        stop=choice.stop,
        error=None,
        figures=Figures(
            prompt_tokens=usage.prompt_tokens,
            kept_tokens=usage.cached_tokens,
            read_tokens=usage.prefilled_tokens,
            new_tokens=usage.generated_tokens,
            first_word_ms=timing.queue_ms + timing.ttft_ms,
            tokens_per_s=timing.decode_tokens_per_s,
            left_out_messages=_num_left_out(prompt, usage.dropped_messages),
        ),
    )
    state = _STATES.get(choice.reason, "complete")
    return msgspec.structs.replace(message, text=message.text + choice.text, state=state, record=record)


def broken_off(message: Message, new_text: str, state: State, error: str | None) -> Message:
    """Return a message, as it was when the model was asked, with what had come when it ended otherwise."""
    before = message.record or Record()
    # The ids of text that came without its end are not known.
    token_ids = () if new_text else before.token_ids
    record = msgspec.structs.replace(before, error=error, token_ids=token_ids, reason=None, stop=None)
    return msgspec.structs.replace(message, text=message.text + new_text, state=state, record=record)
