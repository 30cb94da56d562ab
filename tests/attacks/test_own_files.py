"""Bough's smaller files, and files of others that it reads by their names, with anything in their place.

None keeps Bough from starting or makes it wait. A file of Bough's own is kept beside, and a sentence says so.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.catalog.chat_templates import ChatTemplates
from app.catalog.download_jobs import Download, DownloadJobs, id_of
from app.catalog.entry import RemoteModel
from app.catalog.facts import template_text
from app.catalog.measured import Measured, Measurements
from app.catalog.on_disk import find_models
from app.catalog.places_of_models import Root, usual_roots
from app.catalog.sampling_defaults import SamplingDefaults, sampling_defaults
from app.files.reading import NotAttachedError, read_text_file
from app.model.message import Sampling
from app.model.settings import LocalApiSettings, Settings, save_settings
from app.places import Places
from app.serving.turns import Turns
from tests.attacks.conftest import Starter
from tests.driver import ROOT
from tests.long import every_third
from worker.gguf.conversion import RECORD, kept_bytes, record_of
from worker.sentence import Sentence

_MODEL = RemoteModel(repo="owner/name")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _large(path: Path) -> None:
    path.touch()
    os.truncate(path, 3 << 30)


def _is(data: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(data)

    return write


_KINDS: dict[str, Callable[[Path], None]] = {
    "a pipe": _pipe,
    "a folder": lambda path: path.mkdir(),
    "a loop": lambda path: path.symlink_to(path),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "3 GB": _large,
    "bytes": _is(bytes(range(128, 256))),
    "nothing": _is(b""),
    "deep": _is(b"[" * 100_000),
    "a cut file": _is(b'{"order": 1, "model": {"repo": "ow'),
    "another type": _is(b'{"order": 1, "a": 7}'),
}
_NO_FILES = [kind for kind in _KINDS if kind[:2] == "a " or kind == "3 GB"][:5]


def _use_measured(places: Places, report: Callable[[Sentence], None]) -> None:
    assert Measurements(places.data / "measured.json", report).of("model") == Measured()


def _use_jobs(places: Places, report: Callable[[Sentence], None]) -> None:
    assert DownloadJobs(places, report).load() == []


def _use_template(places: Places, report: Callable[[Sentence], None]) -> None:
    ChatTemplates(places.data / "chat_templates", report).of("model")


def _write_all(places: Places) -> dict[str, Path]:
    """Write valid files; return them by their names."""
    measurements = Measurements(places.data / "measured.json")
    measurements.note_loaded("model", 1)
    measurements.close()
    DownloadJobs(places).save([Download(id=id_of(_MODEL), model=_MODEL)])
    ChatTemplates(places.data / "chat_templates").use_plain("model")
    (job,) = places.data.rglob("job.json")
    (template,) = places.data.rglob("*.jinja")
    return {"measured": places.data / "measured.json", "job": job, "template": template}


_USES = {"measured": _use_measured, "job": _use_jobs, "template": _use_template}


@pytest.mark.parametrize("kind", _KINDS)
@pytest.mark.parametrize("name", _USES)
def test_an_unreadable_file_of_bough_is_reported_and_kept(tmp_path: Path, name: str, kind: str) -> None:
    places = Places.under(tmp_path)
    path = _write_all(places)[name]
    path.unlink()
    _KINDS[kind](path)
    said: list[Sentence] = []
    _USES[name](places, said.append)
    if name == "template" and kind not in {*_NO_FILES, "bytes"}:
        assert said == []  # any text may be a template; the worker tries it
        return
    (sentence,) = said
    kept = Path(str(sentence.fields["file"]))
    assert os.path.lexists(kept)
    # A template is the user's own text, so it stays; the other files are renamed and not read again.
    assert (kept == path) == (name == "template")
    if name != "template":
        _USES[name](places, said.append)
        assert said == [sentence]


@pytest.mark.parametrize("kind", _KINDS)
def test_an_unreadable_file_of_turns_is_reported_and_kept(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "turns.sqlite3"
    _KINDS[kind](path)
    turns = Turns(path)
    turns.close()
    if kind == "nothing":
        assert turns.problem is None  # as SQLite makes it
        return
    assert turns.problem is not None
    assert os.path.lexists(turns.problem.file)
    assert turns.problem.is_aside == (turns.problem.file != str(path))


def _readable_by_others(folder: Path) -> dict[str, str]:
    """Return the modes of files that others may use. A folder that they can't enter protects what is in it."""
    found: dict[str, str] = {}
    for path in folder.iterdir():
        mode = path.stat().st_mode
        if mode & 0o077:
            found[str(path.relative_to(folder))] = oct(mode)
            if path.is_dir():
                found |= {f"{path.name}/{name}": its for name, its in _readable_by_others(path).items()}
    return found


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_only_the_owner_can_read_what_the_program_writes(bough: Starter, tmp_path: Path, umask: int) -> None:
    tmp_path.chmod(0o777)
    before = os.umask(umask)
    try:
        for theme in ("dark", "light"):
            program = bough.start().program
            program.supply.measurements.note_loaded("model", 1)
            bough.present.preferences.change(theme=theme)
            bough.present.window.composer.text.setPlainText(f"not sent {theme}")
            conversation, _ = program.store.create_conversation("Secret", "", "Go")
            program.conversations.rename(conversation.id, theme)
            assert (tmp_path / "conversations.sqlite3-wal").exists()
            assert _readable_by_others(tmp_path) == {}
            bough.end()
            assert (tmp_path / "settings.json").exists()
            assert _readable_by_others(tmp_path) == {}
            # Files of an earlier version, or of a backup that was unpacked.
            for path in (tmp_path / "conversations.sqlite3", tmp_path / "settings.json"):
                path.chmod(0o644)
    finally:
        os.umask(before)


