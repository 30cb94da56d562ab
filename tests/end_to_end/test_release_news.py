"""News of releases: no request before the user agrees, at most one a day, and a failure disturbs nobody."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot
from typing_extensions import override

from app.care.releases import FeedError, Release, feed_address, is_newer, newest
from app.model.settings import Settings, load_settings, save_settings
from app.notices import OpenPage
from app.release_news import DAY_MS
from app.ui.settings.settings_window import SettingsWindow
from tests.end_to_end.conftest import OpenBough
from tests.waiting import PATIENCE_MS

# Some of what GitHub's API answers.
_ANSWER = {
    "url": "https://api.example.org/repos/bough/bough/releases/1",
    "html_url": "https://example.org/bough/releases/tag/v99.1.0",
    "tag_name": "v99.1.0",
    "name": "Bough 99.1",
    "draft": False,
    "prerelease": False,
    "assets": [],
}


class _Feed(http.server.ThreadingHTTPServer):
    """A release feed that notes each request."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[dict[str, str]] = []
        self.status = 200
        self.body = json.dumps(_ANSWER).encode()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/repos/bough/bough/releases/latest"


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Feed  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_GET(self) -> None:
        self.server.requests.append(dict(self.headers.items()))
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(self.server.body)

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def feed(monkeypatch: pytest.MonkeyPatch) -> Iterator[_Feed]:
    """A feed, which is the one of this build."""
    with _Feed() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setattr("app.care.releases.feed_address", lambda: server.address)
        yield server
        server.shutdown()
        thread.join()


def test_nothing_is_asked_before_the_user_agrees_and_then_once_a_day(
    open_bough: OpenBough, feed: _Feed, qtbot: QtBot, tmp_path: Path
) -> None:
    bough = open_bough()
    qtbot.waitUntil(lambda: bough.session.state == "ready", timeout=PATIENCE_MS)
    bough.controller.send("What is a branch?")
    qtbot.waitUntil(lambda: bough.controller.shown.streaming_message is None, timeout=PATIENCE_MS)
    bough.window.action("settings").trigger()
    window = bough.window.findChild(SettingsWindow)
    assert isinstance(window, SettingsWindow)
    group = window.general.releases
    assert group is not None
    # All that Bough did so far, and a look at the switch, sent nothing.
    assert group.chosen == 0
    assert feed.requests == []
    with qtbot.waitSignal(bough.program.release_news.asked, timeout=PATIENCE_MS):
        group.choose(1)
        group.changed.emit()
    (headers,) = feed.requests
    assert headers["User-Agent"] == "Bough"
    assert "Cookie" not in headers
    banner = bough.window.banner
    assert banner.label.text().startswith("Bough 99.1.0 is there. This is ")
    assert banner.action == OpenPage(_ANSWER["html_url"])  # pyright: ignore[reportArgumentType]
    # Other changes of settings, and another look, ask nothing more on this day.
    bough.program.set_theme("dark")
    bough.program.release_news.look()
    bough.window.close()
    settings = load_settings(tmp_path / "settings.json")
    assert settings.asks_for_releases
    bough = open_bough()
    qtbot.waitUntil(lambda: bough.session.state == "ready", timeout=PATIENCE_MS)
    assert bough.program.release_news.address == feed.address
    assert len(feed.requests) == 1
    # The next day.
    news = bough.program.release_news
    news._now_ms = lambda: settings.releases_asked_ms + DAY_MS  # pyright: ignore[reportPrivateUsage]
    with qtbot.waitSignal(news.asked, timeout=PATIENCE_MS):
        news.look()
    assert len(feed.requests) == 2


@pytest.mark.parametrize(
    ("status", "body"), [(500, b""), (404, b"{}"), (200, b"no JSON"), (200, b'{"tag_name": 3}'), (200, b"")]
)
def test_a_failure_is_a_line_in_the_log_alone(
    status: int, body: bytes, open_bough: OpenBough, feed: _Feed, qtbot: QtBot, tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    feed.status, feed.body = status, body
    save_settings(tmp_path / "settings.json", Settings(asks_for_releases=True))
    with caplog.at_level("INFO", "app"):
        bough = open_bough()
        qtbot.waitUntil(lambda: "No news of releases: " in caplog.text, timeout=PATIENCE_MS)
    assert len(feed.requests) == 1
    assert not bough.window.banner.isVisible()


def test_a_build_without_a_feed_has_no_switch(open_bough: OpenBough) -> None:
    assert feed_address() == ""
    bough = open_bough()
    bough.window.action("settings").trigger()
    window = bough.window.findChild(SettingsWindow)
    assert isinstance(window, SettingsWindow)
    assert window.general.releases is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://example.org/latest\n", "https://example.org/latest"),
        ("", ""),
        ("file:///etc/passwd", ""),
        ("ftp://example.org/x", ""),
        ("http://[", ""),
    ],
)
def test_the_address_is_a_setting_of_the_build(text: str, address: str, tmp_path: Path) -> None:
    (tmp_path / "release_feed.txt").write_text(text)
    assert feed_address(tmp_path) == address


def test_only_a_real_newer_release_counts(feed: _Feed) -> None:
    assert newest(feed.address) == Release("99.1.0", "https://example.org/bough/releases/tag/v99.1.0")
    for change in ({"draft": True}, {"prerelease": True}, {"html_url": "javascript:alert(1)"}):
        feed.body = json.dumps(_ANSWER | change).encode()
        assert newest(feed.address) is None
    feed.shutdown()
    feed.server_close()
    with pytest.raises(FeedError, match="can't be reached"):
        newest(feed.address)
    assert is_newer("1.10.0", "1.9.3")
    assert is_newer("0.1.0", "0.1.0.dev0+g1234567")
    assert not any(is_newer(*pair) for pair in (("1.0", "1.0.0"), ("0.9", "1.0"), ("nightly", "1.0"), ("2", "unknown")))
