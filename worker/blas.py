"""Loads a fast BLAS for MLX on Linux CPUs, which must happen before `mlx.core` is first imported.

MLX's CPU wheels come with a reference BLAS (8 GFLOP/s). If another library that defines `cblas_sgemm` is loaded first,
MLX uses that library. Bough loads OpenBLAS (245 GFLOP/s), or Intel's MKL if it is installed and the CPU is Intel's.

OpenBLAS has a kernel for each generation of CPUs, and chooses one by the CPU's model number. For a CPU newer than
itself, it may choose the kernel of a Pentium 4 (Prescott): version 0.3.21 of Debian 12 does so on Intel CPUs since
Raptor Lake. Matrix products are then three to five times slower. In that case this module chooses the kernel, by the
instructions that the CPU has. Products with few rows, which decoding consists of, are routed to faster functions.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import sys
from pathlib import Path

from worker.few_rows import MOST_ROWS, most_routed_rows, route_few_rows

_LIBRARY = "libopenblas.so.0"
_PACKAGE = "libopenblas0-pthread"
_CPUINFO = Path("/proc/cpuinfo")
_KERNEL = "OPENBLAS_CORETYPE"

_FEW_CORES = 4
"""With more cores, OpenBLAS's threads together are faster than Bough's own code on one of them."""

_AVX512 = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
_WITHOUT_AVX2 = {
    *("katmai", "coppermine", "northwood", "prescott", "banias", "atom", "core2", "penryn", "dunnington", "nehalem"),
    *("athlon", "opteron", "opteron_sse3", "barcelona", "nano", "sandybridge", "bobcat"),
}
"""The kernels for CPUs without AVX2. If OpenBLAS chooses any other kernel, its choice is kept."""


def preload() -> bool:
    """Load a BLAS for the whole process. Return False, after a message on standard error, if none is installed."""
    if sys.platform != "linux" or "mlx.core" in sys.modules:
        return True
    for name, value in _settings(_num_cores()).items():
        os.environ.setdefault(name, value)
    mkl, cpuinfo = _mkl_file(), _cpuinfo()
    try:
        if mkl is not None and prefers_mkl(cpuinfo):
            ctypes.CDLL(str(mkl), mode=ctypes.RTLD_GLOBAL)
        else:
            _load_openblas(cpuinfo)
    except OSError:
        if mkl is not None:
            return _loads(mkl)
        print(  # noqa: T201
            f"bough: {_LIBRARY} is not installed, so models on the CPU run several times slower. "
            f"Install it with: apt-get install {_PACKAGE}",
            file=sys.stderr,
        )
        return False
    return True


def _settings(num_cores: int) -> dict[str, str]:
    """Return the environment variables to set before the libraries are loaded, except those that the user has set.

    Idle threads of OpenBLAS spin for 2^n cycles. The default, about 20 ms, means that they always spin while decoding:
    on two cores the window waited 0.75 ms for each token instead of 0.1. 2^4 slows neither prefill nor decoding down.
    MKL's threads spin for a number of milliseconds.
    """
    number = str(num_cores)
    return {
        "OPENBLAS_NUM_THREADS": number,
        "OPENBLAS_THREAD_TIMEOUT": "4",
        "MKL_NUM_THREADS": number,
        "KMP_BLOCKTIME": "0",
    }


def _load_openblas(cpuinfo: str) -> None:
    """Load OpenBLAS with its best kernel. Raises `OSError`."""
    library = _load(None)
    kernel = None if os.environ.get(_KERNEL) else better_kernel(_kernel_of(library), cpuinfo)
    if kernel is not None:
        # OpenBLAS chooses a kernel only while it is loaded, so unload it. Nothing has used it yet.
        ctypes.CDLL(None).dlclose(ctypes.c_void_p(library._handle))  # noqa: SLF001 (a documented name)
        library = _load(kernel)
    # If two libraries define a function, that of the library that was made global first is used.
    route_few_rows(library, most_rows(cpuinfo, _num_cores()))
    ctypes.CDLL(_LIBRARY, mode=ctypes.RTLD_GLOBAL)


def _loads(library: Path) -> bool:
    try:
        ctypes.CDLL(str(library), mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


def _mkl_file() -> Path | None:
    """Return MKL's library, which the package `mkl` puts beside Python; None if it is not installed."""
    return max((Path(sys.prefix) / "lib").glob("libmkl_rt.so.*"), default=None)


