"""Answers of a model with their records, as the app has a real worker write them, without window and store."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from app.answers.prompt import finished, generate
from app.model.message import Message, Record
from worker.process import WorkerClient
from worker.protocol import CacheOptions, Chunk, Event, Failed, Finished, Forked, LoadModel, ModelLoaded, Token


class Writer:
    """A real worker with a model, and answers written as the app would request them."""

    def __init__(self, hooks_folder: Path | None = None, model: str = "guide") -> None:
        self.client = WorkerClient(hooks_folder=hooks_folder)
        self.client.send(LoadModel(request_id="load", model=model, cache=CacheOptions(disk_limit_bytes=0)))
        while not isinstance(event := self.client.receive(), ModelLoaded):
            assert not isinstance(event, Failed)
        self.loaded = event
        self._model = model
        self._num_asked = 0
        self.prompt = [
            Message(id=1, parent_id=None, role="root", text=""),
            Message(id=2, parent_id=1, role="user", text="What is a branch?"),
        ]

    def write(self, record: Record, before: Message | None = None) -> Message:
        """Write an answer, or continue one."""
        return self.write_forked(record, before)[0]

    def write_forked(self, record: Record, before: Message | None = None) -> list[Message]:
        """Write an answer, and those that hooks fork from it."""
        signed = structs.replace(
            record, model=self._model, model_identity=self.loaded.identity, versions=self.loaded.versions
        )
        message = Message(id=3, parent_id=2, role="assistant", text="", record=signed)
        if before is not None:
            message = structs.replace(before, record=signed)
        self._num_asked += 1
        self.client.send(generate(f"answer-{self._num_asked}", message, self.prompt))
        tokens: dict[int, list[Token]] = {0: []}
        while True:
            match self._next(f"answer-{self._num_asked}"):
                case Chunk() as chunk:
                    tokens[chunk.choice] += chunk.tokens
                case Forked() as fork:
                    tokens[fork.choice] = tokens[fork.parent][: fork.num_tokens]
                case Finished() as event:
                    return [finished(message, self.prompt, tokens[number], event, number) for number in tokens]
                case Failed() as event:
                    raise AssertionError(event.message)
                case _:
                    pass

    def _next(self, request_id: str) -> Event:
        while (event := self.client.receive()).request_id != request_id:
            pass
        return event
