"""The commands that wait for earlier loads and answers, in their order. Each operation takes constant time."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeAlias

from worker.host import Question
from worker.protocol import Generate, LoadModel, RequestId, UnloadModel
from worker.requests.request import Ticket

Job: TypeAlias = LoadModel | UnloadModel
"""Commands that change the loaded model. They run alone."""

Entry: TypeAlias = tuple[Job | Generate | Question, Ticket]


class WaitingLine:
    """Waiting commands by their request ids."""

    def __init__(self) -> None:
        self._entries: OrderedDict[RequestId, Entry] = OrderedDict()
        self.num_jobs = 0
        """How many of the commands are loads or unloads."""

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def first(self) -> Entry:
        return next(iter(self._entries.values()))

    @property
    def last(self) -> Entry:
        return next(reversed(self._entries.values()))

    def get(self, request_id: RequestId) -> Entry | None:
        return self._entries.get(request_id)

    def add(self, command: Job | Generate | Question, ticket: Ticket) -> None:
        """Append a command, whose request id must not be in use."""
        self._entries[command.request_id] = command, ticket
        self.num_jobs += isinstance(command, LoadModel | UnloadModel)

    def remove(self, request_id: RequestId) -> None:
        command, _ = self._entries.pop(request_id)
        self.num_jobs -= isinstance(command, LoadModel | UnloadModel)
