"""Models that the worker's tests share."""

from __future__ import annotations

import mlx.core as mx

# As the worker does on a CPU: each fused kernel would cost a run of the C++ compiler.
if mx.default_device() == mx.Device(mx.cpu):
    mx.disable_compile()
