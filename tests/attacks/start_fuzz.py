"""Random changes of Bough's own files. Each settings file is read, and Bough starts with any content of its files."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
import traceback
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec
from PySide6.QtWidgets import QApplication

from app.catalog.chat_templates import ChatTemplates
from app.catalog.download_jobs import Download, DownloadJobs, id_of
from app.catalog.entry import RemoteModel
from app.catalog.measured import Measurements
from app.model.attachment import Attachment
from app.model.generation_settings import AnswerFormat, GenerationSettings, Preset
from app.model.message import Sampling
from app.model.preparations import Prepared
from app.model.settings import CacheSettings, Settings, WindowPlace, load_settings, save_settings
from app.model.store import Store
from app.model.unsent import Unsent
from app.places import Places
from tests.app.model.stores import sql
from tests.app.trees import plant
from tests.attacks.conftest import Starter
from tests.attacks.figures import Figures
from tests.attacks.mutations import changed_bytes, changed_json
from tests.attacks.victim import LIMIT_S

_STARTS_PER_PROCESS = 100
_HANG_S = 2.0

GENERATION = GenerationSettings(
    sampling=Sampling(temperature=0.5, stop=("a", "b"), seed=7),
    format=AnswerFormat(kind="choice", text="yes\nno"),
    hooks=("no_repeats",),
    hook_options={"no_repeats": {"times": 3, "fewest": 20}},
    template_options={"a": [1, {"b": None}]},
    n=2,
    preset="mine",
)
SETTINGS = Settings(
    recent_models=("one", "two"),
    draft_models={"one": "two"},
    recent_drafts=("two",),
    generation=GENERATION,
    presets=(Preset(name="mine", generation=GENERATION), Preset(name="other", generation=GenerationSettings())),
    cache_settings=CacheSettings(limit_bytes=1 << 30, kv_bits=8),
    theme="dark",
    language="de",
    text_percent=120,
    last_conversation=1,
    windows=(
        WindowPlace(x=1, y=2, width=900, height=600, conversation=1),
        WindowPlace(x=0, y=0, width=700, height=500),
    ),
    keys={"new": "Ctrl+T"},
    tree_visible=True,
)
UNSENT = Unsent(text="half a question", attachments=(Attachment(name="a.txt", text="file"),), system_prompt="Be brief.")
_MODEL = RemoteModel(repo="owner/name")


def settings_json(**changes: Any) -> bytes:
    """Return a settings file with these values in place of the good ones."""
    return json.dumps({**json.loads(msgspec.json.encode(SETTINGS)), **changes}).encode()


def write_own_files(folder: Path, settings: bytes, prepared: tuple[str, str | None] | None = None) -> None:
    """Write settings, and a conversation with drafts: good ones, or `prepared` (their text, and their settings)."""
    with contextlib.closing(Store(folder / "conversations.sqlite3")) as store:
        if not store.has_conversations:
            plant(store, "u1-a1")
        store.preparations.put(None, Prepared(unsent=UNSENT, generation=GENERATION))
        store.preparations.put(1, Prepared(unsent=UNSENT, generation=GENERATION))
    (folder / "settings.json").write_bytes(settings)
    if prepared is not None:
        with sql(folder / "conversations.sqlite3") as database:
            database.execute("UPDATE preparation SET unsent = ?, asking = ?", prepared)


def fuzz_settings(num_files: int, seed: int, *, first: int = 0) -> Figures:
    """Read changed settings files. `first`: the number of the first, to repeat a part."""
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="bough-fuzz-") as place:
        for number in range(first, first + num_files):
            path = Path(place, str(number), "settings.json")
            path.parent.mkdir()
            data, words = _changed(random.Random(f"{seed} {number}"), settings_json())
            path.write_bytes(data)
            attack = f"seed {seed}, settings {number}: {words}"
            began_at = time.monotonic()
            try:
                end = _read_twice(path)
            except Exception as error:  # noqa: BLE001 (each is a fault)
                end = type(error).__name__
                figures.blame(f"{attack}: {''.join(traceback.format_exception(error)[-4:])}")
            figures.add(end, time.monotonic() - began_at, 0, attack)
    return figures


def _read_twice(path: Path) -> str:
    said: list[str] = []
    settings = load_settings(path, said.append)
    end = "set aside" if said else "read"
    save_settings(path, settings)
    said.clear()
    assert load_settings(path, said.append) == settings
    assert said == []
    return end


def _changed(draw: random.Random, data: bytes) -> tuple[bytes, str]:
    """Return the bytes of a JSON file with one to three changes, and these in words."""
    words: list[str] = []
    for _ in range(draw.choice((1, 1, 2, 3))):
        if draw.random() < 0.3:
            data, change = changed_bytes(draw, data)
            words.append(change)
            continue
        with contextlib.suppress(ValueError, RecursionError):
            value, change = changed_json(draw, json.loads(data))
            data = json.dumps(value).encode("utf-8", "surrogatepass")
            words.append(change)
    return data, ", ".join(words)


# --- starts --------------------------------------------------------------------------------------------------


def write_changed_files(folder: Path, draw: random.Random) -> str:
    """Write Bough's own files with changes. Return these in words."""
    drafts, names = _all_changed(draw, msgspec.json.encode(UNSENT), msgspec.json.encode(GENERATION))
    settings, change = _changed(draw, settings_json())
    texts = [draft.decode("utf-8", "replace") for draft in drafts]
    write_own_files(folder, settings, (texts[0], texts[1]))
    words = [f"settings {change}", *names]
    places = Places.under(folder)
    measurements = Measurements(folder / "measured.json")
    measurements.note_loaded("guide", 1 << 20)
    measurements.close()
    DownloadJobs(places).save([Download(id=id_of(_MODEL), model=_MODEL)])
    ChatTemplates(folder / "chat_templates").use_plain("guide")
    for file in sorted([*folder.rglob("measured.json"), *folder.rglob("job.json"), *folder.rglob("*.jinja")]):
        if draw.random() < 0.5:
            data, change = _changed(draw, file.read_bytes())
            file.write_bytes(data)
            words.append(f"{file.name} {change}")
    return ", ".join(words)


