"""Loads a fast BLAS for MLX on Linux CPUs, which must happen before `mlx.core` is first imported.

MLX's CPU wheels come with a reference BLAS (8 GFLOP/s). If OpenBLAS is loaded first, MLX uses it (245 GFLOP/s).
"""

from __future__ import annotations

import ctypes
import os
import sys

_LIBRARY = "libopenblas.so.0"
_PACKAGE = "libopenblas0-pthread"


def preload() -> bool:
    """Load OpenBLAS for the whole process. Return False, after a message on standard error, if it is not installed."""
    if sys.platform != "linux" or "mlx.core" in sys.modules:
        return True
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(_num_cores()))
    # Idle BLAS threads spin for 2^n cycles. The default, about 20 ms, means that they always spin while decoding: on
    # two cores the window waited 0.75 ms for each token instead of 0.1. 2^4 slows neither prefill nor decoding down.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    try:
        ctypes.CDLL(_LIBRARY, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        print(  # noqa: T201
            f"bough: {_LIBRARY} is not installed, so models on the CPU run several times slower. "
            f"Install it with: apt-get install {_PACKAGE}",
            file=sys.stderr,
        )
        return False
    return True


def _num_cores() -> int:
    """Return how many cores this process may use."""
    return max(1, len(os.sched_getaffinity(0)))
