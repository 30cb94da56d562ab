"""ARCHITECTURE.md names every folder and only paths that exist, so that a newcomer finds the place for a change."""

from __future__ import annotations

import re

from tests.driver import ROOT

_PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def test_every_folder_is_listed() -> None:
    folders = [path.parent for package in ("app", "worker") for path in (ROOT / package).rglob("__init__.py")]
    listed = re.findall(r"^ *(\w+)/ ", _PAGE, re.MULTILINE)
    assert sorted(folder.name for folder in folders if folder.name not in listed) == []


def test_every_path_exists() -> None:
    paths = re.findall(r"`((?:app|worker|tests|packaging|resources|docs)/[\w./-]*)`", _PAGE)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_it_can_be_read_in_one_go() -> None:
    assert len(_PAGE.splitlines()) <= 130


def test_each_change_is_found_with_three_files() -> None:
    rows = re.findall(r"^\| .* \|$", _PAGE, re.MULTILINE)
    assert rows
    assert [row for row in rows if len(re.findall(r"`[\w./-]+\.py`", row)) > 3] == []


def test_no_page_holds_both_sides_of_a_merge() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    marked = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    assert [page.name for page in pages if marked.search(page.read_text(encoding="utf-8"))] == []
