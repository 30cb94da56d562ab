"""Real servers of other programs as processes: mlx-lm, and llama-cpp-python where it is installed."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Generator, Sequence
from pathlib import Path

from tests.driver import PATIENCE_S, ROOT

LLAMA_CPP_PYTHON = "BOUGH_LLAMA_CPP_PYTHON"
"""The variable of the environment that names a Python with llama-cpp-python and its server."""


def llama_cpp_python() -> str | None:
    """Return the Python with llama-cpp-python; None if no variable of the environment names it."""
    return os.environ.get(LLAMA_CPP_PYTHON) or None


@contextlib.contextmanager
def mlx_lm_server(model: Path, *arguments: str) -> Generator[str]:
    """Run mlx-lm's server with a model's folder; yield its address, as a user would enter it.

    It calls the model by the folder's path. Its list of models is empty if there is no folder of the hub's cache.
    """
    port = _free_port()
    command = [sys.executable, "-m", "mlx_lm", "server", "--model", str(model), "--port", str(port), *arguments]
    with tempfile.TemporaryDirectory() as cache, _running(command, "Starting httpd", port, HF_HUB_CACHE=cache) as url:
        yield url


@contextlib.contextmanager
def llama_cpp_server(python: str, model: Path, *arguments: str) -> Generator[str]:
    """Run llama-cpp-python's server with a GGUF file; yield its address. It calls the model "tiny"."""
    port = _free_port()
    command = [
        *(python, "-m", "llama_cpp.server", "--model", str(model), "--port", str(port), "--model_alias", "tiny"),
        *("--n_ctx", "2048", "--chat_format", "chatml", *arguments),
    ]
    with _running(command, "Uvicorn running", port) as url:
        yield url


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@contextlib.contextmanager
def _running(command: Sequence[str], ready: str, port: int, **variables: str) -> Generator[str]:
    """Run a server until the `with` statement ends; it is ready when it writes a line that contains a text."""
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", **variables}
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    lines: deque[str] = deque(maxlen=50)
    is_ready = threading.Event()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            if ready in line:
                is_ready.set()
        is_ready.set()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        if not is_ready.wait(PATIENCE_S) or not any(ready in line for line in lines):
            raise RuntimeError("The server did not start: " + "".join(lines))
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait(PATIENCE_S)
        reader.join(PATIENCE_S)
        process.stderr.close()
