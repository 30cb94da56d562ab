"""Writes folders for trainers: `train.jsonl`, and `valid.jsonl` with every tenth conversation, chosen by its id."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import BinaryIO

from app.model.exports.captions import title
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Trainer, whole_file
from app.model.exports.training_records import is_for_validation, training_records
from app.model.exports.training_turns import Losses
from worker.sentence import Sentence

FILES = ("train.jsonl", "valid.jsonl")
_BATCH = 4
"""The number of lines that mlx-lm takes at once by default; it refuses a file with fewer."""


class TrainingFolder:
    """One export for a trainer."""

    def __init__(self, folder: Path, trainer: Trainer, options: Options) -> None:
        self._folder, self._options = folder, options
        self._trainer: Trainer = trainer
        self._num_lines = dict.fromkeys(FILES, 0)
        self.empty: list[str] = []
        """The names of conversations that have nothing for the trainer."""
        self.remarks: list[Sentence] = []
        """Sentences about what was joined or left out, and about small files."""

    @property
    def paths(self) -> list[Path]:
        """The files that were written."""
        return [self._folder / name for name in FILES if self._num_lines[name]]

    def write(self, excerpts: Iterable[Excerpt]) -> Generator[int]:
        """Write the files and yield the number of conversations done.

        Earlier files with these names are replaced, or removed if they would be empty now, once all lines are on the
        disk. If there are no lines, nothing is changed. Raises `OSError`.
        """
        losses = Losses()
        is_new = not self._folder.exists()
        with contextlib.ExitStack() as stack:
            if is_new:
                # A folder that holds the files is not removed.
                stack.callback(self._remove_if_empty)
            files: dict[str, BinaryIO] = {}
            for number, excerpt in enumerate(excerpts, 1):
                name = FILES[is_for_validation(excerpt.conversation)]
                before = self._num_lines[name]
                for piece in training_records(excerpt, self._trainer, self._options, losses):
                    if piece.text:
                        if name not in files:
                            self._folder.mkdir(parents=True, exist_ok=True)
                            files[name] = stack.enter_context(whole_file(self._folder / name))
                        files[name].write(piece.text.encode())
                        self._num_lines[name] += 1
                    yield number - 1
                if self._num_lines[name] == before:
                    self.empty.append(title(excerpt))
                yield number
        self._settle()
        self.remarks += losses.sentences()

    def _remove_if_empty(self) -> None:
        with contextlib.suppress(OSError):
            self._folder.rmdir()

    def _settle(self) -> None:
        """Leave no empty side and no file of an earlier export."""
        train, valid = (self._folder / name for name in FILES)
        if not self.paths:
            return
        if self._num_lines["train.jsonl"] == 0:
            valid.replace(train)
            self._num_lines = {"train.jsonl": self._num_lines["valid.jsonl"], "valid.jsonl": 0}
            self.remarks.append(
                Sentence("All of these conversations are for validation by their ids; train.jsonl has them instead.")
            )
        elif self._num_lines["valid.jsonl"] == 0:
            valid.unlink(missing_ok=True)
        if self._num_lines["valid.jsonl"] == 0:
            self.remarks.append(
                Sentence("There is no valid.jsonl, because none of these conversations is for validation.")
            )
        small = min(number for number in self._num_lines.values() if number)
        if self._trainer == "mlx-lm" and small < _BATCH:
            self.remarks.append(
                Sentence("A file has fewer lines than mlx-lm takes at once. Add --batch-size {num} there.", num=small)
            )
