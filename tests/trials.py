"""Trials in this process. Each loaded model would start another one, and rendering in it takes twice as long.

`tests/worker/test_trial.py` and `tests/attacks/test_templates.py` test the process itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typing_extensions import override

from worker.trial import Limits, RaisedError, TrialProcess


class _DirectTrials(TrialProcess):
    @override
    def start(self) -> None:
        """There is nothing to start."""

    @override
    def run(self, limits: Limits, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raise RaisedError(str(error), [each.__name__ for each in type(error).__mro__]) from error


TRIALS = _DirectTrials()
