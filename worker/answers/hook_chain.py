"""Calls the hooks of one answer in order, and combines their decisions into one. `steering.py` applies it.

Masks are combined with AND, the last temperature counts, and splices are checked in order. The first hook that does
more (backtracks, puts a token, resamples, forks, stops) ends the step: its decision is combined with the masks and
temperatures before it, and later hooks are not called. One exception: if a hook after sampling only replaces the
sampled token, later hooks are called with the new token.
"""

from __future__ import annotations

import copy
import signal
import time
import traceback
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import index
from types import FunctionType
from typing import Protocol, TypeAlias, cast

import numpy as np

from worker.decision import Decision, Splice, Verdict
from worker.errors import HookFailedError
from worker.protocol import RequestId
from worker.sentence import Sentence, SentenceError, joined, verbatim
from worker.step import Step

_NEEDS_LINE = 'NEEDS = ["network", "files"]'

Hook: TypeAlias = Callable[[Step], Verdict]

SLOW_S = 0.02
"""A call of a hook that takes longer, in seconds, is slow."""
_MAX_SLOW_CALLS = 3
"""After this many slow calls in an answer, a hook is not called again in it."""
_CREATION_PATIENCE = 3.0
"""Creating a hook may take this many times as long as a call, because it may import large libraries."""


class Watch(Protocol):
    """Notified when a call of a hook begins and ends, to find hooks that hang.

    `patience` multiplies the time that the call may take.
    """

    def begin(self, request_id: RequestId, name: str, patience: float = 1.0) -> None: ...
    def end(self) -> None: ...


@contextmanager
def watched(watch: Watch | None, request_id: RequestId, name: str) -> Generator[None]:
    """Watch a hook while it is created or copied."""
    if watch is None:
        yield
        return
    watch.begin(request_id, name, _CREATION_PATIENCE)
    try:
        yield
    finally:
        watch.end()


@dataclass
class HookFigures:
    """How often a hook was called, and how long its calls took."""

    name: str
    num_calls: int = 0
    total_s: float = 0.0
    longest_s: float = 0.0
    num_slow: int = 0

    @property
    def is_off(self) -> bool:
        """Whether the hook was too slow too often, so that it is not called any more."""
        return self.num_slow >= _MAX_SLOW_CALLS


class HookChain:
    """The hooks of one answer, with their names."""

    def __init__(
        self,
        hooks: Sequence[tuple[str, Hook]],
        request_id: RequestId = 0,
        watch: Watch | None = None,
        slow_s: float = SLOW_S,
    ) -> None:
        """`request_id` is passed to `watch`. A call that takes longer than `slow_s` seconds is slow."""
        self._slow_s = slow_s
        self._request_id: RequestId = request_id
        self._hooks = list(hooks)
        self._watch = watch
        self.figures = [HookFigures(name) for name, _ in hooks]
        self.last = ""
        """The name of the last hook that returned a decision."""

    def copy(self) -> HookChain:
        """Return hooks for a fork, with their own copy of their state."""
        hooks: list[tuple[str, Hook]] = []
        for name, hook in self._hooks:
            with watched(self._watch, self._request_id, name):
                hooks.append((name, _copied(name, hook)))
        other = HookChain(hooks, self._request_id, self._watch, self._slow_s)
        other.figures = [replace(figures) for figures in self.figures]
        return other

    def ask(self, step: Step) -> list[Decision] | None:
        """Return the decisions for this step: None to continue, an empty list to stop, several to fork.

        Raises `HookFailedError`.
        """
        so_far: Decision | None = None
        for (name, hook), figures in zip(self._hooks, self.figures, strict=True):
            if figures.is_off:
                continue
            verdict = self._call(name, hook, figures, step)
            if verdict is None:
                continue
            self.last = name
            decisions = [_merged(name, so_far, decision) for decision in verdict]
            if len(decisions) != 1:
                return decisions
            so_far = decisions[0]
            if step.phase == "after" and so_far.token is not None and _only_puts(so_far):
                step = step.with_token(so_far.token)
            elif so_far.is_structural:
                break
        return None if so_far is None else [so_far]

    def _call(self, name: str, hook: Hook, figures: HookFigures, step: Step) -> list[Decision] | None:
        began = time.perf_counter()
        if self._watch is not None:
            self._watch.begin(self._request_id, name)
        try:
            verdict = hook(step)
        except BaseException as error:
            # Catch `sys.exit()`, too: a hook may end its answer, but not the worker.
            raise hook_failure(name, error) from error
        finally:
            if self._watch is not None:
                self._watch.end()
            took_s = time.perf_counter() - began
            figures.num_calls += 1
            figures.total_s += took_s
            figures.longest_s = max(figures.longest_s, took_s)
            figures.num_slow += took_s > self._slow_s
        return None if verdict is None else _checked(name, verdict)


