"""`bough doctor`: checks this installation and the user's files, and says how to mend what is wrong. Changes nothing.

Libraries and files that may crash, hang or take all memory are looked at in a process of their own. A check that fails
itself is reported, and the others go on.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import pwd
import shutil
import signal
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, structs

from app.catalog.machine_memory import machine_memory
from app.catalog.on_disk import find_models
from app.catalog.places_of_models import usual_roots
from app.display import has_display
from app.model.backups import Backups, refuse_unsound
from app.model.database import application_of
from app.model.loss import has_conversations, have_more
from app.model.migrations import APPLICATION_ID, MIGRATIONS, version_of
from app.model.own_files import beside
from app.model.settings import read_settings
from app.places import Places
from app.shell.terminal import print_json, print_line
from worker.probes import hook_facts, mlx_facts
from worker.sentence import size_text
from worker.surroundings import is_bundle, program_version
from worker.trial import CrashedError, Limits, RaisedError, TooSlowError, TrialError, TrialProcess

_LIMITS = Limits(seconds=120, memory_bytes=1 << 44, result_bytes=1 << 22)
"""The limits for a library. The memory is address space; GPUs take very much of it."""
_STORE_LIMITS = Limits(seconds=1800, memory_bytes=1 << 44, result_bytes=1 << 20)
_OLDEST_PYTHON, _NEWEST_PYTHON = (3, 11), (3, 14)
_LITTLE_MEMORY_BYTES = 4 << 30
_LITTLE_DISK_BYTES = 1 << 30
_OLD_BACKUP = timedelta(days=14)
_MAX_NAMED = 5
_NO_QT_LIBRARY = "cannot open shared object file"

State = Literal["ok", "warning", "fault"]


class Finding(Struct, frozen=True, kw_only=True):
    """The result of one check."""

    name: str
    state: State
    says: str
    mend: str = ""
    """How to mend it; empty if nothing is wrong."""


def doctor(chosen: argparse.Namespace, places: Places) -> int:
    """Run all checks and print what they found; return 1 if there is a fault, else 0."""
    findings: list[Finding] = []
    for check in _CHECKS:
        for finding in _checked(check, places):
            findings.append(finding)
            if not chosen.json:
                print_line(f"{finding.state:<8} {finding.name}: {finding.says}")
                if finding.mend:
                    print_line(f"         {finding.mend}")
                sys.stdout.flush()
    is_well = all(finding.state != "fault" for finding in findings)
    if chosen.json:
        print_json({"version": program_version(), "is_well": is_well, "findings": list(map(structs.asdict, findings))})
    return 0 if is_well else 1


_Check = Callable[[Places], Iterator[Finding]]


def _checked(check: _Check, places: Places) -> Iterator[Finding]:
    try:
        yield from check(places)
    except Exception as error:  # noqa: BLE001 (one check must not stop the others)
        name = check.__name__.strip("_").capitalize()
        said = f"this could not be checked ({type(error).__name__}: {error})."
        yield _fault(name, said, "Report this, with this line.")


def _ok(name: str, says: str) -> Finding:
    return Finding(name=name, state="ok", says=says)


def _warning(name: str, says: str, mend: str) -> Finding:
    return Finding(name=name, state="warning", says=says, mend=mend)


def _fault(name: str, says: str, mend: str) -> Finding:
    return Finding(name=name, state="fault", says=says, mend=mend)


# --- the program and its libraries -----------------------------------------------------------------------------


def _bough(_places: Places) -> Iterator[Finding]:
    version = program_version()
    says = f"version {version}, in {Path(__file__).parents[2]}."
    if version == "unknown":
        yield _warning("Bough", says, "Bough runs from its sources without being installed. Run `make setup` there.")
    else:
        yield _ok("Bough", says)


def _python(_places: Places) -> Iterator[Finding]:
    says = f"{platform.python_version()}, {platform.system()} {platform.release()}, {platform.machine()}."
    if _OLDEST_PYTHON <= sys.version_info[:2] <= _NEWEST_PYTHON:
        yield _ok("Python", says)
    else:
        yield _warning("Python", says, "Bough is tested with Python 3.11 to 3.14. Install Bough with one of these.")


def _qt(_places: Places) -> Iterator[Finding]:
    found = _asked(qt_facts)
    if not isinstance(found, dict):
        if _NO_QT_LIBRARY in found:
            mend = (
                "Install the system library that the line names. On Debian and Ubuntu, "
                "packaging/system_libraries.sh in Bough's source installs all that Qt needs."
            )
        else:
            mend = _again("PySide6-Essentials")
        yield _fault("Qt", f"the window can't open, because Qt {found}", mend)
        return
    says = f"{found['qt']}, PySide6 {found['pyside']}."
    if found["pyside"].startswith("6.12.0") and sys.version_info[:2] == (3, 11):
        mend = "PySide6 6.12.0 crashes with Python 3.11. Install another: pip install 'PySide6-Essentials<6.12'."
        yield _fault("Qt", says, mend)
    else:
        yield _ok("Qt", says)
    if has_display():
        yield _ok("Display", "there is one.")
    else:
        yield _warning(
            "Display",
            "there is none here, so the window can't open.",
            "Start Bough from a desktop. The commands without a window work as they are.",
        )


def qt_facts() -> dict[str, str]:
    """Start Qt without a display, and return its versions. `doctor` runs this in another process."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    import PySide6
    from PySide6.QtCore import qVersion
    from PySide6.QtGui import QGuiApplication
    from PySide6.QtWidgets import QWidget

    application = QGuiApplication(["doctor"])
    facts = {"qt": qVersion(), "pyside": PySide6.__version__, "widgets": QWidget.__name__}
    application.shutdown()
    return facts


