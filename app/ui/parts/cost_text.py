"""Describes in words what a prompt costs: tokens and time, and where it is cached."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.costs.worker_queries import Cost
from app.numbers import counted


def cost_text(cost: Cost | None) -> str:
    """Return how many tokens would be processed, the estimated time if known, and how many are cached."""
    if cost is None:
        return QCoreApplication.translate("CostWords", "Cost not known yet")
    if cost.is_unloaded:
        return QCoreApplication.translate("CostWords", "The model is not loaded; it is loaded when you ask")
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