def hook_failure(name: str, error: BaseException) -> BaseException:
    """Return the error that ends an answer whose hook raised `error`; for the user's Ctrl+C, return `error` itself.

    In a worker Ctrl+C does not raise `KeyboardInterrupt`, so there it comes from the hook.
    """
    if isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        return error
    return HookFailedError(name, trace_of(error))


def _checked(name: str, verdict: object) -> list[Decision]:
    # A hook may return any object, whose methods may raise anything.
    try:
        return _read(name, verdict)
    except HookFailedError:
        raise
    except BaseException as error:
        raise hook_failure(name, error) from error


def _read(name: str, verdict: object) -> list[Decision]:
    decisions = [verdict] if isinstance(verdict, Decision) else verdict
    if not isinstance(decisions, list | tuple):
        raise HookFailedError(name, Sentence("It returned {kind} instead of a Decision.", kind=type(verdict).__name__))
    checked: list[Decision] = []
    for decision in cast("list[object]", list(decisions)):
        if not isinstance(decision, Decision):
            why = Sentence("It returned a list with {kind} instead of a Decision.", kind=type(decision).__name__)
            raise HookFailedError(name, why)
        try:
            checked.append(_plain(decision))
        except _InvalidDecisionError as error:
            raise HookFailedError(name, error.sentence) from None
        except Exception as error:
            # A hook may put any object where a number or a list belongs.
            why = Sentence("Its decision can't be carried out: {error}.", error=_last_line(error))
            raise HookFailedError(name, why) from error
    return checked


class _InvalidDecisionError(SentenceError):
    pass


def _plain(decision: Decision) -> Decision:
    """Return the decision with plain Python numbers and a copy of its mask, which the hook may change later."""
    mask, temperature = decision.mask, decision.temperature
    if mask is not None:
        mask = np.array(mask, dtype=np.bool_)
    if temperature is not None:
        temperature = float(temperature)
        if not 0 <= temperature < np.inf:
            raise _InvalidDecisionError(
                Sentence("Its temperature is {temperature}, but must be 0 or more.", temperature=temperature)
            )
    plain = Decision(
        backtrack=index(decision.backtrack),
        mask=mask,
        temperature=temperature,
        token=None if decision.token is None else index(decision.token),
        splices=tuple(
            Splice(tuple(map(index, splice.when_sampled)), index(splice.backtrack), tuple(map(index, splice.ff_tokens)))
            for splice in decision.splices
        ),
        resample=bool(decision.resample),
        feed_constraint=bool(decision.feed_constraint),
    )
    if plain.backtrack < 0 or any(splice.backtrack < 0 for splice in plain.splices):
        raise _InvalidDecisionError(Sentence("It took back a negative number of tokens."))
    return plain


def _merged(name: str, before: Decision | None, decision: Decision) -> Decision:
    if before is None:
        return decision
    masks = [mask for mask in (before.mask, decision.mask) if mask is not None]
    if len({mask.shape for mask in masks}) > 1:
        raise HookFailedError(name, Sentence("Its mask has a different shape from the previous hook's mask."))
    # A structural decision overrides a token that was put before.
    puts = decision if decision.is_structural else before
    return replace(
        decision,
        mask=np.logical_and.reduce(masks) if masks else None,
        temperature=before.temperature if decision.temperature is None else decision.temperature,
        token=puts.token,
        feed_constraint=puts.feed_constraint,
        splices=[*before.splices, *decision.splices],
    )


def _only_puts(decision: Decision) -> bool:
    return not (decision.backtrack or decision.resample or decision.splices)


def _copied(name: str, hook: Hook) -> Hook:
    if isinstance(hook, FunctionType):
        return hook
    try:
        return copy.deepcopy(hook)
    except Exception as error:
        why = Sentence("It can't be copied for a fork.\n{trace}", trace=trace_of(error))
        raise HookFailedError(name, why) from error
    except BaseException as error:
        raise hook_failure(name, error) from error


def trace_of(error: BaseException) -> str:
    """Return the traceback without Bough's own frames above the hook, even if `str(error)` raises."""
    frames = error.__traceback__ and error.__traceback__.tb_next
    trace = "".join(traceback.format_exception(type(error), error, frames)).strip()
    if not isinstance(error, PermissionError):
        return trace
    hint = Sentence("A hook that uses the network or writes files needs the line {line}.", line=_NEEDS_LINE)
    return joined([verbatim(trace), hint], "\n")


def _last_line(error: Exception) -> str:
    return traceback.format_exception_only(error)[-1].strip()
