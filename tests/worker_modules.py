"""Imports a worker's modules, for `tests/forking.py`."""

from __future__ import annotations

import gc
import importlib

from worker.blas import preload
from worker.transformers_import import import_transformers

preload()
import_transformers()
for name in ("chat", "model_trial", "process", "server", "stdio"):
    importlib.import_module(f"worker.{name}")
gc.collect()
gc.freeze()