def _mlx(_places: Places) -> Iterator[Finding]:
    found = _asked(mlx_facts)
    again = _again(f"mlx {_mlx_backend()} mlx-lm")
    if not isinstance(found, dict):
        needs = " MLX needs a Mac with Apple silicon." if sys.platform == "darwin" else ""
        yield _fault("MLX", f"models can't run, because MLX {found}", f"{again}{needs}")
        return
    versions = ", ".join(f"{name} {version or 'missing'}" for name, version in found["versions"].items())
    if not found["is_right"]:
        yield _fault("MLX", f"it multiplies matrices wrongly ({versions}).", again)
    elif not all(found["versions"].values()):
        yield _fault("MLX", f"{versions}.", again)
    else:
        yield _ok("MLX", f"{versions}.")
    if found["gpu"]:
        yield _ok("GPU", f"{found['gpu']}; models run on it.")
        return
    if sys.platform == "linux" and shutil.which("nvidia-smi"):
        yield _warning(
            "GPU",
            "there is an NVIDIA card, but models run on the CPU.",
            "Install the wheel for NVIDIA's cards in an environment of its own: its version ends in +cuda13.",
        )
    else:
        yield _ok("GPU", "none that MLX can use; models run on the CPU.")
    if found["blas"] or sys.platform != "linux":
        yield _ok("BLAS", f"{found['blas'] or 'that of the system'}.")
    else:
        yield _warning(
            "BLAS",
            "only the slow one that comes with MLX, so models are several times slower.",
            "Install OpenBLAS. On Debian and Ubuntu: apt-get install libopenblas0-pthread.",
        )


def _again(packages: str) -> str:
    """Return a sentence that explains how to reinstall libraries."""
    if is_bundle():
        return "A file of this installation is damaged. Install Bough again; your conversations stay."
    return f"Install it again: {sys.executable} -m pip install --force-reinstall {packages}."


def _mlx_backend() -> str:
    """Return the package of MLX's backend that is installed, or that belongs to this system."""
    usual = "mlx-metal" if sys.platform == "darwin" else "mlx-cpu"
    installed = {name for found in metadata.distributions() if (name := found.metadata["Name"])}
    return next((name for name in ("mlx-cuda-13", "mlx-cuda-12") if name in installed), usual)


def _asked(function: Callable[..., Any], *arguments: object, limits: Limits = _LIMITS) -> Any:
    """Call a function in a process of its own. Return its value, or how it failed: the end of a sentence, as text."""
    trial = TrialProcess()
    try:
        return trial.run(limits, function, *arguments)
    except CrashedError as error:
        return f"crashes ({_signal(error.exit_code)})."
    except TooSlowError:
        return f"does not answer within {limits.seconds:.0f} seconds."
    except RaisedError as error:
        return f"fails ({error.names[0]}: {' '.join(str(error).split())[:500]})."
    except TrialError as error:
        return f"can't be tried ({error or type(error).__name__})."
    finally:
        trial.close()


def _signal(exit_code: int) -> str:
    with contextlib.suppress(ValueError):
        return signal.Signals(-exit_code).name
    return f"exit code {exit_code}"


# --- the machine -----------------------------------------------------------------------------------------------


def _memory(places: Places) -> Iterator[Finding]:
    memory = machine_memory()
    says = f"{size_text(memory.available_bytes)} of {size_text(memory.total_bytes)} are free for models."
    if memory.available_bytes < _LITTLE_MEMORY_BYTES:
        yield _warning("Memory", says, "Close other programs, or use small models only.")
    else:
        yield _ok("Memory", says)
    folder = _existing(places.data)
    free = shutil.disk_usage(folder).free
    says = f"{size_text(free)} are free at {places.data}."
    if free < _LITTLE_DISK_BYTES:
        yield _warning("Disk", says, "Free some disk space: without it, conversations and models can't be saved.")
    else:
        yield _ok("Disk", says)