def prefers_mkl(cpuinfo: str) -> bool:
    """Return whether MKL is faster than OpenBLAS on this CPU. `cpuinfo`: the text of `/proc/cpuinfo`.

    On AMD's CPUs, both are equally fast.
    """
    return any(line.split()[-1:] == ["GenuineIntel"] for line in cpuinfo.splitlines() if line.startswith("vendor_id"))


def most_rows(cpuinfo: str, num_cores: int) -> int:
    """Return the most rows that Bough multiplies itself, on one core. `cpuinfo`: the text of `/proc/cpuinfo`.

    One core gets a good part of the memory's speed, while OpenBLAS copies a matrix at 3 to 5 GB/s with each core.
    """
    _, flags = _vendor_and_flags(cpuinfo)
    return MOST_ROWS if {"avx2", "fma"} <= flags and num_cores <= _FEW_CORES else 1


def better_kernel(chosen: str, cpuinfo: str) -> str | None:
    """Return the kernel that this CPU should use instead of the one that OpenBLAS chose; None if its choice is good.

    `cpuinfo`: the text of `/proc/cpuinfo`.
    """
    vendor, flags = _vendor_and_flags(cpuinfo)
    if chosen.lower() not in _WITHOUT_AVX2 or not {"avx2", "fma"} <= flags:
        return None
    if flags >= _AVX512:
        return "SkylakeX"
    return "Zen" if vendor in {"AuthenticAMD", "HygonGenuine"} else "Haswell"


def _vendor_and_flags(cpuinfo: str) -> tuple[str, set[str]]:
    vendor = ""
    for line in cpuinfo.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "vendor_id":
            vendor = value.strip()
        elif name.strip() == "flags":
            return vendor, set(value.split())  # the first core's; the others have the same
    return vendor, set()


def versions_in_use() -> dict[str, str]:
    """Return the version of the BLAS that this process has loaded, by its name; empty if it has none.

    For example `{"openblas": "0.3.21 Haswell, sgemv, few rows"}`: with its kernel, the function for products with one
    row, and whether Bough multiplies a few rows itself.
    """
    if sys.platform != "linux":
        return {}
    if (mkl := _mkl_file()) is not None and _is_loaded(str(mkl)):
        return {"mkl": _version_of_mkl(mkl)}
    try:
        library = ctypes.CDLL(_LIBRARY, mode=os.RTLD_NOLOAD)
        library.openblas_get_config.restype = ctypes.c_char_p
        config: bytes = library.openblas_get_config()
    except (OSError, AttributeError):
        return {}
    # The text begins like "OpenBLAS 0.3.21 NO_LAPACKE".
    version = config.decode("ascii", "replace").split()[1:2]
    routed = most_routed_rows()
    ways = [way for way, least in (("sgemv", 1), ("few rows", 2)) if routed >= least]
    return {"openblas": ", ".join([" ".join([*version, _kernel_of(library)]), *ways])}


def _version_of_mkl(file: Path) -> str:
    try:
        return importlib.metadata.version("mkl")
    except importlib.metadata.PackageNotFoundError:  # installed by another package manager
        return file.suffix.lstrip(".")


def _is_loaded(library: str) -> bool:
    try:
        ctypes.CDLL(library, mode=os.RTLD_NOLOAD)
    except OSError:
        return False
    return True


def _load(kernel: str | None) -> ctypes.CDLL:
    """Load OpenBLAS with this kernel; without one, OpenBLAS chooses. Raises `OSError`."""
    if kernel is None:
        return ctypes.CDLL(_LIBRARY)
    os.environ[_KERNEL] = kernel
    try:
        return ctypes.CDLL(_LIBRARY)
    finally:
        # NumPy has an OpenBLAS of its own, which makes its own choice.
        del os.environ[_KERNEL]


def _kernel_of(library: ctypes.CDLL) -> str:
    """Return the name of the kernel that a loaded OpenBLAS uses; empty if the library does not report it."""
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
