"""The kernel that OpenBLAS uses, on the CPUs of `cpus.txt` (parts of their /proc/cpuinfo) and on this machine."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.driver import ROOT
from worker.blas import better_kernel, most_rows, prefers_mkl

CPUS = {
    text.partition("model name  : ")[2].partition("\n")[0]: text
    for text in (Path(__file__).parent / "cpus.txt").read_text().split("\n\n")
}

# CPU, the kernel that OpenBLAS 0.3.21 chooses (its driver/others/dynamic.c), and Bough's choice; None keeps OpenBLAS's.
CHOICES = [
    ("AMD Opteron(tm) Processor 6136", "Barcelona", None),
    ("Intel(R) Xeon(R) CPU E5-2650 v2 @ 2.60GHz", "Sandybridge", None),
    ("AMD FX(tm)-8350 Eight-Core Processor", "Piledriver", None),
    ("Intel(R) Xeon(R) CPU E5-2680 v3 @ 2.50GHz", "Haswell", None),
    ("AMD EPYC 7301 16-Core Processor", "Zen", None),
    ("AMD Ryzen 9 5950X 16-Core Processor", "Zen", None),
    ("Intel(R) Xeon(R) Platinum 8260M CPU @ 2.40GHz", "SkylakeX", None),
    ("AMD EPYC 9654 96-Core Processor", "Cooperlake", None),
    ("Intel(R) Xeon(R) Platinum 8480+", "Cooperlake", None),
    ("AMD Ryzen 9 9950X 16-Core Processor", "Cooperlake", None),
    # Their model numbers are beyond the ones that it has cases for, and it falls through to Prescott.
    ("Intel(R) Core(TM) i7-14650HX", "Prescott", "Haswell"),
    ("Intel(R) N100", "Prescott", "Haswell"),
    ("Intel(R) Core(TM) Ultra 9 285", "Prescott", "Haswell"),
    ("INTEL(R) XEON(R) PLATINUM 8558P", "Prescott", "SkylakeX"),
]


@pytest.mark.parametrize(("cpu", "chosen", "better"), CHOICES)
def test_a_kernel_without_avx2_is_replaced_where_the_cpu_has_it(cpu: str, chosen: str, better: str | None):
    assert better_kernel(chosen, CPUS[cpu]) == better


def test_every_cpu_has_its_line():
    assert {cpu for cpu, _, _ in CHOICES} == set(CPUS)


@pytest.mark.parametrize(("cpu", "chosen", "better"), CHOICES)
def test_a_version_that_chooses_a_good_kernel_keeps_it(cpu: str, chosen: str, better: str | None):
    for good in ("Haswell", "Zen", "SkylakeX", "Cooperlake", "SapphireRapids", "a kernel of the future"):
        assert better_kernel(good, CPUS[cpu]) is None


@pytest.mark.parametrize("cpu", [cpu for cpu, _, _ in CHOICES])
def test_mkl_is_used_on_intels_cpus_only(cpu: str):
    assert prefers_mkl(CPUS[cpu]) == ("intel" in cpu.lower())
    assert not prefers_mkl("processor : 0\nFeatures : fp asimd\n")


def test_bough_multiplies_few_rows_itself_where_the_cpu_has_avx2_and_few_cores():
    new, old = CPUS["AMD Ryzen 9 5950X 16-Core Processor"], CPUS["Intel(R) Xeon(R) CPU E5-2650 v2 @ 2.60GHz"]
    assert [most_rows(new, cores) for cores in (1, 2, 4, 5, 64)] == [8, 8, 8, 1, 1]
    assert [most_rows(text, 2) for text in (old, "", "Features : fp asimd\n")] == [1, 1, 1]


def test_an_old_version_gets_the_kernels_of_amd():
    assert better_kernel("Prescott", CPUS["AMD Ryzen 9 5950X 16-Core Processor"]) == "Zen"
    assert better_kernel("Prescott", CPUS["AMD EPYC 9654 96-Core Processor"]) == "SkylakeX"


def test_an_unknown_cpu_is_left_alone():
    hidden = CPUS["Intel(R) N100"].replace(" avx2", "")  # a virtual machine may hide it
    arm = "processor : 0\nFeatures : fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp\n"
    for cpuinfo in ("", hidden, arm, "flags", ":\n::\n", "flags :"):
        assert better_kernel("Prescott", cpuinfo) is None
    assert better_kernel("neoversen1", arm) is None


# An OpenBLAS that does not know this CPU. Prints the kernels before and after, and what NumPy's own OpenBLAS will see.
OLD_LIBRARY = """
import os
from worker import blas
if {old}:
    load = blas._load
    blas._load = lambda kernel: load(kernel or "Prescott")
assert blas.preload()
print(blas.versions_in_use()["openblas"], os.environ.get("OPENBLAS_CORETYPE"))
import mlx.core as mx
print((mx.ones((64, 64)) @ mx.ones((64, 64))).sum().item())
"""


@pytest.mark.parametrize(
    ("old", "named", "is_replaced"),
    [(True, None, True), (False, None, None), (False, "Prescott", False)],
    ids=["it does not know the CPU", "it knows the CPU", "the user names a kernel"],
)
def test_the_fast_kernel_is_in_use(
    old: bool, named: str | None, is_replaced: bool | None, monkeypatch: pytest.MonkeyPatch
):
    flags = Path("/proc/cpuinfo").read_text() if sys.platform == "linux" else ""
    if " avx2 " not in flags:
        pytest.skip("This CPU has no AVX2, so Prescott's kernel may be right.")
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    if named:
        monkeypatch.setenv("OPENBLAS_CORETYPE", named)
    done = subprocess.run(
        [sys.executable, "-c", OLD_LIBRARY.format(old=old)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=500,
    )  # fmt: skip
    if "is not installed" in done.stderr:
        pytest.skip("OpenBLAS is not installed here.")
    assert (done.returncode, done.stderr) == (0, "")
    in_use, total = done.stdout.splitlines()
    version, kernel, *_, seen = in_use.replace(",", "").split()
    assert version[0].isdigit()
    assert seen == str(named)
    assert (kernel == "Prescott") == (is_replaced is False)
    assert float(total) == 64**3
