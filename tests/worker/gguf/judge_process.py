"""llama.cpp as a judge: answers requests on standard input, one JSON object a line.

It runs in a Python that has `llama_cpp`, and imports nothing of Bough.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

llama_cpp: Any = importlib.import_module("llama_cpp")

_F32 = 0
"""ggml's number of the type, used for the KV cache, so that nothing is rounded there."""


class Judge:
    """Holds one model at a time."""

    def __init__(self) -> None:
        self._key: object = None
        self._model: Any = None

    def tokenize(
        self,
        model: str,
        texts: Sequence[str],
        overrides: Mapping[str, Any] | None,
        *,
        add_special: bool,
        parse_special: bool,
    ) -> dict[str, Any]:
        """Return the ids of each text."""
        vocabulary = self._load(model, overrides, vocab_only=True)._model.vocab
        found: list[list[int]] = []
        for text in texts:
            data = text.encode()
            size = len(data) + 16
            ids = (llama_cpp.llama_token * size)()
            count = llama_cpp.llama_tokenize(vocabulary, data, len(data), ids, size, add_special, parse_special)
            if count < 0:
                ids = (llama_cpp.llama_token * -count)()
                count = llama_cpp.llama_tokenize(vocabulary, data, len(data), ids, -count, add_special, parse_special)
            found.append(list(ids[:count]))
        return {"ids": found}

    def logits(self, model: str, prompts: Sequence[Sequence[int]], num_positions: int) -> dict[str, Any]:
        """Return the logits at each position of each prompt, as float32."""
        loaded = self._load_all(model, num_positions)
        found: list[str] = []
        for ids in prompts:
            loaded.reset()
            loaded.eval(ids)
            found.append(base64.b64encode(loaded.scores[: len(ids)].tobytes()).decode())
        return {"logits": found, "size": loaded.n_vocab()}

    def greedy(self, model: str, ids: Sequence[int], count: int, num_positions: int) -> dict[str, Any]:
        """Return the `count` ids that follow, each the likeliest one."""
        loaded = self._load_all(model, num_positions)
        loaded.reset()
        loaded.eval(ids)
        found: list[int] = []
        for _ in range(count):
            found.append(int(loaded.scores[loaded.n_tokens - 1].argmax()))
            loaded.eval([found[-1]])
        return {"ids": found}

    def render(self, template: str, messages: Sequence[Mapping[str, str]], bos: str, eos: str) -> dict[str, Any]:
        """Return a conversation as the chat template writes it; None if it can't."""
        formats: Any = importlib.import_module("llama_cpp.llama_chat_format")
        try:
            formatter = formats.Jinja2ChatFormatter(template, eos_token=eos, bos_token=bos)
            return {"text": formatter(messages=messages).prompt}
        except Exception:  # noqa: BLE001
            return {"text": None}

    def _load_all(self, path: str, num_positions: int) -> Any:
        return self._load(
            path,
            None,
            type_k=_F32,
            type_v=_F32,
            logits_all=True,
            n_ctx=num_positions,
            n_batch=num_positions,
            n_ubatch=num_positions,
            n_threads=1,
            n_threads_batch=1,
        )

    def _load(self, path: str, overrides: Mapping[str, Any] | None, **options: Any) -> Any:
        key = (path, json.dumps(overrides), sorted(options.items()))
        if key != self._key:
            self._model = None
            self._model = llama_cpp.Llama(
                path, kv_overrides=overrides, verbose="JUDGE_VERBOSE" in os.environ, **options
            )
            self._key = key
        return self._model


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the library may print
    judge = Judge()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(judge, request.pop("ask"))(**request)
        except Exception as error:  # noqa: BLE001
            answer = {"error": repr(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
