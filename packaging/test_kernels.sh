#!/bin/sh
# Runs the worker's tests with each kernel of OpenBLAS that this CPU can run: test_kernels.sh PYTEST...
# Kernels differ in the last bits of their results, and OpenBLAS takes its oldest one on a CPU it does not know.
set -eu
if [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "The kernels differ on Linux with an x86 CPU only; nothing to test here."
  exit 0
fi
flags=" $(grep -m1 '^flags' /proc/cpuinfo) "
kernels=Prescott
case $flags in *" avx2 "*) kernels="$kernels Haswell Zen" ;; esac
case $flags in *" avx512vl "*) kernels="$kernels SkylakeX" ;; esac
for kernel in $kernels; do
  echo "OpenBLAS kernel $kernel:"
  OPENBLAS_CORETYPE=$kernel "$@" tests/worker
done