def test_the_window_reports_all_unreadable_files_and_safe_mode_uses_none(
    bough: Starter, qtbot: QtBot, tmp_path: Path
) -> None:
    places = Places.under(tmp_path)
    save_settings(tmp_path / "settings.json", Settings(local_api=LocalApiSettings(is_on=True, port=_free_port())))
    files = {**_write_all(places), "turns": tmp_path / "served" / "turns.sqlite3"}
    for path in files.values():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"\xff" * 5000)
    program = bough.start(is_safe=True).program
    program.supply.measurements.note_loaded("model", 1)
    assert program.session.template_of("model") is None
    assert program.supply.transfers.all == []
    program.start_local_api()
    bough.end()
    assert all(path.read_bytes() == b"\xff" * 5000 for path in files.values())

    program = bough.start().program
    program.supply.measurements.of("model")
    program.session.template_of("model")
    assert program.supply.transfers.all == []
    program.start_local_api()
    qtbot.waitUntil(lambda: "answers to other programs" in _said(bough), timeout=120_000)
    said = _said(bough)
    assert str(files["template"]) in said
    assert all(str(files[name].with_suffix(".damaged")) in said for name in ("measured", "job", "turns"))
    assert "set aside" not in said
    bough.end()

    program = bough.start().program
    program.supply.measurements.of("model")
    assert program.supply.transfers.all == []
    assert _said(bough) == ""


def _said(bough: Starter) -> str:
    return "\n".join(notice.text for notice in bough.present.program.notices.lasting)


def _free_port() -> int:
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


# --- files of others -------------------------------------------------------------------------------------------

_IN_A_FOLDER = (
    "generation_config.json", "tokenizer_config.json", "chat_template.jinja", "chat_template.json", "README.md",
    "tokenizer.json", "model.safetensors.index.json", "config.json", RECORD,
)  # fmt: skip


@pytest.mark.parametrize("kind", every_third(_KINDS))
@pytest.mark.parametrize("name", _IN_A_FOLDER)
def test_the_search_for_models_passes_any_file(random_llama: Path, tmp_path: Path, name: str, kind: str) -> None:
    folder = tmp_path / "models" / "one"
    folder.mkdir(parents=True)
    for file in random_llama.iterdir():
        os.link(file, folder / file.name)
    (folder / name).unlink(missing_ok=True)
    _KINDS[kind](folder / name)
    found = list(find_models([Root(tmp_path / "models", "added")]))
    assert len(found) <= 1
    template_text(folder)
    record_of(folder)
    defaults = sampling_defaults(str(folder))
    assert defaults.applied_to(Sampling()) == Sampling()
    assert defaults.unused == ((name,) if name == "generation_config.json" and kind != "another type" else ())