def _all_changed(draw: random.Random, *parts: bytes) -> tuple[list[bytes], list[str]]:
    both = [_changed(draw, part) for part in parts]
    return [data for data, _ in both], [f"draft {words}" for _, words in both]


def start_and_look(starter: Starter) -> None:
    """Start Bough, and open what shows its settings and drafts."""
    application = starter.start()
    window = application.window
    assert window.isVisible()
    application.program.supply.measurements.of("guide")
    assert application.program.supply.transfers.all is not None
    application.controller.shown.open_conversation(1)
    window.action("settings").trigger()
    window.action("sampling").trigger()
    QApplication.processEvents()
    starter.end()


def fuzz_starts(num_starts: int, seed: int, *, first: int = 0) -> Figures:
    """Start Bough with changed files, many times in each process; after a death or a hang, in another process.

    `first`: the number of the first start, to repeat a part.
    """
    figures = Figures()
    number, end = first, first + num_starts
    while number < end:
        number = _starts_of_process(figures, seed, number, min(end, number + _STARTS_PER_PROCESS))
    return figures


def _starts_of_process(figures: Figures, seed: int, first: int, end: int) -> int:
    """Begin a process. Return the number of the first start that it has not tried."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_start_again_and_again, args=(theirs, seed, first, end))
    process.start()
    theirs.close()
    number, attack = first, "no start"
    try:
        while ours.poll(LIMIT_S):
            match ours.recv():
                case ("begin", int(number), str(words)):
                    attack = f"seed {seed}, start {number}: {words}"
                case ("fault", str(text)):
                    figures.blame(f"{attack}: {text}")
                case ("end", float(seconds), float(megabytes)):
                    figures.add("slow" if seconds > _HANG_S else "started", seconds, megabytes, attack)
                case _:
                    break
        else:
            figures.blame(f"{attack}: no end after {LIMIT_S} s")
    except EOFError:
        process.join()
        if process.exitcode != 0 or number != end - 1:
            figures.blame(f"{attack}: the program died ({process.exitcode})")
    finally:
        process.kill()
        process.join()
    return number + 1


def _start_again_and_again(said: Connection, seed: int, first: int, end: int) -> None:
    from app.application import make_qt_application

    def blame(kind: type[BaseException], error: BaseException, at: TracebackType | None) -> None:
        said.send(("fault", "".join(traceback.format_exception(kind, error, at)[-4:])))

    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    sys.excepthook = blame  # PySide calls it for errors in slots.
    qt_application = make_qt_application([])
    for number in range(first, end):
        with tempfile.TemporaryDirectory(prefix="bough-fuzz-") as place:
            folder = Path(place)
            said.send(("begin", number, write_changed_files(folder, random.Random(f"{seed} {number}"))))
            starter = Starter(folder)
            began_at = time.thread_time()
            try:
                start_and_look(starter)
            except Exception as error:  # noqa: BLE001 (each is a fault)
                blame(type(error), error, error.__traceback__)
                starter.end()
            said.send(("end", time.thread_time() - began_at, _peak_megabytes()))
    del qt_application
    said.close()
    os._exit(0)


def _peak_megabytes() -> float:
    import psutil

    return psutil.Process().memory_info().rss / 1e6
