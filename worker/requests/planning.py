"""What prompts would cost if they were read now; nothing is computed and nothing changes."""

from __future__ import annotations

from array import array

from worker.cache.prompt_cache import PromptCache
from worker.language_model import LanguageModel
from worker.protocol import Plan, PromptPlan, Tier
from worker.requests.beginning import read_of
from worker.requests.prompts import Prompts


def planned(command: Plan, prompts: Prompts, model: LanguageModel, cache: PromptCache) -> list[PromptPlan]:
    """Return what each prompt would cost. Raises `BadRequestError`."""
    begun = array("I", read_of(command.continuation, prompts, model))
    return [_cost(prompt_ids + begun if begun else prompt_ids, cache) for prompt_ids in prompts.planned(command)]


def _cost(ids: array[int], cache: PromptCache) -> PromptPlan:
    num_kept = cache.num_kept(ids)
    tier: Tier = "cold"
    if num_kept == len(ids) - 1:
        # Looked at only where it matters: it costs as much again.
        tier = "warm" if cache.lies_in_memory(ids) else "disk"
    return PromptPlan(prompt_tokens=len(ids), cached_tokens=num_kept, tier=tier)