def _folders(places: Places) -> Iterator[Finding]:
    for what, folder in _named_folders(places):
        name = f"Folder for {what}"
        try:
            owner = folder.stat().st_uid if folder.exists() else None
        except OSError as error:
            yield _fault(name, f"{folder} can't be read ({error.strerror}).", _mend_folder(folder))
            continue
        if owner is None:
            parent = _existing(folder)
            if os.access(parent, os.W_OK | os.X_OK):
                yield _ok(name, f"{folder} is not there yet; Bough makes it when it needs it.")
            else:
                yield _fault(name, f"{folder} is not there, and {parent} can't be written.", _mend_folder(parent))
        elif not folder.is_dir():
            yield _fault(name, f"{folder} is not a folder.", "Move it away, or name another folder with --data-dir.")
        elif not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
            yield _fault(name, f"{folder} can't be read and written; it is {_user(owner)}'s.", _mend_folder(folder))
        elif owner != os.getuid():
            yield _warning(
                name, f"{folder} can be written, but is {_user(owner)}'s.", "Check that this is the folder you mean."
            )
        else:
            yield _ok(name, f"{folder} can be written and is yours.")


def _named_folders(places: Places) -> Iterator[tuple[str, Path]]:
    """Yield Bough's folders, each once, and what is in them."""
    named = {
        places.models: "models",
        places.logs: "logs",
        places.cache: "files that can be made again",
        places.config: "settings",
        places.data: "conversations",
    }
    yield from ((what, folder) for folder, what in reversed(named.items()))


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest one above it that is there."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir())


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"


def _mend_folder(folder: Path) -> str:
    return f"Make {folder} yours and writable (chown, chmod u+rwx), or name another folder with --data-dir."


# --- the user's files ------------------------------------------------------------------------------------------


def _store(places: Places) -> Iterator[Finding]:
    store = places.store
    backups = Backups(store)
    if not os.path.lexists(store) or not store.exists() or (store.is_file() and not store.stat().st_size):
        if have_more(backups):
            yield _fault("Conversations", f"they are gone from {store}, but there are backups.", _RESTORE)
        else:
            yield _ok("Conversations", "there are none yet.")
        return
    if not store.is_file():
        yield _fault("Conversations", f"{store} is not a file.", "Move it away, or name another folder.")
        return
    found = _asked(store_facts, str(store), limits=_STORE_LIMITS)
    kept = backups.files()
    mend = _RESTORE if kept else "There is no backup. Move the file away to start with an empty one."
    if not isinstance(found, dict):
        yield _fault("Conversations", f"reading {store} {found}", mend)
    elif found["problem"]:
        yield _fault("Conversations", f"{store} is damaged ({found['problem']}).", mend)
    elif found["application"] != APPLICATION_ID:
        yield _fault("Conversations", f"{store} belongs to another program.", "Name another folder with --data-dir.")
    elif found["version"] > len(MIGRATIONS):
        yield _fault("Conversations", f"{store} comes from a newer version of Bough.", "Install that version.")
    elif not found["has_conversations"] and have_more(backups):
        yield _fault("Conversations", f"{store} has none, but there are backups with some.", _RESTORE)
    else:
        number, size = found["num_conversations"], size_text(store.stat().st_size)
        yield _ok("Conversations", f"{number:,} in {store} ({size}), and the file is sound.")
    newest = backups.newest_time()
    if newest is None and isinstance(found, dict) and found.get("num_conversations"):
        yield _warning("Backups", "there is none yet.", "Bough makes one a day while its window is open.")
    elif newest is None:
        yield _ok("Backups", "there is none.")
    elif (age := datetime.now(UTC) - newest) > _OLD_BACKUP:
        yield _warning(
            "Backups",
            f"{len(kept)}, but the newest is {age.days} days old.",
            "Open Bough's window for a minute: it makes a backup a day. If it does not, it says why.",
        )
    else:
        yield _ok("Backups", f"{len(kept)}; the newest is of {newest.astimezone():%Y-%m-%d %H:%M}.")


_RESTORE = "Start Bough and restore a backup: File, Backups. The damaged file is kept."


