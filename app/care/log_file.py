"""The log of this program and its workers: a file that is replaced when it is full. It never holds users' texts."""

from __future__ import annotations

import contextlib
import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import IO, Any

from typing_extensions import override

from app.model.own_files import make_folder, open_own
from worker.logs import LogFormatter, log_uncaught, print_logs

_log = logging.getLogger(__name__)

MAX_BYTES = 1 << 20
NUM_KEPT = 4
"""Full files that are kept beside the one that is written."""


class LogFile:
    """Adds the file to Python's loggers until `close`. Warnings are also printed, as they are without a file."""

    def __init__(self, folder: Path, name: str, *, max_bytes: int = MAX_BYTES) -> None:
        """Write to `name` in `folder`. Without a folder that can be written, nothing is logged."""
        self.path = folder / name
        self._handler: _Rotating | None = None
        # Python's own way to print warnings ends with the first handler.
        print_logs("")
        self._loggers = [logging.getLogger(one) for one in ("app", "worker")]
        self._levels = [logger.level for logger in self._loggers]
        for logger in self._loggers:
            logger.setLevel(logging.INFO)
        try:
            make_folder(folder)
            self._handler = _Rotating(self.path, maxBytes=max_bytes, backupCount=NUM_KEPT, encoding="utf-8")
        except OSError as error:
            _log.warning("Nothing is logged, because %s can't be written: %s", self.path, error)
            return
        self._handler.setFormatter(LogFormatter())
        logging.getLogger().addHandler(self._handler)
        self._end_uncaught = log_uncaught(logging.getLogger("app"))
        _log.info("Bough begins, process %d", os.getpid())

    def close(self) -> None:
        """Stop writing to the file."""
        if self._handler is not None:
            _log.info("Bough ends")
            self._end_uncaught()
            logging.getLogger().removeHandler(self._handler)
            self._handler.close()
        for logger, level in zip(self._loggers, self._levels, strict=True):
            logger.setLevel(level)


class _Rotating(RotatingFileHandler):
    """Several programs may write to the same file: each follows when another one has replaced it."""

    @override
    def _open(self) -> Any:
        # Only the user may read it.
        return open(self.baseFilename, self.mode, encoding=self.encoding, opener=open_own)

    @override
    def shouldRollover(self, record: logging.LogRecord) -> bool:
        stream: IO[str] | None = self.stream
        with contextlib.suppress(OSError):
            if stream is not None and not os.path.samestat(os.fstat(stream.fileno()), Path(self.baseFilename).stat()):
                stream.close()
                self.stream = self._open()
        return bool(super().shouldRollover(record))

    @override
    def handleError(self, record: logging.LogRecord) -> None:
        """Drop the line: if the disk is full, the store reports that."""
