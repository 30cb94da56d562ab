"""Counts the tokens that forked answers share, so that each is counted once."""

from __future__ import annotations


class Lineage:
    """An answer and its forks. A token that several answers share is counted for only one of them."""

    def __init__(self, origin: Lineage | None = None, num_shared: int = 0) -> None:
        self.origin = origin
        self.num_shared = num_shared
        """The first tokens that this answer shares with its origin, which counts them."""
        self.forks: list[Lineage] = []
        """The answers that were forked from this one."""

    def fork(self, num_tokens: int) -> Lineage:
        """Return the lineage of a new fork, which shares all `num_tokens` tokens."""
        other = Lineage(self, num_tokens)
        self.forks.append(other)
        return other

    def go_back(self, num_tokens: int) -> None:
        """Shorten this answer to `num_tokens` tokens."""
        longer = [fork for fork in self.forks if fork.num_shared > num_tokens]
        if longer:
            # These forks still share the tokens that this answer loses. From now on, the fork that shares most counts
            # them,
            heir = max(longer, key=lambda fork: fork.num_shared)
            self.forks = [fork for fork in self.forks if fork not in longer]
            for fork in longer:
                if fork is not heir:
                    fork.origin = heir
                    heir.forks.append(fork)
            # except those that this answer's own origin still has.
            if self.origin is not None and self.num_shared > num_tokens:
                heir.origin, heir.num_shared = self.origin, min(heir.num_shared, self.num_shared)
            else:
                heir.origin, heir.num_shared = self, num_tokens
            heir.origin.forks.append(heir)
        self.num_shared = min(self.num_shared, num_tokens)
