"""What reading a prompt costs: how much of it is kept, and how long the rest takes. A value; it asks nobody."""

from __future__ import annotations

from dataclasses import dataclass

from worker.protocol import PromptPlan, Tier


@dataclass(frozen=True)
class Cost:
    """What the model would read of a prompt, and what it has kept of it."""

    num_read: int
    num_kept: int
    tier: Tier
    """Where the prompt lies: in memory, on disk, or nowhere as a whole."""
    seconds: float | None
    """How long reading would take; None: nobody knows how fast this model reads."""

    @property
    def num_tokens(self) -> int:
        return self.num_read + self.num_kept


def cost_of(plan: PromptPlan, tokens_per_s: float | None) -> Cost:
    """Return what a prompt costs by the worker's plan, for a model that reads so fast."""
    num_read = plan.prompt_tokens - plan.cached_tokens
    seconds = None if tokens_per_s is None else num_read / tokens_per_s
    return Cost(num_read, plan.cached_tokens, plan.tier, seconds)
