"""The text below a message: how it ended, and what it cost. Independent of Qt widgets."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.model.message import Figures, Message, Record
from app.numbers import counted, sized
from app.sentences import translated
from app.ui.parts.cost_text import changed_part, money_text, speed_text, why_read_again
from worker.sentence import received

_MAX_STOP_CHARS = 24


def ending(message: Message) -> tuple[str, str]:
    """Return a sentence that says how a message ended, and the object name for its label.

    The sentence is empty if the message ended normally.
    """
    error = message.record.error_sentence if message.record is not None else None
    text, kind = "", "quiet"
    if message.role == "assistant":
        match message.state:
            case _ if error:
                text, kind = translated(error), "failure" if message.state == "failed" else "warning"
            case "stopped":
                text = QCoreApplication.translate("AnswerSummary", "Stopped.")
            case "cut":
                text = QCoreApplication.translate(
                    "AnswerSummary", "Stopped at the maximum number of tokens. Continue writes more."
                )
            case "complete" if not message.text:
                text = QCoreApplication.translate("AnswerSummary", "(empty)")
            case "streaming":
                text = QCoreApplication.translate(
                    "AnswerSummary", "This answer was interrupted. The text so far is kept."
                )
            case _:
                pass
    num_left_out = message.record.figures.left_out_messages if message.record is not None else 0
    if num_left_out:
        text = f"{text} {_left_out(num_left_out)}".lstrip()
    for notice in message.record.notices if message.record is not None else ():
        text = f"{text} {translated(received('', notice))}".lstrip()
    return text, kind


def short_figure(record: Record) -> str:
    """Return how fast an answer was generated, or, if that is not known, the size of its prompt."""
    figures = record.figures
    if figures.tokens_per_s:
        return speed_text(figures.tokens_per_s)
    if figures.read_tokens == 1:
        return QCoreApplication.translate("AnswerSummary", "1 token read")
    text = QCoreApplication.translate("AnswerSummary", "{tokens} tokens read")
    return text.format(tokens=counted(figures.read_tokens))


def statistics(record: Record) -> str:
    """Return the recorded costs of an answer in one line."""
    figures = record.figures
    parts: list[str] = []
    # Some servers do not say how many tokens they have read.
    if figures.prompt_tokens and figures.is_kept_known:
        parts.append(
            QCoreApplication.translate("AnswerSummary", "{tokens} tokens, {kept} kept").format(
                tokens=counted(figures.prompt_tokens), kept=counted(figures.kept_tokens)
            )
        )
    elif figures.prompt_tokens:
        parts.append(
            QCoreApplication.translate("AnswerSummary", "{tokens} tokens").format(tokens=counted(figures.prompt_tokens))
        )
    if (cost := _cost(record)) is not None:
        parts.append(cost)
    if figures.read_tokens:
        parts.append(
            QCoreApplication.translate("AnswerSummary", "{tokens} read").format(tokens=counted(figures.read_tokens))
        )
    if figures.first_word_ms:
        seconds = counted(figures.first_word_ms / 1000, 2)
        parts.append(
            QCoreApplication.translate("AnswerSummary", "first word after {seconds} s").format(seconds=seconds)
        )
    if figures.tokens_per_s:
        parts.append(speed_text(figures.tokens_per_s))
    if figures.memory_bytes:
        parts.append(
            QCoreApplication.translate("AnswerSummary", "{size} memory").format(size=sized(figures.memory_bytes))
        )
    if record.read_again:
        parts.append(changed_part(record.read_again))
    if record.stop:
        stop = _escaped(record.stop)
        parts.append(
            QCoreApplication.translate("AnswerSummary", "ended before the stop string “{stop}”").format(stop=stop)
        )
    return " · ".join((*parts, *_speed_ups(figures), *_hooks(record)))


def statistics_in_sentences(record: Record) -> str:
    """Return the recorded costs of an answer as full sentences, one per line, for the tool tip."""
    figures = record.figures
    sentences: list[str] = []
    if figures.prompt_tokens and not figures.is_kept_known:
        sentences.append(
            QCoreApplication.translate(
                "AnswerSummary", "The prompt had {tokens} tokens. The server does not say how many of them it had kept."
            ).format(tokens=counted(figures.prompt_tokens))
        )
    elif figures.prompt_tokens:
        sentences.append(
            QCoreApplication.translate(
                "AnswerSummary",
                "The prompt had {tokens} tokens: {kept} were in the cache, {read} were read.",
            ).format(
                tokens=counted(figures.prompt_tokens),
                kept=counted(figures.kept_tokens),
                read=counted(figures.read_tokens),
            )
        )
    if (cost := _cost(record)) is not None:
        sentences.append(
            QCoreApplication.translate("AnswerSummary", "It cost {money} at the prices of its server.").format(
                money=cost
            )
        )
    if figures.new_tokens == 1:
        sentences.append(QCoreApplication.translate("AnswerSummary", "The answer has 1 token."))
    elif figures.new_tokens:
        sentences.append(
            QCoreApplication.translate("AnswerSummary", "The answer has {tokens} tokens.").format(
                tokens=counted(figures.new_tokens)
            )
        )
    if figures.first_word_ms:
        sentences.append(
            QCoreApplication.translate(
                "AnswerSummary",
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
                "AnswerSummary", "The model used up to {size} of memory, including its cache."
            ).format(size=sized(figures.memory_bytes))
        )
    if record.client:
        sentences.append(
            QCoreApplication.translate("AnswerSummary", "It answered a request from {program}.").format(
                program=record.client
            )
        )
    if record.read_again:
        sentences.append(why_read_again(record.read_again))
    sentences += [
        QCoreApplication.translate("AnswerSummary", "Left out of the request by your rule: {rule}").format(rule=rule)
        for rule in record.dropped
    ]
    # Which weights a server had is not known, nor whether it takes a seed.
    if record.model_identity and record.seed is not None and record.sampling.temperature > 0 and not record.earlier:
        sentences.append(
            QCoreApplication.translate(
                "AnswerSummary", "Seed {seed}: the same seed and settings give the same answer."
            ).format(seed=record.seed)
        )
    return "\n".join(sentences)


def _cost(record: Record) -> str | None:
    """Return the money that an answer cost; None if the prices or one of the numbers of tokens are not known."""
    figures, prices = record.figures, record.prices
    if prices is None or not (figures.prompt_tokens and figures.new_tokens):
        return None
    if prices.kept is not None and not figures.is_kept_known:
        return None
    return money_text(prices.cost(figures.prompt_tokens, figures.kept_tokens, figures.new_tokens), prices.currency)


def _speed_ups(figures: Figures) -> list[str]:
    parts: list[str] = []
    if figures.draft_tokens:
        parts.append(
            QCoreApplication.translate("AnswerSummary", "{accepted} of {drafted} drafted tokens accepted").format(
                accepted=counted(figures.accepted_tokens), drafted=counted(figures.draft_tokens)
            )
        )
    if figures.forced_tokens:
        parts.append(
            QCoreApplication.translate("AnswerSummary", "{tokens} forced").format(tokens=counted(figures.forced_tokens))
        )
    return parts


def _hooks(record: Record) -> list[str]:
    parts: list[str] = []
    total_ms = sum(hook.total_ms for hook in record.hook_records)
    if record.hook_records:
        parts.append(QCoreApplication.translate("AnswerSummary", "hooks {ms} ms").format(ms=counted(total_ms)))
    parts += [
        QCoreApplication.translate("AnswerSummary", "{hook} turned off: too slow").format(hook=hook.name)
        for hook in record.hook_records
        if hook.is_off
    ]
    return parts


def _escaped(stop: str) -> str:
    """Return a stop string on one short line, with control characters escaped."""
    escaped = stop.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return escaped if len(escaped) <= _MAX_STOP_CHARS else f"{escaped[:_MAX_STOP_CHARS]}…"


def _left_out(num_messages: int) -> str:
    if num_messages == 1:
        return QCoreApplication.translate(
            "AnswerSummary",
            "The model did not see the oldest message: the conversation is longer than the model's context.",
        )
    return QCoreApplication.translate(
        "AnswerSummary",
        "The model did not see the {messages} oldest messages: the conversation is longer than the model's context.",
    ).format(messages=counted(num_messages))
