"""Products with one row go to the function for them, and come out as before."""

from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.driver import ROOT
from worker import one_row
from worker.one_row import route_one_row_products

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="the library is for Linux on x86-64"
)

_FILLER = float("nan")


class Calls:
    """A BLAS in Python that counts which of its functions are called."""

    def __init__(self) -> None:
        self.counts = {"gemm": 0, "gemv": 0}
        gemm = ctypes.CFUNCTYPE(None, *one_row._ARGUMENTS)  # pyright: ignore[reportPrivateUsage]
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


def routed(blas: Any) -> Any:
    """Return the library's `cblas_sgemm`, which calls the functions of `blas`."""
    loaded: list[Any] = []
    library = ctypes.CDLL

    def load(path: str, mode: int = 0) -> Any:
        loaded.append(library(path))
        return loaded[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ctypes, "CDLL", load)
        assert route_one_row_products(blas)
    return loaded[0].cblas_sgemm


@pytest.mark.parametrize("seed", range(30))
def test_every_product_is_what_numpy_gives(seed: int):
    rng = Random(seed)
    calls = Calls()
    product = routed(calls)
    calls.counts = dict.fromkeys(calls.counts, 0)
    m = rng.choice([1, 1, 1, 2, 5])
    n, k = rng.choice([(512, 256), (1, 131_072), (131_072, 1), (700, 300), (20, 30), (1, 1), (361, 363)])
    ta, tb = rng.choice([111, 112]), rng.choice([111, 112])
    alpha, beta = rng.choice([1.0, -0.5]), rng.choice([0.0, 0.0, 2.0])
    numbers = np.random.default_rng(seed)
    shapes = [(m, k) if ta == 111 else (k, m), (k, n) if tb == 111 else (n, k), (m, n)]
    # Rows may lie further apart than they are long.
    lengths = [columns + rng.choice([0, 3]) for _, columns in shapes]
    kept = [
        numbers.standard_normal((rows, length)).astype(np.float32)
        for (rows, _), length in zip(shapes, lengths, strict=True)
    ]
    a, b, c = (whole[:, : shape[1]] for whole, shape in zip(kept, shapes, strict=True))
    before = c.copy()
    if beta == 0:
        c[...] = _FILLER
    lda, ldb, ldc = lengths
    product(101, ta, tb, m, n, k, alpha, a.ctypes.data, lda, b.ctypes.data, ldb, beta, c.ctypes.data, ldc)
    left, right = (a if ta == 111 else a.T).astype(np.float64), (b if tb == 111 else b.T).astype(np.float64)
    np.testing.assert_allclose(c, alpha * left @ right + (beta * before if beta else 0), rtol=2e-2, atol=2e-2)
    is_for_one_row = m == 1 and n * k >= 1 << 17
    assert calls.counts == {"gemm": 1 - is_for_one_row, "gemv": int(is_for_one_row)}


def test_a_function_that_gives_something_else_is_not_used():
    calls = Calls()
    right = calls._gemv  # pyright: ignore[reportPrivateUsage]

    def wrong(*given: Any) -> None:
        right(*given)
        (ctypes.c_float).from_address(given[10]).value += 1

    calls.cblas_sgemv = type(calls.cblas_sgemv)(wrong)
    assert not route_one_row_products(calls)  # pyright: ignore[reportArgumentType]
    assert not route_one_row_products(object())  # pyright: ignore[reportArgumentType]


def test_another_processor_goes_on_as_before(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert not route_one_row_products(Calls())  # pyright: ignore[reportArgumentType]


# Prints what MLX computes for one row with each layout, against NumPy, and whether the library was in front.
MLX = """
from worker import blas, one_row
assert blas.preload()
import mlx.core as mx, numpy as np
row, matrix = mx.random.normal((1, 700)), mx.random.normal((700, 900))
turned = mx.contiguous(matrix.T)
mx.eval(row, matrix, turned)
expected = np.array(row, np.float64) @ np.array(matrix, np.float64)
for product in (row @ matrix, row @ turned.T, mx.addmm(mx.zeros((900,)), row, matrix)):
    assert abs(np.array(product) - expected).max() < 1e-3
print(one_row.is_routed(), *blas.versions_in_use().values())
"""


def test_mlx_multiplies_right():
    done = subprocess.run(
        [sys.executable, "-c", MLX], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    if "is not installed" in done.stderr:
        pytest.skip("OpenBLAS is not installed here.")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("True ")
    assert done.stdout.endswith(", sgemv\n")