def store_facts(path: str) -> dict[str, Any]:
    """Check a store without changing it or a file beside it. `doctor` runs this in another process.

    `problem`: why the file is not sound; empty if it is. The other facts are there only if it is.
    """
    store = Path(path)
    with contextlib.ExitStack() as last:
        uri = _uri_to_check(store, last)
        try:
            opened = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10)
            connection = last.enter_context(contextlib.closing(opened))
            refuse_unsound(connection)
            number = 0
            if has := has_conversations(connection):
                ((number,),) = connection.execute("SELECT count(*) FROM conversation WHERE trashed_ms IS NULL")
            facts = {"application": application_of(connection), "version": version_of(connection)}
        except (sqlite3.Error, UnicodeDecodeError) as error:
            return {"problem": str(error)}
    return {"problem": "", "num_conversations": number, "has_conversations": has, **facts}


def _uri_to_check(store: Path, last: contextlib.ExitStack) -> str:
    """Return SQLite's URI of the store, or of a copy where SQLite would make a file beside the store."""
    log, index = beside(store, "-wal"), beside(store, "-shm")
    if not log.exists() or not log.stat().st_size:
        return f"{store.absolute().as_uri()}?immutable=1"
    if not index.exists():
        folder = Path(last.enter_context(tempfile.TemporaryDirectory()))
        for file in (beside(store, ""), log):
            shutil.copyfile(file, folder / file.name)
        store = folder / beside(store, "").name
    return f"{store.absolute().as_uri()}?mode=ro"


def _settings(places: Places) -> Iterator[Finding]:
    path = places.config / "settings.json"
    settings, left_out, why = read_settings(path)
    keep = "Start Bough: it uses the others, and keeps the file under another name."
    if why:
        yield _fault("Settings", f"{path} can't be read ({why}).", "Start Bough: it keeps the file under another name.")
    elif left_out:
        names = ", ".join(name or "the whole file" for name in left_out[:_MAX_NAMED])
        yield _fault("Settings", f"some in {path} are invalid: {names}.", keep)
    else:
        yield _ok("Settings", f"{path} can be read." if path.exists() else "there is no file yet; all have defaults.")
    gone = [name for name in settings.model_folders if not Path(name).is_dir()]
    if gone:
        yield _warning(
            "Folders of models",
            f"not there: {', '.join(gone[:_MAX_NAMED])}.",
            "Connect their disk, or remove them: Settings, Models.",
        )


def _models(places: Places) -> Iterator[Finding]:
    settings, _, _ = read_settings(places.config / "settings.json")
    found = list(find_models(usual_roots(places.models, [Path(name) for name in settings.model_folders])))
    good = [model for model in found if model.problem is None]
    if good:
        named = ", ".join(model.title for model in good[:_MAX_NAMED]) + (", …" if len(good) > _MAX_NAMED else "")
        yield _ok("Models", f"{len(good)} that can be used: {named}.")
    else:
        yield _warning(
            "Models", "none; only the guide can answer.", "Download one: Models, Models… in the window (Ctrl+M)."
        )
    bad = [model for model in found if model.problem is not None]
    if bad:
        named = " ".join(f"{model.title}: {model.problem}" for model in bad[:_MAX_NAMED])
        yield _warning(
            "Models with problems", f"{len(bad)}. {named}", "`bough models check NAME` says more; they harm nothing."
        )


def _keyring(_places: Places) -> Iterator[Finding]:
    found = _asked(keyring_facts)
    mend = (
        "Keys of servers are then kept until Bough ends. To keep them, start a keyring (GNOME Keyring, KWallet), or "
        "name an environment variable that holds the key."
    )
    if not isinstance(found, list):
        yield _warning("Keyring", f"the system's keyring {found}", mend)
    elif not found[0]:
        yield _warning("Keyring", "there is none that can be used.", mend)
    else:
        yield _ok("Keyring", f"{found[1]}.")


def keyring_facts() -> list[Any]:
    """Return whether there is a keyring, and its name. Reads no key, so nothing asks for a password."""
    import keyring
    from keyring.backends.fail import Keyring as NoKeyring

    found = keyring.get_keyring()
    return [not isinstance(found, NoKeyring), found.name]


def _hooks(places: Places) -> Iterator[Finding]:
    folder = places.config / "hooks"
    found = _asked(hook_facts, str(folder))
    if not isinstance(found, list):
        yield _fault("Hooks", f"reading {folder} {found}", "Move the newest file out of this folder, and try again.")
        return
    bad = [problem for _, problem in found if problem]
    if bad:
        yield _warning(
            "Hooks",
            f"{len(bad)} of {len(found)} can't be used. {' '.join(bad[:_MAX_NAMED])}",
            f"Correct or remove these files in {folder}.",
        )
    else:
        yield _ok("Hooks", f"{len(found)} of your own in {folder}." if found else "none of your own.")


_CHECKS: tuple[_Check, ...] = (
    *(_bough, _python, _qt, _mlx, _memory, _folders),
    *(_store, _settings, _models, _keyring, _hooks),
)
