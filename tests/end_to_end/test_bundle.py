"""Tests for what makes a bundle: its contents, start and version, and what a desktop shows of it. They take 8 s."""

from __future__ import annotations

import argparse
import configparser
import fnmatch
import itertools
import json
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import contents
import linux_packages
import pytest
import version as versions

from app import __main__ as bough
from app.catalog.starter import BROUGHT, bring_starter, find_starter, starter_path
from app.command_line import parse, parser
from tests.driver import ROOT
from worker.__main__ import parser as worker_parser
from worker.surroundings import restore_library_path

_STATIC = ROOT / "packaging" / "bundle" / "linux"


# --- contents -------------------------------------------------------------------------------------------------------


def _package(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.mark.skipif(sys.platform != "linux", reason="names of Linux's plugins")
def test_each_pattern_of_an_unused_plugin_names_a_plugin_of_qt_and_what_bough_needs_is_kept() -> None:
    folder = _package("PySide6") / "Qt" / "plugins"
    plugins = {f"{file.parent.name}/{file.name}" for file in folder.glob("*/*.so")}
    unmatched = [pattern for pattern in contents.UNUSED_PLUGINS if not fnmatch.filter(plugins, pattern)]
    assert unmatched == []
    kept = {plugin for plugin in plugins if contents.keeps_plugin(*plugin.split("/"))}
    needed = {
        *("platforms/libqxcb.so", "platforms/libqwayland.so", "platforms/libqoffscreen.so"),
        *("imageformats/libqsvg.so", "imageformats/libqjpeg.so", "iconengines/libqsvgicon.so"),
        *("platformthemes/libqxdgdesktopportal.so", "printsupport/libcupsprintersupport.so"),
        *("platforminputcontexts/libcomposeplatforminputcontextplugin.so", "wayland-shell-integration/libxdg-shell.so"),
    }
    assert needed <= kept
    # They would bring GTK and Qt Quick.
    assert not [plugin for plugin in kept if "gtk" in plugin or "virtualkeyboard" in plugin]


_LOADED = """
import json, sys
from worker.transformers_import import import_transformers
import_transformers()
import mlx_lm
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerFast
from transformers.models.llama import LlamaConfig
from transformers.models.gemma import GemmaTokenizerFast
if {all}:
    import importlib
    for file in sorted({folder!r}.glob("*/*.py")):
        # Its own code has a fault without a library that Bough does not install.
        if file.stem.startswith(("tokenization_", "configuration_")) and file.parent.name != "pop2piano":
            importlib.import_module(f"transformers.models.{{file.parent.name}}.{{file.stem}}")
print(json.dumps([name for name in sys.modules if name.startswith("transformers.")]))
"""


@pytest.mark.parametrize("loads_all", [False, pytest.param(True, marks=pytest.mark.long)])
def test_modules_of_transformers_that_tokenizers_import_are_in_the_bundle(loads_all: bool) -> None:
    models = _package("transformers") / "models"
    code = _LOADED.format(all=loads_all, folder=models).replace("PosixPath", "__import__('pathlib').Path")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    loaded = {name.removeprefix("transformers.") for name in json.loads(done.stdout.splitlines()[-1])}
    assert len(loaded) > 40
    assert [name for name in sorted(loaded) if not contents.keeps_transformers_module(name)] == []


def test_models_of_transformers_are_left_out_and_their_tokenizers_are_not() -> None:
    package = _package("transformers")
    left_out = set(contents.unused_transformers_modules(package))
    used = set(contents.used_transformers_models(package))
    assert not left_out & used
    assert {"transformers.models.llama.modeling_llama", "transformers.trainer", "transformers.pipelines"} <= left_out
    assert {"transformers.models.gpt2.tokenization_gpt2", "transformers.models.llama.configuration_llama"} <= used
    assert {"transformers.models.llama", "transformers.models.auto.tokenization_auto"} <= used


def test_hooks_have_the_standard_library() -> None:
    modules = contents.standard_modules()
    assert {"json", "re", "sqlite3", "http", "asyncio", "statistics", "unittest"} <= set(modules)
    assert not {"tkinter", "idlelib", "test"} & set(modules)


@pytest.mark.parametrize(
    ("place", "is_kept"),
    [
        ("mlx/lib/libmlx.so", True),
        ("mlx/include/mlx/array.h", False),
        ("resources/icons/bough.svg", True),
        ("resources/pictures/window.png", False),
        ("resources/translations/bough_de.qm", True),
        ("resources/translations/bough_de.ts", False),
        ("PySide6/Qt/translations/qtbase_de.qm", False),
        ("worker/hooks/word_filter.py", True),
        ("worker/__pycache__/transformers_import.cpython-311.names", True),
        ("numpy-2.4.6.dist-info/RECORD", False),
    ],
)
def test_files_that_nobody_needs_are_left_out(place: str, is_kept: bool) -> None:
    assert contents.keeps_file(place) is is_kept


def test_the_bundle_has_the_versions_that_the_tests_run_with() -> None:
    ours, bundled = (
        dict(re.findall(r"^([\w.-]+)==([^ ]+)", (ROOT / "packaging" / lock).read_text(encoding="utf-8"), re.MULTILINE))
        for lock in ("requirements.lock", "bundle/requirements.lock")
    )
    shared = ours.keys() & bundled.keys()
    assert {"mlx", "mlx-lm", "pyside6-essentials", "transformers", "numpy", "openai"} <= shared
    assert {name: (ours[name], bundled[name]) for name in shared if ours[name] != bundled[name]} == {}


def test_libraries_that_only_the_system_uses_are_left_out() -> None:
    binaries = {
        "numpy/core.so": "/environment/numpy/core.so",
        "libblas.so.3": "/usr/lib/libblas.so.3",
        "libgfortran.so.5": "/usr/lib/libgfortran.so.5",
        # Nothing in the bundle is linked with it, but with what needs it.
        "libgnutls.so.30": "/usr/lib/libgnutls.so.30",
    }
    needs = {
        "/environment/numpy/core.so": ["libblas.so.3", "libcups.so.2", "libc.so.6"],
        "/usr/lib/libblas.so.3": ["libgfortran.so.5", "libblas.so.3"],
    }
    kept = contents.needed_libraries(
        binaries.items(), lambda file: file.startswith("/usr/"), lambda file: needs.get(file, [])
    )
    assert kept == {"numpy/core.so", "libblas.so.3", "libgfortran.so.5"}


@pytest.mark.skipif(sys.platform != "linux" or not shutil.which("objdump"), reason="needs Linux's objdump")
def test_the_libraries_that_a_binary_needs_are_read() -> None:
    plugin = _package("PySide6") / "Qt" / "plugins" / "platforms" / "libqxcb.so"
    assert {"libQt6XcbQpa.so.6", "libQt6Gui.so.6", "libc.so.6"} <= set(contents.linked_libraries(str(plugin)))


# --- the start ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bough", "bough-worker"])
def test_the_name_of_the_program_chooses_what_runs(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(ROOT / "packaging" / "bundle" / "start.py")
    command = [sys.executable, str(tmp_path / name), "--help"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()[:2]) == (0, ["usage:", name])


class _EndedError(Exception):
    pass


def test_a_process_of_multiprocessing_is_served_before_anything_else(monkeypatch: pytest.MonkeyPatch) -> None:
    import worker.__main__ as worker_program

    def serve() -> None:
        raise _EndedError

    monkeypatch.setattr(multiprocessing, "freeze_support", serve)
    # With wrong arguments, each program would end with a usage message.
    for main in (bough.main, worker_program.main):
        with pytest.raises(_EndedError):
            main(["-c", "from multiprocessing.resource_tracker import main; main(3)"])


@pytest.mark.skipif(sys.platform != "linux", reason="Linux's way to find libraries")
@pytest.mark.parametrize("before", [None, "/opt/lib"])
def test_programs_that_bough_starts_do_not_get_the_libraries_of_the_bundle(
    before: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/usr/lib/bough/_internal")
    if before is not None:
        monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", before)
    monkeypatch.delenv("PYINSTALLER_RESET_ENVIRONMENT", raising=False)
    # Outside a bundle, the variable is the user's.
    restore_library_path()
    assert os.environ["LD_LIBRARY_PATH"] == "/usr/lib/bough/_internal"
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    restore_library_path()
    assert os.environ.get("LD_LIBRARY_PATH") == before
    assert "LD_LIBRARY_PATH_ORIG" not in os.environ
    # Bough's own processes still need them.
    assert os.environ["PYINSTALLER_RESET_ENVIRONMENT"] == "1"


# --- the starter ----------------------------------------------------------------------------------------------------


def _bundled(folder: Path) -> Path:
    starter = starter_path(folder)
    starter.mkdir(parents=True)
    (starter / "config.json").write_text("{}")
    (starter / "model.safetensors").write_bytes(b"weights")
    return folder


def test_the_first_start_copies_the_starter_and_later_ones_leave_it_removed(tmp_path: Path) -> None:
    bundled, models = _bundled(tmp_path / "bundle"), tmp_path / "data" / "models"
    bring_starter(models, bundled)
    found = find_starter(models)
    assert found is not None
    assert (found / "model.safetensors").read_bytes() == b"weights"
    shutil.rmtree(found)
    bring_starter(models, bundled)
    assert sorted(file.name for file in models.iterdir()) == [BROUGHT]


def test_a_copy_that_fails_leaves_nothing_and_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled, models = _bundled(tmp_path / "bundle"), tmp_path / "models"

    def fail(source: str, place: str) -> None:
        Path(place).write_bytes(b"we")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", fail)
        with pytest.raises(OSError, match="No space left"):
            bring_starter(models, bundled)
    assert list(models.iterdir()) == []
    bring_starter(models, bundled)
    assert find_starter(models) is not None


def test_a_starter_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    bundled, models = _bundled(tmp_path / "bundle"), _bundled(tmp_path / "models")
    (starter_path(models) / "config.json").write_text('{"mine": 1}')
    bring_starter(models, bundled)
    assert (starter_path(models) / "config.json").read_text() == '{"mine": 1}'
    bring_starter(tmp_path / "none", tmp_path / "no bundle")
    assert not (tmp_path / "none").exists()


# --- the version ----------------------------------------------------------------------------------------------------


def _git(folder: Path, *arguments: str) -> None:
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")
    environment = {**os.environ, **dict.fromkeys(names, "x"), "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "-C", str(folder), *arguments], env=environment, capture_output=True, check=True)


def test_the_version_is_the_tag(tmp_path: Path) -> None:
    assert versions.version(tmp_path) == versions.NEXT
    assert versions.commit_time_s(tmp_path) == versions.commit_time_s(tmp_path / "missing")
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "commit", "--allow-empty", "-qm", "one")
    assert re.fullmatch(rf"{re.escape(versions.NEXT)}\.dev0\+g[0-9a-f]{{8}}", versions.version(tmp_path))
    _git(tmp_path, "tag", "v1.2.3")
    _git(tmp_path, "tag", "another")
    assert versions.version(tmp_path) == "1.2.3"
    _git(tmp_path, "commit", "--allow-empty", "-qm", "two")
    assert re.fullmatch(r"1\.2\.4\.dev1\+g[0-9a-f]{8}", versions.version(tmp_path))
    _git(tmp_path, "clone", "-q", "--depth", "1", tmp_path.as_uri(), "shallow")
    assert re.fullmatch(rf"{re.escape(versions.NEXT)}\.dev0\+g[0-9a-f]{{8}}", versions.version(tmp_path / "shallow"))


def test_debian_orders_versions_as_python_does() -> None:
    names = [linux_packages.debian_version(name) for name in ("1.2.3", "1.2.4.dev1+ge6a30b1f", "1.2.4rc1", "1.2.4")]
    assert names == ["1.2.3", "1.2.4~dev1+ge6a30b1f", "1.2.4~rc1", "1.2.4"]
    if shutil.which("dpkg"):
        for older, newer in itertools.pairwise(names):
            assert subprocess.run(["dpkg", "--compare-versions", older, "lt", newer], check=False).returncode == 0


# --- what a desktop shows -------------------------------------------------------------------------------------------


def _valid(command: Sequence[str], file: Path) -> None:
    """Let the program that checks such files check this one, where it is installed."""
    if shutil.which(command[0]):
        done = subprocess.run([*command, str(file)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_desktop_entry_the_types_and_the_description_are_valid_and_agree(tmp_path: Path) -> None:
    entry = configparser.ConfigParser(interpolation=None)
    entry.read(_STATIC / "bough.desktop", encoding="utf-8")
    fields = entry["Desktop Entry"]
    _valid(["desktop-file-validate"], _STATIC / "bough.desktop")
    # Without files, nothing stands in the place of %F.
    assert fields["Exec"] == "bough %F"
    assert parse(["/home/a person/a.bough"]).files == [Path("/home/a person/a.bough")]
    assert parse([]).command is None

    named = {"m": "http://www.freedesktop.org/standards/shared-mime-info"}
    types = ET.parse(_STATIC / "bough.xml").getroot()  # noqa: S314 (our own file)
    patterns = {glob.attrib["pattern"] for glob in types.iterfind("m:mime-type/m:glob", named)}
    assert patterns == {"*.bough", "*.gguf"}
    kinds = {kind.attrib["type"] for kind in types.iterfind("m:mime-type", named)}
    icons = {icon.attrib["name"] for icon in types.iterfind("m:mime-type/m:icon", named)}
    assert icons == {icon.stem for icon in _STATIC.glob("*.svg")}
    assert set(fields["MimeType"].strip(";").split(";")) == kinds

    described = tmp_path / "bough.metainfo.xml"
    described.write_text(linux_packages.description("1.2.3", 1_764_000_000), encoding="utf-8")
    _valid(["appstreamcli", "validate", "--no-net", "--pedantic"], described)
    root = ET.parse(described).getroot()  # noqa: S314 (our own file)
    assert {kind.text for kind in root.iterfind("provides/mediatype")} == kinds
    assert [entry.attrib for entry in root.iterfind("releases/release")] == [{"version": "1.2.3", "date": "2025-11-24"}]


def test_the_manual_pages_name_every_command_and_option(tmp_path: Path) -> None:
    pages = linux_packages.manual_pages("1.2.3", 1_764_000_000)
    assert sorted(pages) == ["bough", "bough-worker"]
    for each in (parser(), worker_parser()):
        text = pages[each.prog]
        for name in _options(each):
            assert name.replace("-", "\\-") in text, name
        assert str(Path.home()) not in text
        page = tmp_path / f"{each.prog}.1"
        page.write_text(text, encoding="utf-8")
        if shutil.which("groff"):
            command = ["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z", str(page)]
            assert subprocess.run(command, capture_output=True, text=True, check=False).stderr == ""


def _options(each: argparse.ArgumentParser) -> list[str]:
    found: list[str] = []
    for action in each._actions:  # pyright: ignore[reportPrivateUsage]
        found += [name for name in action.option_strings if name not in {"-h", "--help"}]
        for name, command in (action.choices or {}).items() if isinstance(action.choices, dict) else ():
            found += [str(name), *_options(command)]
    return found
