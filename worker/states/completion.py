"""Requests that are done when the call returns: several as one batch, by the engine's steps; it knows no states."""

from __future__ import annotations

from collections.abc import Sequence

from worker.errors import (
    BadRequestError,
    ConstraintInvalidError,
    ContextOverflowError,
    WorkerError,
    WorkerOutOfMemoryError,
)
from worker.protocol import Chunk, Failed, Finished, Generate, RequestId, Retract, Token, Usage
from worker.requests.engine import Engine
from worker.requests.request import Ticket

_ERRORS: dict[str, type[WorkerError]] = {
    error.kind: error
    for error in (BadRequestError, ContextOverflowError, ConstraintInvalidError, WorkerOutOfMemoryError)
}


def answered(engine: Engine, commands: Sequence[Generate]) -> list[tuple[Finished, list[list[Token]]]]:
    """Have all requests answered, as one batch; of each its end, and of each of its choices the tokens drawn.

    Raises what the first one of those that failed ended in.
    """
    if engine.is_busy:
        raise RuntimeError("The engine is answering something else. Wait for it, or load the model a second time.")
    tickets = [Ticket(command.request_id) for command in commands]
    tokens: dict[RequestId | None, list[list[Token]]] = {
        command.request_id: [[] for _ in range(command.n)] for command in commands
    }
    ends: dict[RequestId | None, Finished | Failed] = {}
    try:
        for command, ticket in zip(commands, tickets, strict=True):
            engine.add(command, ticket)
        while engine.is_busy:
            for event in engine.step():
                match event:
                    case Chunk():
                        tokens[event.request_id][event.choice] += event.tokens
                    case Retract():
                        drawn = tokens[event.request_id][event.choice]
                        del drawn[len(drawn) - event.num_tokens :]
                    case Finished() | Failed():
                        ends[event.request_id] = event
                    case _:
                        pass
    except BaseException:
        # Whoever interrupts this may ask for something else.
        for ticket in tickets:
            ticket.cancel()
        while engine.is_busy:
            engine.step()
        raise
    done: list[tuple[Finished, list[list[Token]]]] = []
    for command in commands:
        end = ends[command.request_id]
        if isinstance(end, Failed):
            raise _ERRORS.get(end.kind, WorkerError)(end.sentence)
        done.append((end, tokens[command.request_id]))
    return done


def total(usages: Sequence[Usage]) -> Usage:
    """Return what several requests have cost together; memory is what the one that needed most did."""
    names = Usage.__struct_fields__
    costs = {name: [getattr(usage, name) for usage in usages] for name in names}
    peaks = costs.pop("peak_memory_bytes")
    return Usage(**{name: sum(each) for name, each in costs.items()}, peak_memory_bytes=max(peaks, default=0))
