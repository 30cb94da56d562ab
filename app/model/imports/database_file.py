"""Reads SQLite databases of other programs, which may be damaged, in use, or made to do harm.

A database is copied, with its log, and only the copy is opened, so that nothing beside the file is written. Only plain
tables are read, each after a check that takes linear time. No view, trigger, virtual or computed column is used.
"""

from __future__ import annotations

import contextlib
import io
import sqlite3
import tempfile
from array import array
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path
from typing import IO, NamedTuple, Protocol, TypeAlias

import ijson
import msgspec

from app.model.imports.bundle import Bundle
from app.model.imports.foreign import ForeignConversation, UnreadableError
from app.model.imports.json_stream import MAX_ITEM_BYTES, CountedFile, Json, json_values_in
from worker.sentence import Sentence

MAGIC = b"SQLite format 3\0"
"""All SQLite databases begin with this."""
Row: TypeAlias = dict[str, Json]
"""The values of a row by their columns, without NULLs."""

_CHUNK_BYTES = 1 << 20
_MAX_BYTES = 64 << 30
_MAX_ATTACHED_BYTES = 32 << 20
_MAX_KEY_CHARS = 200
_BEGUN_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"


class Logs(NamedTuple):
    """The files beside a database with its last changes. Their names are the database's with an ending."""

    open: Callable[[str], IO[bytes] | None]
    """Opens the file with an ending; returns None if there is no such file."""
    state: Callable[[], object]
    """Returns a value that changes when the database or a file beside it changes."""


class Chats(Protocol):
    """The conversations of a program's database."""

    def keys(self) -> Sequence[Json]:
        """Return the keys to pass to `conversation`, oldest conversation first."""
        ...

    def conversation(self, key: Json) -> ForeignConversation:
        """Read one conversation. Raises `UnreadableError`."""
        ...


