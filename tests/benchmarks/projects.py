"""Ten conversations over a project of 4,000 tokens: the tokens that are read, against the least possible.

It goes the whole way: the store, the prompt of each conversation, the real worker.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.architectures import small_gemma3, small_lfm2, small_llama, write_random_model
from tests.benchmarks.measure import Row, alone
from tests.driver import StdioWorker
from tests.models import byte_level_tokenizer
from tests.projects import read

_AREA = "projects"
_CONTEXT = {"max_position_embeddings": 8192}
_NUM_WORDS = 4800


def rows() -> Iterator[Row]:
    tokenizer = byte_level_tokenizer()
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    models = {"llama": small_llama(size), "gemma3_text": small_gemma3(512), "lfm2": small_lfm2()}
    for name, config in models.items():
        with tempfile.TemporaryDirectory() as folder, StdioWorker(is_forked=False) as worker:
            worker.load(write_random_model(Path(folder) / "model", tokenizer, config | _CONTEXT))
            found = read(worker, Path(folder), _NUM_WORDS)
        what = f"{name}: ten conversations over a project of {found.project} tokens: tokens read ÷ ideal"
        yield alone(_AREA, what, [found.num_read / found.num_ideal], "<= 1.0" if name == "llama" else "<= 1.05")
