"""What a prompt would cost, in a person's words."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication

from app.questions import PromptCost

translate = QCoreApplication.translate

_WORTH_SAYING_S = 0.95


def cost_in_words(cost: PromptCost) -> str:
    """Say how much would be read, and how long that takes where it is known and worth saying."""
    text = translate("CostWords", "would read {read:,} of {tokens:,} tokens").format(
        read=cost.num_read, tokens=cost.num_tokens
    )
    if cost.seconds is not None and cost.seconds >= _WORTH_SAYING_S:
        text += translate("CostWords", " · about {seconds:.0f} s").format(seconds=cost.seconds)
    return text
