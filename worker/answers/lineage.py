"""What an answer has in common with those it forked from and those that forked from it; it knows how long each is."""

from __future__ import annotations


class Lineage:
    """One answer among its forks: each token that several of them have is one's own and shared by the others."""

    def __init__(self, origin: Lineage | None = None, num_shared: int = 0) -> None:
        self.origin = origin
        self.num_shared = num_shared
        """How many of its first tokens are its origin's, too, which counts them."""
        self.forks: list[Lineage] = []
        """Those of which it is the origin."""

    def fork(self, num_tokens: int) -> Lineage:
        """Return that of a fork, which begins with all of its tokens, so many."""
        other = Lineage(self, num_tokens)
        self.forks.append(other)
        return other

    def go_back(self, num_tokens: int) -> None:
        """Note that there are no more than so many tokens left."""
        longer = [fork for fork in self.forks if fork.num_shared > num_tokens]
        if longer:
            # What is gone here they still have in common with each other: one of them counts it from now on...
            heir = max(longer, key=lambda fork: fork.num_shared)
            self.forks = [fork for fork in self.forks if fork not in longer]
            for fork in longer:
                if fork is not heir:
                    fork.origin = heir
                    heir.forks.append(fork)
            # ...but for what its origin still has.
            if self.origin is not None and self.num_shared > num_tokens:
                heir.origin, heir.num_shared = self.origin, min(heir.num_shared, self.num_shared)
            else:
                heir.origin, heir.num_shared = self, num_tokens
            heir.origin.forks.append(heir)
        self.num_shared = min(self.num_shared, num_tokens)
