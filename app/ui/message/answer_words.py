"""What is said below a message: how it ended, and what it cost; it knows no widget."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.model.message import Figures, Message, Record
from app.numbers import counted, sized
from app.sentences import worded

_MOST_OF_STOP = 24


def ending(message: Message) -> tuple[str, str]:
    """Return how a message ended, where that is worth a word, and of what kind the words are."""
    error = message.record.error if message.record is not None else None
    text, kind = "", "quiet"
    if message.role == "assistant":
        match message.state:
            case _ if error:
                text, kind = worded(error), "failure" if message.state == "failed" else "warning"
            case "stopped":
                text = QCoreApplication.translate("AnswerWords", "Stopped.")
            case "cut":
                text = QCoreApplication.translate(
                    "AnswerWords", "Cut at the maximum of tokens. Continue goes on from here."
                )
            case "complete" if not message.text:
                text = QCoreApplication.translate("AnswerWords", "(empty)")
            case "streaming":
                text = QCoreApplication.translate(
                    "AnswerWords", "This answer was interrupted. What was written is kept."
                )
            case _:
                pass
    elif message.role == "system" and not message.text:
        text = QCoreApplication.translate(
            "AnswerWords", "No system prompt. Edit gives the model a role or rules, in a branch of its own."
        )
    num_left_out = message.record.figures.left_out_messages if message.record is not None else 0
    if num_left_out:
        text = f"{text} {_left_out(num_left_out)}".lstrip()
    return text, kind


def statistics(record: Record) -> str:
    """Return what an answer cost, in one line: as much of it as is recorded."""
    figures = record.figures
    parts = [
        QCoreApplication.translate("AnswerWords", "{tokens} tokens, {kept} kept").format(
            tokens=counted(figures.prompt_tokens), kept=counted(figures.kept_tokens)
        )
    ]
    if figures.read_tokens:
        parts.append(
            QCoreApplication.translate("AnswerWords", "{tokens} read").format(tokens=counted(figures.read_tokens))
        )
    if figures.first_word_ms:
        seconds = counted(figures.first_word_ms / 1000, 2)
        parts.append(QCoreApplication.translate("AnswerWords", "first word {seconds} s").format(seconds=seconds))
    if figures.tokens_per_s:
        parts.append(
            QCoreApplication.translate("AnswerWords", "{tokens} tokens/s").format(tokens=counted(figures.tokens_per_s))
        )
    if figures.memory_bytes:
        parts.append(
            QCoreApplication.translate("AnswerWords", "{size} memory").format(size=sized(figures.memory_bytes))
        )
    if record.stop:
        stop = _visible(record.stop)
        parts.append(QCoreApplication.translate("AnswerWords", "ended before “{stop}”").format(stop=stop))
    return " · ".join((*parts, *_helpers(figures), *_hooks(record)))


def statistics_in_sentences(record: Record) -> str:
    """Return the same in full, a line each, for who wants to know what the figures mean."""
    figures = record.figures
    sentences = [
        QCoreApplication.translate(
            "AnswerWords", "The model was given {tokens} tokens. {kept} of them it had read before, {read} it read now."
        ).format(
            tokens=counted(figures.prompt_tokens), kept=counted(figures.kept_tokens), read=counted(figures.read_tokens)
        )
    ]
    if figures.new_tokens:
        sentences.append(
            QCoreApplication.translate("AnswerWords", "It wrote {tokens} tokens.").format(
                tokens=counted(figures.new_tokens)
            )
        )
    if figures.first_word_ms:
        sentences.append(
            QCoreApplication.translate(
                "AnswerWords",
                "The first word came after {seconds} s: {queue} s in the queue, {reading} s of reading.",
            ).format(
                seconds=counted(figures.first_word_ms / 1000, 2),
                queue=counted(figures.queue_ms / 1000, 2),
                reading=counted((figures.first_word_ms - figures.queue_ms) / 1000, 2),
            )
        )
    if figures.memory_bytes:
        sentences.append(
            QCoreApplication.translate(
                "AnswerWords", "The model, what it has read, and its work took {size} of memory at most."
            ).format(size=sized(figures.memory_bytes))
        )
    if record.seed is not None and record.sampling.temperature > 0 and not record.earlier:
        sentences.append(
            QCoreApplication.translate(
                "AnswerWords", "It was drawn with the seed {seed}: with the same settings that gives the same answer."
            ).format(seed=record.seed)
        )
    return "\n".join(sentences)


def _helpers(figures: Figures) -> list[str]:
    parts: list[str] = []
    if figures.draft_tokens:
        parts.append(
            QCoreApplication.translate("AnswerWords", "{accepted} of {drafted} guesses right").format(
                accepted=counted(figures.accepted_tokens), drafted=counted(figures.draft_tokens)
            )
        )
    if figures.forced_tokens:
        parts.append(
            QCoreApplication.translate("AnswerWords", "{tokens} forced").format(tokens=counted(figures.forced_tokens))
        )
    return parts


def _hooks(record: Record) -> list[str]:
    parts: list[str] = []
    total_ms = sum(hook.total_ms for hook in record.hooks_told)
    if record.hooks_told:
        parts.append(QCoreApplication.translate("AnswerWords", "hooks {ms} ms").format(ms=counted(total_ms)))
    parts += [
        QCoreApplication.translate("AnswerWords", "{hook} switched off: too slow").format(hook=hook.name)
        for hook in record.hooks_told
        if hook.is_off
    ]
    return parts


def _visible(stop: str) -> str:
    """Return a stop string in one short line: what cannot be seen is written as programs write it."""
    written = stop.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return written if len(written) <= _MOST_OF_STOP else f"{written[:_MOST_OF_STOP]}…"


def _left_out(num_messages: int) -> str:
    if num_messages == 1:
        return QCoreApplication.translate(
            "AnswerWords",
            "The model did not see the oldest message: the conversation is longer than its context.",
        )
    return QCoreApplication.translate(
        "AnswerWords",
        "The model did not see the {messages} oldest messages: the conversation is longer than its context.",
    ).format(messages=counted(num_messages))
