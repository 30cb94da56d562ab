"""Replay of an answer of a server, which is compared by its text. It has the methods of `replay.Replay`.

Neither a server's tokens nor its weights are known. So where the text differs, the server is asked once more with the
same seed: if it then answers in a third way, it does not keep to seeds.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from app.answers.prompt import generate
from app.model.message import Message
from app.replay.verdict import Verdict
from worker.protocol import Cancel, Chunk, Command, Event, Failed, Finished
from worker.sentence import Sentence

_SHOWN_CHARS = 40
"""How much of the two texts is shown from the first difference on."""
_MORE_CHARS = 200
"""How much of a text that differs is read, so that two such texts can be compared."""


def why_text_is_not_comparable(message: Message) -> Sentence | None:
    """Return why an answer of a server can't come again as a whole; None if it can."""
    record = message.record
    if record is None or record.seed is None:
        return Sentence("The seed of this answer is not known.")
    if record.earlier:
        return Sentence("This answer continues a given text, so a server can't write it again as a whole.")
    return None


class TextReplay:
    """The replay of one answer. The caller sends the commands that `start` and `take` return to the worker."""

    def __init__(self, message: Message, prompt: Sequence[Message]) -> None:
        """`prompt` holds the messages before the answer, which has a seed."""
        assert message.record is not None
        self.verdict: Verdict | None = None
        """The result; None until the replay has ended."""
        self._message = message
        self._record = message.record
        self._prompt = prompt
        self._texts = [""]
        """The new text; after a difference, also that of the second try."""
        self._request_id = ""

    @property
    def progress(self) -> float:
        """The fraction of the answer that is done, from 0 to 1."""
        return 1.0 if self.verdict is not None else min(1.0, len(self._texts[0]) / max(1, len(self._message.text)))

    def start(self) -> Command:
        """Return the first command."""
        self._request_id = f"replay-{self._message.id}-text-{len(self._texts)}"
        bare = structs.replace(self._message, text="", record=structs.replace(self._record, overflow="fail"))
        return generate(self._request_id, bare, self._prompt)

    def stop(self) -> Command:
        """Stop the replay; return the command that cancels the current request."""
        self._end(error=Sentence("The run was stopped."))
        return self._cancel()

    def take(self, event: Event) -> list[Command]:
        """Handle an event of the worker, which may belong to another request; return the next commands."""
        if self.verdict is not None or event.request_id != self._request_id:
            return []
        match event:
            case Chunk() if event.choice == 0:
                self._texts[-1] += event.text
                return [self._cancel()] if self._is_enough else []
            case Finished():
                return self._finished()
            case Failed():
                self._end(error=event.sentence)
                return []
            case _:
                return []

    def _cancel(self) -> Command:
        return Cancel(request_id=f"{self._request_id}-cancel", target=self._request_id)

    @property
    def _is_whole(self) -> bool:
        """Whether the stored answer came to its own end."""
        return self._record.reason is not None and self._message.state == "complete"

    @property
    def _is_enough(self) -> bool:
        """Whether no more text is needed for a verdict."""
        length, at = len(self._texts[-1]), self._first_difference
        if at is not None:
            return length > at + _MORE_CHARS
        return not self._is_whole and length >= len(self._message.text)

    @property
    def _first_difference(self) -> int | None:
        """The number of characters before the first difference; None if there is none so far."""
        new, stored = self._texts[0], self._message.text
        if new == stored or stored.startswith(new) or (not self._is_whole and new.startswith(stored)):
            return None
        pairs = enumerate(zip(new, stored, strict=False))
        return next((at for at, (one, other) in pairs if one != other), min(len(new), len(stored)))

    def _finished(self) -> list[Command]:
        new, stored = self._texts[0], self._message.text
        if new == stored or (not self._is_whole and new.startswith(stored)):
            self._end(matched=True)
            return []
        if len(self._texts) == 1:
            self._texts.append("")
            return [self.start()]
        num_common = min(map(len, self._texts))
        keeps_seed = self._texts[0][:num_common] == self._texts[1][:num_common]
        self._end(
            reason=Sentence(
                "It answers the same seed in the same way now. So its model, its version or its settings have changed."
            )
            if keeps_seed
            else Sentence("It gave two different answers to the same seed just now, so it does not keep to seeds.")
        )
        return []

    def _end(self, *, matched: bool = False, reason: Sentence | None = None, error: Sentence | None = None) -> None:
        at = self._first_difference
        new, stored = self._texts[0], self._message.text
        # The new text may be only the beginning of the stored one.
        at = min(len(new), len(stored)) if at is None and not matched else at
        remarks: list[Sentence] = []
        if error is None:
            remarks.append(Sentence("Only the text was compared, because the tokens of a server are not known."))
        if error is None and at is not None:
            then, now = stored[at : at + _SHOWN_CHARS], new[at : at + _SHOWN_CHARS]
            remarks.insert(0, Sentence("It was “{then}…” and is “{now}…” now.", then=then, now=now))
        self.verdict = Verdict(
            message_id=self._message.id,
            model=self._record.model,
            matched=matched,
            num_chars=len(stored),
            num_same_chars=len(stored) if at is None else at,
            reasons=() if reason is None else (reason,),
            remarks=tuple(remarks),
            error=error,
        )
