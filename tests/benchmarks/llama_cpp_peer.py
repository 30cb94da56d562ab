"""llama.cpp as a peer of `real_weights.py`: llama_cpp_peer.py FILE NUM_TOKENS

It runs in a Python that has llama-cpp-python, and imports nothing of Bough. It reads prompts as lines of ids. For each
it prints the tokens per second of the prompt, and of an answer of NUM_TOKENS tokens.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from typing import Any


def main(path: str, num_tokens: int) -> None:
    llama: Any = importlib.import_module("llama_cpp")
    threads = len(os.sched_getaffinity(0))
    model = llama.Llama(path, n_ctx=1024, n_threads=threads, n_threads_batch=threads, verbose=False)
    for line in sys.stdin:
        ids = list(map(int, line.split()))
        model.reset()
        began = time.perf_counter()
        model.eval(ids)
        token = model.sample(temp=0)
        first = time.perf_counter()
        for _ in range(num_tokens - 1):
            model.eval([token])
            token = model.sample(temp=0)
        print(len(ids) / (first - began), (num_tokens - 1) / (time.perf_counter() - first), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
