"""Amounts of memory in words."""

from __future__ import annotations

import psutil
import pytest

from app.model.cache_folder import GIB, memory_bytes
from worker.sentence import size_text

MIB = 1 << 20


@pytest.mark.parametrize(
    ("num_bytes", "words"),
    [
        (0, "0 bytes"),
        (1023, "1,023 bytes"),
        (1024, "1 KiB"),
        (MIB - 1, "1 MiB"),
        (300 * MIB, "300 MiB"),
        (GIB - 1, "1.0 GiB"),
        (GIB, "1 GiB"),
        (int(5.94 * GIB), "5.9 GiB"),
        (1234 * GIB + 1, "1,234 GiB"),
    ],
)
def test_an_amount_is_shown_in_a_suitable_unit(num_bytes: int, words: str) -> None:
    assert size_text(num_bytes) == words


def test_the_memory_of_this_machine_is_known() -> None:
    assert memory_bytes() == psutil.virtual_memory().total
