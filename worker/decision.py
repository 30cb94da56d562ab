"""Decisions: the values that hooks return.

A hook is called with a `worker.step.Step` before and after each token is sampled. This one avoids exclamation marks:

>>> from worker.decision import Decision
>>> def hook(step):
...     if step.phase == "after" and "!" in step.token_text:
...         return Decision(resample=True)

It may return

- None or `Decision()`: continue unchanged,
- a `Decision`: change the next token, or the tokens so far,
- a list of decisions: fork the answer, so that it continues in each of these ways; an empty list ends the answer.

`worker.stepping` shows hooks at work. The terms are those of AICI (`when_sampled`, `backtrack`, `ff_tokens`) and of
exllamav2 (hooks that sample again or choose another token).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Splice:
    """Replaces the last tokens by others."""

    when_sampled: Sequence[int] = ()
    """The splice takes effect when one of these tokens is sampled. If empty, it takes effect at once."""
    backtrack: int = 0
    """How many tokens to take back, including the sampled one."""
    ff_tokens: Sequence[int] = ()
    """The tokens to append then, without sampling."""


@dataclass(frozen=True)
class Decision:
    """One way to continue. `Decision()` changes nothing.

    Before sampling, `mask` and `temperature` apply to the next token. After sampling, they apply to the token that
    `resample` samples instead. Any decision after sampling, except `Decision()`, removes the sampled token; `backtrack`
    then counts the tokens before it.
    """

    backtrack: int = 0
    """How many tokens to take back: the last ones of the answer, then those of the given text (`Step.given`)."""
    mask: npt.NDArray[np.bool_] | None = None
    """Which tokens may be sampled, shape [vocabulary]. None means all tokens."""
    temperature: float | None = None
    """The temperature for the token; None keeps that of the request."""
    token: int | None = None
    """The token to put at this position instead of a sampled one."""
    splices: Sequence[Splice] = ()
    resample: bool = False
    """Sample again at this position. Tokens that were sampled here before can't come again."""
    feed_constraint: bool = True
    """False: `token` becomes part of the text, but the constraint, which may forbid it, does not consume it."""

    @property
    def is_structural(self) -> bool:
        """Whether the decision does more than limit how the next token is sampled."""
        return bool(self.backtrack or self.resample or self.token is not None or any(self.immediate))

    @property
    def immediate(self) -> list[Splice]:
        """The splices that take effect at once."""
        return [splice for splice in self.splices if not splice.when_sampled]


Verdict: TypeAlias = Decision | Sequence[Decision] | None
"""The return value of a hook."""