class DatabaseFile:
    """A copy of a database. Methods raise `UnreadableError`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._columns: dict[str, tuple[str, ...]] = {}
        self.num_replaced = 0
        """The number of characters that were replaced because they can't be read."""
        self._num_bytes = 0
        connection.text_factory = self._text

    @property
    def tables(self) -> list[str]:
        """The names of all tables."""
        with _errors_explained():
            rows = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            return [str(name) for (name,) in rows]

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the stored columns of a table, after a check of the table; empty if there is no such table."""
        if table not in self._columns:
            with _errors_explained():
                self._columns[table] = self._checked(table)
        return self._columns[table]

    def by(self, table: str, column: str) -> dict[str, array[int]]:
        """Map each text of a column to the numbers of its rows, in the order of the rows."""
        found: dict[str, array[int]] = defaultdict(lambda: array("q"))
        if column in self.columns(table):
            with _errors_explained():
                query = f'SELECT rowid, substr(CAST("{column}" AS TEXT), 1, {_MAX_KEY_CHARS}) FROM "{table}"'
                for number, key in self._connection.execute(f"{query} ORDER BY rowid"):
                    if key is not None:
                        found[key].append(number)
        return found

    def row(self, table: str, number: int) -> Row:
        """Return one row. Values that are too long for a message's file are left out, as NULLs are."""
        names = ", ".join(
            f'iif(typeof("{name}") = \'blob\' AND length("{name}") > {_MAX_ATTACHED_BYTES}, NULL, "{name}")'
            for name in self.columns(table)
        )
        with _errors_explained():
            values = self._connection.execute(f'SELECT {names} FROM "{table}" WHERE rowid = ?', (number,)).fetchone()
        pairs: Iterable[tuple[str, Json]] = zip(self.columns(table), values or (), strict=False)
        found = {name: value for name, value in pairs if value is not None}
        self._num_bytes += sum(map(_size, found.values()))
        if self._num_bytes > MAX_ITEM_BYTES:
            raise _too_long()
        return found

    def rows(self, table: str, numbers: Sequence[int] | None) -> list[Row]:
        """Return several rows. `numbers`: None means no rows."""
        return [self.row(table, number) for number in numbers or ()]

    def begin_conversation(self) -> None:
        """Note that the values of another conversation are read next."""
        self._num_bytes = self.num_replaced = 0

    def json(self, value: Json) -> Json:
        """Return the value that a column holds as JSON; None if there is none."""
        if not isinstance(value, str) or not value:
            return None
        try:
            return msgspec.json.decode(value)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            file = CountedFile(io.BytesIO(value.encode("utf-8", "replace")), lambda _: None)
            try:
                found = next(iter(json_values_in(file, 0)), None)
            except ijson.JSONError as error:
                why = " ".join(str(error).split())[:120]
                raise UnreadableError(Sentence("it is not valid JSON ({error})", error=why)) from error
            self.num_replaced += file.num_replaced
            return found

    def _text(self, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError:
            text = data.decode(errors="replace")
            self.num_replaced += max(0, text.count("\ufffd") - data.count(b"\xef\xbf\xbd"))
            return text

    def _checked(self, table: str) -> tuple[str, ...]:
        kind = (
            "SELECT type, sql, rootpage FROM sqlite_master WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')"
        )
        found = self._connection.execute(kind, (table,)).fetchall()
        if not found:
            return ()
        (kind, sql, root) = found[0]
        if len(found) > 1 or kind != "table" or not root or not str(sql).lstrip().upper().startswith("CREATE TABLE"):
            raise _not_plain(table)
        columns = self._connection.execute("SELECT name, hidden FROM pragma_table_xinfo(?)", (table,)).fetchall()
        names = tuple(str(name) for name, _ in columns)
        if any(is_computed for _, is_computed in columns) or any(
            name.lower() == "rowid" or '"' in name for name in names
        ):
            raise _not_plain(table)
        # Pages that occur twice could make a small file endless.
        problem = self._connection.execute(f'PRAGMA quick_check("{table}")').fetchone()
        if problem is not None and problem[0] != "ok":
            raise _damaged(problem[0])
        return names


@contextlib.contextmanager
def opened_database(file: CountedFile, logs: Logs) -> Generator[DatabaseFile]:
    """Open a copy of a database while the block runs. Raises `UnreadableError` and `OSError`."""
    with tempfile.TemporaryDirectory(prefix="bough-import-") as folder:
        path = Path(folder) / "copy.db"
        before = logs.state()
        _refuse_an_open_change(logs.open("-journal"))
        _copy(file, path, file.end_item)
        if (log := logs.open("-wal")) is not None:
            with log:
                _copy(log, path.with_name("copy.db-wal"), lambda: None)
        if logs.state() != before:
            raise UnreadableError(Sentence("its program is changing it; close that program, then import it"))
        with _errors_explained():
            connection = sqlite3.connect(path, isolation_level=None)
        with contextlib.closing(connection):
            with _errors_explained():
                _make_safe(connection)
            yield DatabaseFile(connection)


def _size(value: Json) -> int:
    return len(value) if isinstance(value, str | bytes) else 0


def logs_of(path: Path) -> Logs:
    """Return the files beside a database on the disk."""

    def beside(ending: str) -> Path:
        return path.with_name(path.name + ending)

    def opened(ending: str) -> IO[bytes] | None:
        return beside(ending).open("rb") if beside(ending).is_file() else None

    def state() -> object:
        found = [beside(ending).stat() for ending in ("", "-wal", "-journal") if beside(ending).is_file()]
        return [(one.st_ino, one.st_size, one.st_mtime_ns) for one in found]

    return Logs(opened, state)


def logs_in(archive: Bundle, path: str) -> Logs:
    """Return the files beside a database in an archive."""

    def opened(ending: str) -> IO[bytes] | None:
        return archive.open(path + ending) if path + ending in archive.paths else None

    return Logs(opened, lambda: None)


def _refuse_an_open_change(journal: IO[bytes] | None) -> None:
    # SQLite would undo the change, and also obey the names of other files in the journal.
    if journal is not None:
        with journal:
            if journal.read(len(_BEGUN_JOURNAL)) == _BEGUN_JOURNAL:
                raise UnreadableError(
                    Sentence("its program did not finish a change; open the file once in that program, then import it")
                )


def _copy(source: IO[bytes] | CountedFile, path: Path, end: Callable[[], None]) -> None:
    num_bytes = 0
    with path.open("xb") as target:
        while data := source.read(_CHUNK_BYTES):
            target.write(data)
            num_bytes += len(data)
            end()
            if num_bytes > _MAX_BYTES:
                raise UnreadableError(Sentence("it has more than {max_bytes}", max_bytes=_MAX_BYTES))


def _make_safe(connection: sqlite3.Connection) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ITEM_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, 500)
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 0)
    for setting in ("trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "ignore_check_constraints = ON"):
        connection.execute(f"PRAGMA {setting}")
    # This also copies the log's pages, if the log belongs to the file.
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    connection.execute("PRAGMA query_only = ON")


@contextlib.contextmanager
def _errors_explained() -> Generator[None]:
    try:
        yield
    except (sqlite3.DataError, MemoryError, OverflowError) as error:
        # A value is longer than the limit.
        raise _too_long() from error
    except (sqlite3.Error, UnicodeError) as error:
        raise _damaged(error) from error


def _damaged(why: object) -> UnreadableError:
    return UnreadableError(Sentence("the database is damaged ({error})", error=" ".join(str(why).split())[:120]))


def _not_plain(table: str) -> UnreadableError:
    return UnreadableError(Sentence("its “{name}” is not a plain table, so Bough does not read it", name=table))


def _too_long() -> UnreadableError:
    return UnreadableError(Sentence("a conversation in it has more than {max_bytes}", max_bytes=MAX_ITEM_BYTES))
