"""What may be said of a step of an answer, as one value; it acts on nothing.

A hook returns `None` (go on), a `Decision`, or a list of them: each is a way that the answer goes on from here, so
several fork it, and none stop it. The words are AICI's (`mid_process`: splices with `when_sampled`, `backtrack` and
`ff_tokens`) and exllamav2's (hooks after sampling that may take another token or sample again).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Splice:
    """Tokens that are put in the place of the last ones."""

    when_sampled: Sequence[int] = ()
    """It is done when one of these tokens is drawn; none: at once, whatever would be drawn."""
    backtrack: int = 0
    """How many tokens are taken back first, the drawn one included."""
    ff_tokens: Sequence[int] = ()
    """What follows instead, without a draw."""


@dataclass(frozen=True)
class Decision:
    """One way to go on. What is left out changes nothing.

    Before sampling `mask` and `temperature` are for the token that is drawn next. After sampling they are for the one
    that `resample` draws instead; everything but `Decision()` itself, which lets the drawn token stand, then takes the
    drawn token away, and `backtrack` counts those before it.
    """

    backtrack: int = 0
    """How many tokens are taken back: the answer's first, then those that it goes on from (`Step.given`)."""
    mask: npt.NDArray[np.bool_] | None = None
    """Which tokens may be drawn, shape [vocabulary]."""
    temperature: float | None = None
    token: int | None = None
    """The token that comes here, drawn or not."""
    splices: Sequence[Splice] = ()
    resample: bool = False
    """Draw again here; what was drawn before at this place can't come again."""
    feed_constraint: bool = True
    """False: `token` stands in the text, but the constraint, which may forbid it, does not see it."""

    @property
    def is_structural(self) -> bool:
        """Whether it does more than to say how the next token is drawn."""
        return bool(self.backtrack or self.resample or self.token is not None or any(self.immediate))

    @property
    def immediate(self) -> list[Splice]:
        """The splices that wait for no token."""
        return [splice for splice in self.splices if not splice.when_sampled]


Verdict: TypeAlias = Decision | Sequence[Decision] | None
"""What a hook says."""
