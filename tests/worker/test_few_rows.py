"""Products with one row and with a few rows go to the functions for them, and come out as before."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.driver import ROOT
from tests.long import in_long_runs
from worker import few_rows
from worker.blas import most_rows
from worker.few_rows import MOST_ROWS, route_few_rows

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the library is for Linux on x86-64"
)

_FILLER = float("nan")
_MOST = most_rows(Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else "", 1)
"""Up to how many rows this processor can multiply with Bough's own code."""


class Calls:
    """A BLAS in Python that counts which of its functions are called."""

    def __init__(self) -> None:
        self.counts = {"gemm": 0, "gemv": 0}
        gemm = ctypes.CFUNCTYPE(None, *few_rows._ARGUMENTS)  # pyright: ignore[reportPrivateUsage]
        integer, number, pointer = ctypes.c_int, ctypes.c_float, ctypes.c_void_p
        gemv = ctypes.CFUNCTYPE(
            *(None, integer, integer, integer, integer, number, pointer, integer, pointer, integer),
            *(number, pointer, integer),
        )
        self.cblas_sgemm: Any = gemm(self._gemm)
        self.cblas_sgemv: Any = gemv(self._gemv)

    def _gemm(self, *given: Any) -> None:
        self.counts["gemm"] += 1
        order, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc = given
        assert order == 101
        left = _matrix(a, *((m, k) if trans_a == 111 else (k, m)), lda)
        right = _matrix(b, *((k, n) if trans_b == 111 else (n, k)), ldb)
        product = (left if trans_a == 111 else left.T) @ (right if trans_b == 111 else right.T)
        _store(_matrix(c, m, n, ldc), alpha * product, beta)

    def _gemv(self, *given: Any) -> None:
        self.counts["gemv"] += 1
        order, trans, rows, columns, alpha, a, lda, x, incx, beta, y, incy = given
        assert order == 101
        matrix = _matrix(a, rows, columns, lda)
        matrix = matrix if trans == 111 else matrix.T
        vector = _matrix(x, matrix.shape[1], 1, incx)[:, 0]
        _store(_matrix(y, matrix.shape[0], 1, incy)[:, 0], alpha * (matrix @ vector), beta)


def _matrix(address: int, rows: int, columns: int, length: int) -> Any:
    numbers: Any = (ctypes.c_float * ((rows - 1) * length + columns)).from_address(address)
    strides = (4 * length, 4)
    return np.lib.stride_tricks.as_strided(np.frombuffer(numbers, np.float32), (rows, columns), strides)


def _store(place: Any, product: Any, beta: float) -> None:
    place[...] = product if beta == 0 else product + beta * place


def routed(blas: Any, most: int = _MOST) -> Any:
    """Return the library's `cblas_sgemm`, which calls the functions of `blas`."""
    loaded: list[Any] = []
    library = ctypes.CDLL

    def load(path: str, mode: int = 0) -> Any:
        loaded.append(library(path))
        return loaded[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ctypes, "CDLL", load)
        assert route_few_rows(blas, most) == most
    return loaded[0].cblas_sgemm


