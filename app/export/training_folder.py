"""Writes folders for trainers: `train.jsonl`, and `valid.jsonl` with every tenth conversation, chosen by its id."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import BinaryIO

from app.model.exports.captions import title
from app.model.exports.excerpt import Excerpt, Options
from app.model.exports.files import Trainer, new_folder, staging_folder, whole_file
from app.model.exports.losses import Losses
from app.model.exports.training_records import is_for_validation, training_records
from app.model.own_files import real_file
from worker.sentence import Sentence

TRAIN, VALID = FILES = ("train.jsonl", "valid.jsonl")
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
        self.losses = Losses()
        """The messages of all other conversations that were joined or left out."""
        self.lost = Losses()
        """The messages of the conversations in `empty` that were left out."""
        self.remarks: list[Sentence] = []
        """Sentences about how the conversations were divided between the files, and about small files."""

    @property
    def paths(self) -> list[Path]:
        """The files that were written."""
        return [self._folder / name for name in FILES if self._num_lines[name]]

    def write(self, excerpts: Iterable[Excerpt]) -> Generator[int]:
        """Write the files and yield the number of conversations done.

        Both files are completely on the disk before earlier ones are replaced, or removed if they would be empty now.
        A new folder appears with both. In a folder that exists, the earlier `valid.jsonl` goes first and the new one
        comes last: a program that is killed meanwhile leaves `train.jsonl` alone, never the files of two exports. If
        there are no lines, nothing is changed. Raises `OSError`.
        """
        is_new = not self._folder.is_dir()
        with (
            new_folder(self._folder.parent),
            staging_folder(self._folder if is_new else self._folder / TRAIN) as staged,
        ):
            yield from self._write_files(staged, excerpts)
            if self.paths:
                self._settle(staged)
                if is_new:
                    staged.rename(self._folder)
                else:
                    self._replace(staged)

    def _write_files(self, folder: Path, excerpts: Iterable[Excerpt]) -> Generator[int]:
        with contextlib.ExitStack() as stack:
            files: dict[str, BinaryIO] = {}
            for number, excerpt in enumerate(excerpts, 1):
                name = FILES[is_for_validation(excerpt.conversation)]
                before, losses = self._num_lines[name], Losses()
                for piece in training_records(excerpt, self._trainer, self._options, losses):
                    if piece.text:
                        if name not in files:
                            files[name] = stack.enter_context(whole_file(folder / name))
                        files[name].write(piece.text.encode())
                        self._num_lines[name] += 1
                    yield number - 1
                if self._num_lines[name] == before:
                    self.lost.add_all(losses)
                    self.empty.append(title(excerpt))
                else:
                    self.losses.add_all(losses)
                yield number

    def _settle(self, folder: Path) -> None:
        """If no conversation is for training, move all lines to `train.jsonl`. Add the remarks."""
        if self._num_lines[TRAIN] == 0:
            (folder / VALID).replace(folder / TRAIN)
            self._num_lines = {TRAIN: self._num_lines[VALID], VALID: 0}
            self.remarks.append(
                Sentence(
                    "All of these conversations would be validation data, so they were written to train.jsonl instead."
                )
            )
        if self._num_lines[VALID] == 0:
            self.remarks.append(
                Sentence("There is no valid.jsonl, because none of these conversations was selected for validation.")
            )
        small = min(number for number in self._num_lines.values() if number)
        if self._trainer == "mlx-lm" and small < _BATCH:
            self.remarks.append(
                Sentence(
                    "A file has fewer lines than a batch of mlx-lm. Run mlx-lm with --batch-size {num}.", num=small
                )
            )

    def _replace(self, staged: Path) -> None:
        train, valid = (real_file(self._folder / name) for name in FILES)
        valid.unlink(missing_ok=True)
        (staged / TRAIN).replace(train)
        if self._num_lines[VALID]:
            (staged / VALID).replace(valid)
