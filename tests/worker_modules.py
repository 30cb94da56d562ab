"""Imports the modules of the processes that are forked, for `tests/forking.py`."""

from __future__ import annotations

import gc
import importlib

from worker.blas import preload
from worker.transformers_import import import_transformers

preload()
import_transformers()
for name in ("chat", "model_trial", "process", "server", "stdio"):
    importlib.import_module(f"worker.{name}")
importlib.import_module("app.serving.server")
importlib.import_module("app.catalog.download_process")
importlib.import_module("worker.endpoints.engine")
importlib.import_module("openai.resources.chat")
importlib.import_module("openai.resources.models")
gc.collect()
gc.freeze()
