"""A pytest plugin that runs a part of the long tests: as many as a few minutes allow, in an order drawn from a seed.

    pytest -p tests.part_of_long -m long --minutes 8 --seed 1f3a…

What is not reached is skipped, and its number is printed. Another seed reaches other tests; the same one repeats the
order. Tests of a file stay together in small groups, as they share a worker or a window.
"""

from __future__ import annotations

import random
import time
from collections import defaultdict

import pytest

_GROUP = 12
"""This many tests of a file are run one after another."""
_USUAL_TIMEOUT_S = 300

_began_at = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("part_of_long", "a part of the long tests")
    group.addoption("--minutes", type=float, default=8.0, help="begin no test after this many minutes")
    group.addoption("--seed", default="", help="decides the order, such as the name of a commit")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw the order. Tests that may take longer than there is time are skipped."""
    minutes = _minutes(config)
    draw = random.Random(str(config.getoption("--seed")))
    groups: dict[str, list[list[pytest.Item]]] = defaultdict(list)
    for item in items:
        if _timeout_s(item) > max(_USUAL_TIMEOUT_S, 60 * minutes):
            item.add_marker(pytest.mark.skip("Only `make test-long` has the time for this test"))
        of_file = groups[item.nodeid.partition("::")[0]]
        if not of_file or len(of_file[-1]) == _GROUP:
            of_file.append([])
        of_file[-1].append(item)
    order = [(f"{file}-{number}", some) for file, each in groups.items() for number, some in enumerate(each)]
    draw.shuffle(order)
    for name, some in order:
        for item in some:
            item.add_marker(pytest.mark.xdist_group(name))
    items[:] = [item for _, some in order for item in some]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test for which there is no time left, before its fixtures are made."""
    if time.monotonic() - _began_at > 60 * _minutes(item.config):
        pytest.skip("The time for long tests is over")


def _minutes(config: pytest.Config) -> float:
    return float(str(config.getoption("--minutes")))


def _timeout_s(item: pytest.Item) -> float:
    marker = item.get_closest_marker("timeout")
    return float(marker.args[0]) if marker is not None and marker.args else _USUAL_TIMEOUT_S