@pytest.mark.parametrize("kind", _NO_FILES)
def test_the_program_waits_for_no_other_file(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place = _KINDS[kind]
    place(tmp_path / "dragged.txt")
    with pytest.raises(NotAttachedError, match=r"dragged\.txt"):
        read_text_file(tmp_path / "dragged.txt")
    (tmp_path / "made.partial").mkdir()
    place(tmp_path / "made.partial" / "conversion.json")
    assert kept_bytes(tmp_path / "made") == 0
    hub = tmp_path / "hub" / "models--owner--name"
    (hub / "refs").mkdir(parents=True)
    place(hub / "refs" / "main")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    assert sampling_defaults("owner/name") == SamplingDefaults()
    manifests = tmp_path / "ollama" / "manifests" / "registry.ollama.ai" / "library" / "name"
    manifests.mkdir(parents=True)
    place(manifests / "latest")
    roots = [Root(tmp_path / "hub", "hub", "hub"), Root(tmp_path / "ollama", "ollama", "ollama")]
    assert list(find_models(roots)) == []
    place(tmp_path / ".lmstudio-home-pointer")
    (tmp_path / ".lmstudio").mkdir()
    place(tmp_path / ".lmstudio" / "settings.json")
    assert usual_roots(tmp_path, environment={}, home=tmp_path)


_READS_AS_IT_IS = {
    "app/care/crash_reports.py": "regular files that were listed",
    "app/care/moving.py": "files that this program has just written",
    "app/care/releases.py": "Bough's resources",
    "app/ui/dialogs/questions.py": "the licences of a bundle",
    "app/updating.py": "behind a check",
    "app/catalog/checking.py": "regular files that were listed; their names and sizes are known",
    "app/catalog/facts.py": "mlx-lm's own module, and the beginning of a listed README",
    "app/catalog/good_models.py": "Bough's resources",
    "app/files/documents.py": "in a process of its own, behind a check",
    "app/model/imports/database_file.py": "a log beside a database, behind a check",
    "app/model/exports/docx_file.py": "Bough's resources",
    "app/model/exports/highlighting.py": "Bough's resources",
    "app/model/exports/html.py": "Bough's resources",
    "app/tour/steps.py": "what the tour has written",
    "app/ui/dialogs/docs_window.py": "Bough's resources",
    "app/ui/theme.py": "Bough's resources",
    "worker/blas.py": "/proc",
    "worker/huge_pages.py": "/sys",
    "worker/memory.py": "/proc and /sys",
    "worker/trial.py": "/proc",
    "worker/cache/stored_file.py": "files that were listed with their sizes",
    "worker/gguf/positions.py": "a file that `opened` has checked",
    "worker/gguf/weight_files.py": "what the conversion has written",
    "worker/models/draft_check.py": "behind `check_folder`",
    "worker/models/folder.py": "behind its own check",
    "worker/models/tokenizer_file.py": "behind `check_folder`",
    "worker/models/weight_file.py": "behind `check_folder`",
    "worker/transformers_import.py": "beside the program",
}
"""Modules that read a file without looking at its kind, and why they may."""


def test_all_other_modules_check_a_file_before_they_read_it() -> None:
    reading = re.compile(r"\.read_bytes\(|\.read_text\(|\.open\(\"rb\"")
    modules = [path for package in ("app", "worker") for path in (ROOT / package).rglob("*.py")]
    found = {str(path.relative_to(ROOT)) for path in modules if reading.search(path.read_text(encoding="utf-8"))}
    assert found == set(_READS_AS_IT_IS), "Read files with `worker.regular_file`, or say here why not"


def test_two_programs_write_the_same_small_files(tmp_path: Path) -> None:
    """Neither leaves a half-written file for the other, nor takes the other's unfinished one."""
    places = Places.under(tmp_path)
    both = [(Measurements(tmp_path / "measured.json"), DownloadJobs(places)) for _ in range(2)]
    for number in range(5):
        for measurements, jobs in both:
            measurements.note_loaded(f"model {number}", number + 1)
            jobs.save([Download(id=id_of(_MODEL), model=_MODEL, failure_kind=str(number))])
    for measurements, _ in both:
        measurements.close()
    assert json.loads((tmp_path / "measured.json").read_bytes())["model 4"]["weights_bytes"] == 5
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".bough-")] == []
    assert len(DownloadJobs(places).load()) == 1
    shutil.rmtree(tmp_path / "fetching")
