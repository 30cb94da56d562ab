"""A fast BLAS for MLX on Linux's CPU; it must be loaded before `mlx.core` is first imported.

MLX's CPU wheels carry a reference BLAS (8 GFLOP/s); with OpenBLAS's symbols there first it computes at 245.
"""

from __future__ import annotations

import ctypes
import os
import sys

_LIBRARY = "libopenblas.so.0"
_PACKAGE = "libopenblas0-pthread"


def preload() -> bool:
    """Load OpenBLAS for the whole process; return whether it is there. Says so once on standard error if not."""
    if sys.platform != "linux" or "mlx.core" in sys.modules:
        return True
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(_num_cores()))
    # Idle BLAS threads spin for 2^n cycles, by default some 20 ms: always, while tokens are decoded. On two cores the
    # window then waited 0.75 ms for each token, not 0.1; with 2^4 neither prefill nor decoding got slower.
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
    """Those that this process may use."""
    return max(1, len(os.sched_getaffinity(0)))