@pytest.mark.parametrize("seed", [*range(20), *in_long_runs(range(20, 60))])
def test_every_product_is_what_numpy_gives(seed: int):
    rng = Random(seed)
    calls = Calls()
    most = rng.choice([1, min(3, _MOST), _MOST, _MOST])
    product = routed(calls, most)
    calls.counts = dict.fromkeys(calls.counts, 0)
    m = rng.choice([1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    n, k = rng.choice(
        [(512, 256), (1, 131_072), (131_072, 1), (700, 300), (20, 30), (1, 1), (361, 363), (577, 576), (8192, 16)]
    )
    ta, tb = rng.choice([111, 111, 111, 112]), rng.choice([111, 112, 112])
    alpha, beta = rng.choice([1.0, 1.0, 1.0, -0.5]), rng.choice([0.0, 0.0, 1.0, 2.0])
    numbers = np.random.default_rng(seed)
    shapes = [(m, k) if ta == 111 else (k, m), (k, n) if tb == 111 else (n, k), (m, n)]
    # Rows may lie further apart than they are long.
    lengths = [columns + rng.choice([0, 3]) for _, columns in shapes]
    kept = [
        numbers.standard_normal((rows, length)).astype(np.float32)
        for (rows, _), length in zip(shapes, lengths, strict=True)
    ]
    a, b, c = (whole[:, : shape[1]] for whole, shape in zip(kept, shapes, strict=True))
    before, between = c.copy(), kept[2][:, n:].copy()
    if beta == 0:
        c[...] = _FILLER
    lda, ldb, ldc = lengths
    product(101, ta, tb, m, n, k, alpha, a.ctypes.data, lda, b.ctypes.data, ldb, beta, c.ctypes.data, ldc)
    left, right = (a if ta == 111 else a.T).astype(np.float64), (b if tb == 111 else b.T).astype(np.float64)
    np.testing.assert_allclose(c, alpha * left @ right + (beta * before if beta else 0), rtol=2e-2, atol=2e-2)
    np.testing.assert_array_equal(kept[2][:, n:], between)
    is_large = n * k >= 1 << 17
    is_plain = (ta, tb, alpha) == (111, 112, 1) and beta in (0, 1) and k % 16 == 0
    is_for_one_row = m == 1 and is_large
    is_for_few_rows = 1 < m <= most and is_large and is_plain
    assert calls.counts == {"gemm": not (is_for_one_row or is_for_few_rows), "gemv": is_for_one_row}


@pytest.mark.skipif(_MOST == 1, reason="this processor lacks AVX2 or FMA")
@pytest.mark.parametrize("m", range(2, MOST_ROWS + 1))
def test_a_row_is_the_same_number_for_number_beside_any_others(m: int):
    product = routed(Calls())
    numbers = np.random.default_rng(m)
    rows, matrix = (numbers.standard_normal((each, 512)).astype(np.float32) for each in (m, 400))

    def multiplied(chosen: list[int]) -> Any:
        a, c = rows[chosen], np.full((len(chosen), 400), _FILLER, np.float32)
        sizes = (len(chosen), 400, 512)
        product(101, 111, 112, *sizes, 1.0, a.ctypes.data, 512, matrix.ctypes.data, 512, 0.0, c.ctypes.data, 400)
        return c

    together = multiplied(list(range(m)))
    for row in range(m):
        other = multiplied([row, (row + 1) % m])
        np.testing.assert_array_equal(other[0], together[row])


def test_a_function_that_gives_something_else_is_not_used():
    calls = Calls()
    right = calls._gemv  # pyright: ignore[reportPrivateUsage]

    def wrong(*given: Any) -> None:
        right(*given)
        (ctypes.c_float).from_address(given[10]).value += 1

    calls.cblas_sgemv = type(calls.cblas_sgemv)(wrong)
    assert not route_few_rows(calls)  # pyright: ignore[reportArgumentType]
    assert not route_few_rows(object())  # pyright: ignore[reportArgumentType]


def test_few_rows_that_come_out_wrong_stay_with_blas():
    calls = Calls()
    right = calls._gemm  # pyright: ignore[reportPrivateUsage]

    def differs(*given: Any) -> None:
        right(*given)
        if given[3] > 1:
            (ctypes.c_float).from_address(given[12]).value += 1

    calls.cblas_sgemm = type(calls.cblas_sgemm)(differs)
    assert route_few_rows(calls, _MOST) == 1  # pyright: ignore[reportArgumentType]


def test_other_processors_keep_using_blas(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert not route_few_rows(Calls())  # pyright: ignore[reportArgumentType]


# Compares what MLX computes with NumPy, for one row and a few, with each layout. Prints which way they took.
MLX = """
from worker import blas, few_rows
assert blas.preload()
import mlx.core as mx, numpy as np
for num_rows in (1, 2, 4, 8, 9):
    rows, matrix = mx.random.normal((num_rows, 1, 704)), mx.random.normal((704, 900))
    turned, bias = mx.contiguous(matrix.T), mx.random.normal((900,))
    mx.eval(rows, matrix, turned, bias)
    expected = np.array(rows, np.float64) @ np.array(matrix, np.float64)
    for product in (rows @ matrix, rows @ turned.T, mx.addmm(bias, rows, turned.T) - bias):
        assert abs(np.array(product) - expected).max() < 1e-3
print(few_rows.most_routed_rows(), *blas.versions_in_use().values())
"""


@pytest.mark.parametrize("num_cores", [1, 64])
def test_mlx_multiplies_right(num_cores: int):
    program = MLX.replace("assert", f"blas._num_cores = lambda: {num_cores}\nassert", 1)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    if "is not installed" in done.stderr:
        pytest.skip("OpenBLAS is not installed here.")
    assert (done.returncode, done.stderr) == (0, "")
    most = _MOST if num_cores == 1 else 1
    assert done.stdout.startswith(f"{most} ")
    assert done.stdout.endswith(", sgemv, few rows\n" if most > 1 else ", sgemv\n")
