"""Loads a fast BLAS for MLX on Linux CPUs, which must happen before `mlx.core` is first imported.

MLX's CPU wheels come with a reference BLAS (8 GFLOP/s). If OpenBLAS is loaded first, MLX uses it (245 GFLOP/s).

OpenBLAS has a kernel for each generation of CPUs, and chooses one by the CPU's model number. For a CPU newer than
itself, it may choose the kernel of a Pentium 4 (Prescott): version 0.3.21 of Debian 12 does so on Intel CPUs since
Raptor Lake. Matrix products are then three to five times slower. In that case this module chooses the kernel, by the
instructions that the CPU has.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

_LIBRARY = "libopenblas.so.0"
_PACKAGE = "libopenblas0-pthread"
_CPUINFO = Path("/proc/cpuinfo")
_KERNEL = "OPENBLAS_CORETYPE"

_AVX512 = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
_WITHOUT_AVX2 = {
    *("katmai", "coppermine", "northwood", "prescott", "banias", "atom", "core2", "penryn", "dunnington", "nehalem"),
    *("athlon", "opteron", "opteron_sse3", "barcelona", "nano", "sandybridge", "bobcat"),
}
"""The kernels for CPUs without AVX2. If OpenBLAS chooses any other kernel, its choice is kept."""


def preload() -> bool:
    """Load OpenBLAS for the whole process. Return False, after a message on standard error, if it is not installed."""
    if sys.platform != "linux" or "mlx.core" in sys.modules:
        return True
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(_num_cores()))
    # Idle BLAS threads spin for 2^n cycles. The default, about 20 ms, means that they always spin while decoding: on
    # two cores the window waited 0.75 ms for each token instead of 0.1. 2^4 slows neither prefill nor decoding down.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    try:
        library = _load(None)
    except OSError:
        print(  # noqa: T201
            f"bough: {_LIBRARY} is not installed, so models on the CPU run several times slower. "
            f"Install it with: apt-get install {_PACKAGE}",
            file=sys.stderr,
        )
        return False
    kernel = None if os.environ.get(_KERNEL) else better_kernel(_kernel_of(library), _cpuinfo())
    if kernel is not None:
        # OpenBLAS chooses a kernel only while it is loaded, so unload it. Nothing has used it yet.
        ctypes.CDLL(None).dlclose(ctypes.c_void_p(library._handle))  # noqa: SLF001 (a documented name)
        _load(kernel)
    return True


def better_kernel(chosen: str, cpuinfo: str) -> str | None:
    """Return the kernel that this CPU should use instead of the one that OpenBLAS chose; None if its choice is good.

    `cpuinfo`: the text of `/proc/cpuinfo`.
    """
    flags: set[str] = set()
    vendor = ""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "vendor_id":
            vendor = value.strip()
        elif name.strip() == "flags":
            flags = set(value.split())
            break  # the first core's; the others have the same
    if chosen.lower() not in _WITHOUT_AVX2 or not {"avx2", "fma"} <= flags:
        return None
    if flags >= _AVX512:
        return "SkylakeX"
    return "Zen" if vendor in {"AuthenticAMD", "HygonGenuine"} else "Haswell"


def version_in_use() -> str | None:
    """Return the version and the kernel of the OpenBLAS that this process has loaded, or None: `"0.3.21 Haswell"`."""
    if sys.platform != "linux":
        return None
    try:
        library = ctypes.CDLL(_LIBRARY, mode=os.RTLD_NOLOAD)
        library.openblas_get_config.restype = ctypes.c_char_p
        config: bytes = library.openblas_get_config()
    except (OSError, AttributeError):
        return None
    # The text begins like "OpenBLAS 0.3.21 NO_LAPACKE".
    version = config.decode("ascii", "replace").split()[1:2]
    return " ".join([*version, _kernel_of(library)])


def _load(kernel: str | None) -> ctypes.CDLL:
    """Load OpenBLAS with this kernel; without one, OpenBLAS chooses. Raises `OSError`."""
    if kernel is None:
        return ctypes.CDLL(_LIBRARY, mode=ctypes.RTLD_GLOBAL)
    os.environ[_KERNEL] = kernel
    try:
        return ctypes.CDLL(_LIBRARY, mode=ctypes.RTLD_GLOBAL)
    finally:
        # NumPy has an OpenBLAS of its own, which makes its own choice.
        del os.environ[_KERNEL]


def _kernel_of(library: ctypes.CDLL) -> str:
    """Return the kernel of a loaded OpenBLAS; empty if it does not tell."""
    try:
        library.openblas_get_corename.restype = ctypes.c_char_p
        name: bytes = library.openblas_get_corename()
    except AttributeError:
        return ""
    return name.decode("ascii", "replace")


def _cpuinfo() -> str:
    try:
        return _CPUINFO.read_text("utf-8", "replace")
    except OSError:
        return ""


def _num_cores() -> int:
    """Return how many cores this process may use."""
    return max(1, len(os.sched_getaffinity(0)))
