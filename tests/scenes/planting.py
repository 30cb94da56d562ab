"""Conversations written into a store by hand, each of which shows one thing."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from random import Random

from app.catalog.download_jobs import Download, DownloadJobs, id_of
from app.catalog.entry import RemoteFile, RemoteModel
from app.model.message import Alternative, Figures, Message, Record, with_error
from app.model.store import Store
from app.places import Places
from tests.scenes import texts
from worker.sentence import Sentence

_FIGURES = Figures(
    prompt_tokens=812, kept_tokens=798, read_tokens=14, new_tokens=96, first_word_ms=50, tokens_per_s=230
)
_RECORD = Record(model="guide", figures=_FIGURES)
_WORDS = "how a branch parts where one asks again and what is kept of it when the model has read it once"
_TOKENS = ("A", " branch", " is", " one", " path", " through", " the", " tree", ",", " from", " the", " root", ".")
_TOO_LONG = Sentence(
    "The prompt has {num_tokens} tokens, but the context of the model holds {context_length} tokens, "
    "the answer included. Shorten the message, or continue from an earlier one.",
    num_tokens=2310,
    context_length=2048,
)


PAUSED = RemoteModel(
    repo="mlx-community/gemma-3-4b-it-4bit",
    title="Gemma 3 4B",
    files=(RemoteFile(path="model.safetensors", num_bytes=2_600_000_000),),
    num_bytes=2_600_000_000,
)
"""A model on the hub whose download is paused."""


def plant_paused_download(places: Places) -> None:
    """Write the entry of a download that the user has paused, as an earlier start of Bough leaves it."""
    download = Download(id=id_of(PAUSED), model=PAUSED, state="paused", is_held=True)
    DownloadJobs(places).save([download])


def plant(file: Path, tree_sizes: tuple[int, ...]) -> dict[str, int]:
    """Make all of them, and trees with these numbers of messages. Return their ids by name."""
    store = Store(file)
    planted: dict[str, int] = {}
    for name in ("Trip plans", "A question with quite a long name that must be cut somewhere"):
        planted[name] = store.create_conversation(name, "", "Hello")[0].id
    for name, text in (
        ("code", texts.CODE),
        ("table", texts.TABLE),
        ("math", texts.MATH),
        ("scripts", texts.SCRIPTS),
        ("long word", texts.LONG_WORD),
        ("thought", texts.THOUGHT),
        ("much code", texts.MUCH_CODE),
    ):
        planted[name] = _conversation(store, name, _answering(text))
    for name, fill in (("failed", _failed), ("stopped", _stopped), ("versions", _versions), ("tokens", _tokens)):
        planted[name] = _conversation(store, name, fill)
    for num_messages in tree_sizes:
        planted[f"tree {num_messages}"] = _tree(store, num_messages)
    store.close()
    return planted


def _conversation(store: Store, name: str, fill: Callable[[Store, int, Message], None]) -> int:
    prompt = "You are a careful teacher. Answer in short sentences."
    conversation, question = store.create_conversation(f"What shows {name}", prompt, "Show me what is hard to show.")
    fill(store, conversation.id, question)
    return conversation.id


def _answering(text: str) -> Callable[[Store, int, Message], None]:
    def fill(store: Store, conversation_id: int, question: Message) -> None:
        store.add(conversation_id, question.id, "assistant", text, record=_RECORD)

    return fill


def _failed(store: Store, conversation_id: int, question: Message) -> None:
    store.add(conversation_id, question.id, "assistant", "", state="failed", record=with_error(None, _TOO_LONG))


def _stopped(store: Store, conversation_id: int, question: Message) -> None:
    store.add(conversation_id, question.id, "assistant", "It begins where", state="stopped", record=_RECORD)


def _versions(store: Store, conversation_id: int, question: Message) -> None:
    answer = question
    for number in ("first", "second", "third", "fourth"):
        text = f"The {number} answer, kept beside the others. " + " ".join(["It goes on for a while."] * len(number))
        answer = store.add(conversation_id, question.id, "assistant", text, record=_RECORD)
    for number in range(2):
        store.add(conversation_id, answer.id, "user", f"And then? (version {number + 1})")


def _tokens(store: Store, conversation_id: int, question: Message) -> None:
    count = len(_TOKENS)
    likely = [0.97 if number % 4 else 0.2 + 0.05 * number for number in range(count)]
    record = Record(
        model="guide",
        figures=_FIGURES,
        token_ids=tuple(range(100, 100 + count)),
        token_chars=tuple(map(len, _TOKENS)),
        origins=("sssfshdcsssss")[:count],
        logprobs=tuple(map(math.log, likely)),
        alternatives=tuple(
            (
                Alternative(100 + number, token, math.log(share)),
                Alternative(200 + number, " another", math.log((1 - share) * 0.7)),
                Alternative(300 + number, "\n", math.log((1 - share) * 0.2)),
            )
            for number, (token, share) in enumerate(zip(_TOKENS, likely, strict=True))
        ),
    )
    store.add(conversation_id, question.id, "assistant", "".join(_TOKENS), record=record)


def _tree(store: Store, num_messages: int) -> int:
    draw = Random(3)
    conversation, question = store.create_conversation("A tree", "Be brief.", _text(draw))
    messages: list[Message] = [question]
    while len(messages) < num_messages - 1:
        is_on = len(messages) < 4 or draw.random() < 0.85
        parent = messages[-1] if is_on else draw.choice(messages[-60:])
        role = "assistant" if parent.role == "user" else "user"
        record = Record(model="guide") if role == "assistant" else None
        messages.append(store.add(conversation.id, parent.id, role, _text(draw), record=record))
    if num_messages > 10:
        store.messages.star(messages[-3].id, is_starred=True)
        store.messages.name_branch(messages[-5].id, "the short way")
    return conversation.id


def _text(draw: Random) -> str:
    return " ".join(draw.choices(_WORDS.split(), k=draw.randint(3, 24))).capitalize()
