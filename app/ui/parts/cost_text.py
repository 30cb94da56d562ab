"""Describes in words what a prompt costs: tokens and time, where it is cached, and why a part was read again."""

from __future__ import annotations

import re

from PySide6.QtCore import QCoreApplication

from app.costs.worker_queries import Cost
from app.numbers import counted

_MAX_DECIMALS = 9


def cost_text(cost: Cost | None) -> str:
    """Return how many tokens would be processed, the estimated time if known, and how many are cached.

    For a server, return what it reported; empty if it reported nothing.
    """
    if cost is None:
        return QCoreApplication.translate("CostWords", "Cost not known yet")
    if cost.is_unloaded:
        return QCoreApplication.translate("CostWords", "The model is not loaded; it is loaded when you ask")
    if cost.is_reported and not cost.num_tokens:
        return ""
    if cost.is_reported:
        return QCoreApplication.translate("CostWords", "Kept there, as last reported: {kept} of {total}").format(
            kept=counted(cost.num_kept), total=counted(cost.num_tokens)
        )
    kept = QCoreApplication.translate("CostWords", "{count} kept").format(count=counted(cost.num_kept))
    # One token is always processed, even if the whole prompt is cached.
    if cost.num_read <= 1:
        return " · ".join((QCoreApplication.translate("CostWords", "nothing to read"), kept))
    read = QCoreApplication.translate("CostWords", "would read {count} tokens")
    parts = [read.format(count=counted(cost.num_read))]
    if cost.seconds is not None:
        parts.append(seconds_text(cost.seconds))
    if cost.num_kept:
        parts.append(kept)
    return " · ".join(parts)


def tier_text(cost: Cost | None) -> str:
    """Return where a prompt is cached: in memory, on disk or nowhere; empty if the cost is unknown."""
    match None if cost is None or cost.is_unloaded else cost.tier:
        case "warm":
            return QCoreApplication.translate("CostWords", "kept in memory")
        case "disk":
            return QCoreApplication.translate("CostWords", "kept on disk")
        case "cold":
            return QCoreApplication.translate("CostWords", "not kept")
        case None:
            return ""


def speed_text(tokens_per_s: float, num_decimals: int = 0) -> str:
    """Return how fast tokens are read or written."""
    number = counted(tokens_per_s, num_decimals)
    if number == counted(1):
        return QCoreApplication.translate("CostWords", "1 token/s")
    return QCoreApplication.translate("CostWords", "{number} tokens/s").format(number=number)


def seconds_text(seconds: float, num_decimals: int = 1) -> str:
    """Format a duration in seconds, or in minutes if it is long; below 10 seconds with `num_decimals`."""
    if seconds < 0.05:
        return QCoreApplication.translate("CostWords", "instantly")
    if seconds < 99.5:
        about = counted(seconds, num_decimals if seconds < 9.95 else 0)
        return QCoreApplication.translate("CostWords", "about {seconds} s").format(seconds=about)
    return QCoreApplication.translate("CostWords", "about {minutes} min").format(minutes=counted(seconds / 60))


def money_text(amount: float, currency: str) -> str:
    """Format an amount of money with two significant digits, and at least two decimals."""
    num_decimals = 2
    while num_decimals < _MAX_DECIMALS and 0 < amount < 10.0 ** (1 - num_decimals):
        num_decimals += 1
    money = f"{counted(amount, num_decimals)} {currency}".rstrip()
    return QCoreApplication.translate("CostWords", "about {money}").format(money=money)


def why_read_again(part: str) -> str:
    """Return a sentence that says why a part of a prompt was processed again; empty if none was.

    `part` is the value of `Record.read_again`.
    """
    number = re.match(r"message (\d+)", part)
    if part == "tools":
        return QCoreApplication.translate(
            "ReadAgain", "The tools had changed since the last request, so all text after them was read again."
        )
    if part == "not kept":
        return QCoreApplication.translate(
            "ReadAgain", "The prompt was read again: it was no longer kept, or the chat template changed it."
        )
    if number is not None:
        text = QCoreApplication.translate(
            "ReadAgain", "Message {} had changed since the last request, so all text from there on was read again."
        )
        return text.format(number[1])
    if part:
        return QCoreApplication.translate(
            "ReadAgain", "The system text had changed since the last request, so all text from there on was read again."
        )
    return ""


def changed_part(part: str) -> str:
    """Return the reason in two or three words; empty if nothing was processed again."""
    number = re.match(r"message (\d+)", part)
    if part == "tools":
        return QCoreApplication.translate("ReadAgain", "tools changed")
    if part == "not kept":
        return QCoreApplication.translate("ReadAgain", "no longer kept")
    if number is not None:
        return QCoreApplication.translate("ReadAgain", "message {} changed").format(number[1])
    return QCoreApplication.translate("ReadAgain", "system text changed") if part else ""
