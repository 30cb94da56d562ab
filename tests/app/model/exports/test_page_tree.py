"""The HTML export of a conversation with branches: its own script, run in Qt's JavaScript engine on the page itself."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtQml import QJSEngine, QJSValue

from app.model.exports.excerpt import Excerpt, Options, branch, whole_tree
from app.model.exports.html import html
from app.model.message import Conversation, Message
from app.model.store import Store
from app.model.tree import Choices, Tree
from app.model.tree_layout import TreeLayout
from tests.app.model.exports.excerpts import excerpts
from tests.app.trees import Planted, plant

_DOM = Path(__file__).with_name("small_dom.js").read_text(encoding="utf-8")
_VOID = {"meta", "img", "br", "hr", "path", "rect", "circle"}
_Node = tuple[str, dict[str, str], list[Any]]


class _Parsed(HTMLParser):
    """A page as nested lists, and the text of its script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.body: _Node = ("body", {}, [])
        self.script = ""
        self.num_scripts = 0
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.addresses: list[str] = []
        self._open: list[_Node] = [self.body]
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node: _Node = (tag, {name: value or "" for name, value in attrs}, [])
        self.tags.add(tag)
        self.attributes |= set(node[1])
        self.addresses += [node[1][name] for name in ("href", "src") if name in node[1]]
        self.num_scripts += tag == "script"
        self._open[-1][2].append(node)
        if tag not in _VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if self._open[-1][0] == "script":
            self.script += data


class _Browser:
    """A page with its script, in the small document of `small_dom.js`."""

    def __init__(self, page: str, *, address: str = "", is_wide: bool = True) -> None:
        parsed = _Parsed(page)
        self._engine = QJSEngine()
        self.run(_DOM)
        self.run(f"load({json.dumps(json.dumps(parsed.body))}); isWide = {json.dumps(is_wide)};")
        self.run(f"location.value = {json.dumps(address)};")
        self.run(parsed.script)

    def run(self, code: str) -> object:
        """Run code and return its result."""
        result = cast(QJSValue, self._engine.evaluate(code))
        assert not result.isError(), f"{result.toString()} in line {result.property('lineNumber').toInt()}"
        return result.toVariant()

    def go(self, message_id: int) -> None:
        self.run(f"location.hash = '#m{message_id}';")

    def press(self, key: str, *, alt: bool = False) -> bool:
        return bool(self.run(f"press({json.dumps(key)}, {json.dumps(alt)})"))

    def state(self) -> dict[str, Any]:
        return json.loads(str(self.run("state()")))

    def shown(self) -> list[int]:
        return [int(name[1:]) for name in self.state()["shown"]]


pytestmark = pytest.mark.usefixtures("qapp")


def _page(excerpt: Excerpt, options: Options | None = None) -> str:
    return "".join(piece.text for piece in html(excerpt, options or Options()))


def _is_exported(message: Message) -> bool:
    return message.role != "root" and (message.role != "system" or bool(message.text.strip()))


def _parents(messages: Sequence[Message]) -> dict[int, int]:
    """Return the nearest exported ancestor of each exported message; 0 at the top."""
    known = {message.id: message for message in messages}
    found: dict[int, int] = {}
    for message in filter(_is_exported, messages):
        above = known.get(message.parent_id or 0)
        while above is not None and not _is_exported(above):
            above = known.get(above.parent_id or 0)
        found[message.id] = 0 if above is None else above.id
    return found


class _Oracle:
    """The plain rule of the page: a message's branch is what is above it, and below it the child shown last."""

    def __init__(self, parents: Mapping[int, int], first: Sequence[int]) -> None:
        self._parents = parents
        self._chosen = {parents[message_id]: message_id for message_id in first}

    def go(self, message_id: int) -> list[int]:
        line = [message_id]
        while self._parents[line[0]]:
            line.insert(0, self._parents[line[0]])
        for one in line:
            self._chosen[self._parents[one]] = one
        while children := [child for child, parent in self._parents.items() if parent == line[-1]]:
            line.append(self._chosen.get(line[-1], max(children)))
        return line


def _has_branches(parents: Mapping[int, int]) -> bool:
    return len(set(parents.values())) < len(parents)


@given(excerpt=excerpts(has_parts=False), draw=st.randoms(use_true_random=False))
@settings(max_examples=15, deadline=None)
def test_any_walk_shows_the_same_branches_as_the_plain_rule(excerpt: Excerpt, draw: random.Random) -> None:
    _walk(excerpt, draw, 5)


@pytest.mark.parametrize("seed", range(3))
def test_a_walk_through_a_large_tree_shows_the_same_branches_as_the_plain_rule(seed: int) -> None:
    draw = random.Random(seed)
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    for number in range(2, 50):
        parent_id = number - 1 if draw.random() < 0.4 else draw.randrange(1, number)
        messages.append(Message(id=number, parent_id=parent_id, role="user", text=f"{number}"))
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    _walk(Excerpt(conversation, messages, {}, Tree(messages, 1).path({})), draw, 15)


def _walk(excerpt: Excerpt, draw: random.Random, num_steps: int) -> None:
    """Go to messages at random, and compare what the page shows with the rule. Without branches there is no script."""
    parents = _parents(excerpt.messages)
    page = _page(excerpt)
    if not _has_branches(parents):
        assert "<script" not in page
        return
    browser = _Browser(page)
    oracle = _Oracle(parents, browser.shown())
    first = [message.id for message in excerpt.path if _is_exported(message)]
    assert browser.shown()[: len(first)] == first
    for message_id in draw.choices(sorted(parents), k=num_steps):
        browser.go(message_id)
        shown = oracle.go(message_id)
        state, names = browser.state(), [f"m{one}" for one in shown]
        assert state["shown"] == names
        assert sorted(state["marked"]) == sorted(names)
        assert state["current"] == names[-1:]
        assert state["stops"] == [f"m{message_id}"]
        assert state["all"] == len(shown)
        assert state["trunk"].count("M") == len(shown)
    browser.run("location.hash = '';")
    assert browser.shown()[: len(first)] == first


@given(excerpt=excerpts(has_parts=False))
@settings(max_examples=25, deadline=None)
def test_only_our_script_can_run_in_a_page_with_any_texts(excerpt: Excerpt) -> None:
    page = _page(excerpt)
    parsed = _Parsed(page)
    assert parsed.num_scripts == _has_branches(_parents(excerpt.messages))
    (policy,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert policy.startswith("default-src 'none'; ")
    if parsed.num_scripts:
        digest = base64.b64encode(hashlib.sha256(parsed.script.encode()).digest()).decode()
        assert policy.endswith(f"; script-src 'sha256-{digest}'")
        assert parsed.script == Path("resources/exports/page.js").read_text(encoding="utf-8")
    else:
        assert "script-src" not in policy
    assert parsed.tags <= _TAGS
    assert parsed.attributes <= _ATTRIBUTES
    assert all(address.startswith(("#m", "data:image/", "https://", "http://")) for address in parsed.addresses)


_TAGS = {
    "html", "head", "meta", "title", "style", "body", "nav", "main", "script", "h1", "h2", "h3", "h4", "h5", "h6",
    "article", "div", "p", "details", "summary", "span", "i", "svg", "path", "rect", "circle", "text", "g", "code",
    "pre", "a", "img", "ul", "ol", "li", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "s",
    "sup", "br", "hr", "bdi",
}  # fmt: skip
_ATTRIBUTES = {
    "lang", "charset", "name", "content", "http-equiv", "id", "class", "dir", "data-parent", "href", "rel", "role",
    "title", "tabindex", "style", "align", "start", "src", "alt", "download", "aria-label", "aria-hidden",
    "aria-current", "width", "height", "viewbox", "d", "cx", "cy", "x", "y", "fill", "stroke", "stroke-width", "xmlns",
    "transform", "preserveaspectratio", "xmlns:xlink",
}  # fmt: skip


def test_hostile_names_links_and_models_are_text() -> None:
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'> [a](javascript:alert(1))"
    messages = [
        Message(id=1, parent_id=None, role="root", text=""),
        Message(id=2, parent_id=1, role="user", text=hostile, name=hostile),
        *(Message(id=number, parent_id=2, role="assistant", text=hostile, name=hostile) for number in (3, 4)),
        Message(id=5, parent_id=4, role="note", text=f"{hostile}\n{hostile}"),
    ]
    conversation = Conversation(id=1, name=hostile, root_id=1, created_ms=0, updated_ms=0)
    parsed = _Parsed(_page(Excerpt(conversation, messages, {}, Tree(messages, 1).path({}))))
    assert parsed.num_scripts == 1
    assert "img" not in parsed.tags
    assert not any(name.startswith("on") for name in parsed.attributes)
    assert all(address.startswith("#m") for address in parsed.addresses)


@pytest.fixture
def planted(store: Store) -> Planted:
    return plant(store, "u1-a1-u2-a3 | a1-u3-a4 | u1-a2 | u1-a1-u2")


def _browser(store: Store, planted: Planted, *, at: str = "", is_wide: bool = True) -> _Browser:
    page = _page(whole_tree(store, planted.conversation_id))
    return _Browser(page, address=f"m{planted.ids[at]}" if at else "", is_wide=is_wide)


def _names(planted: Planted, names: Sequence[str]) -> str:
    """Return the labels of messages, named as in the page."""
    labels = {f"m{message_id}": label for label, message_id in planted.ids.items()}
    return " ".join(labels[name] for name in names)


def test_an_address_opens_its_branch(store: Store, planted: Planted) -> None:
    browser = _browser(store, planted, at="a4")
    state = browser.state()
    assert _names(planted, state["shown"]) == "u1 a1 u3 a4"
    assert (state["focus"], state["here"]) == (f"m{planted.ids['a4']}", [f"m{planted.ids['a4']}"])
    # Unknown addresses change nothing.
    browser.run("location.hash = '#m999999'; location.hash = '#<x>'; location.hash = '#%';")
    assert browser.state() == state


def test_a_version_replaces_another_in_its_place_and_keeps_the_focus(store: Store, planted: Planted) -> None:
    browser = _browser(store, planted)
    assert _names(planted, browser.state()["shown"]) == "u1 a1 u2 a3"
    browser.run(f"document.querySelector('#m{planted.ids['a1']} [rel=next]').focus()")
    browser.run("document.activeElement.click()")
    state = browser.state()
    assert _names(planted, state["shown"]) == "u1 a2"
    # There is no next version, so the only other link has the focus. Nothing is scrolled or marked.
    assert (state["focus"], state["here"]) == ("prev", [])
    assert browser.run(f"document.querySelector('#m{planted.ids['a2']}').calls.length") == 0
    # The branch below is as it was when the reader comes back.
    browser.run("document.activeElement.click()")
    assert _names(planted, browser.state()["shown"]) == "u1 a1 u2 a3"


def test_a_message_out_of_sight_is_scrolled_to(store: Store, planted: Planted) -> None:
    browser = _browser(store, planted)
    browser.run(f"document.querySelector('#m{planted.ids['u2']}').top = 5000")
    browser.go(planted.ids["u3"])
    assert browser.run(f"document.querySelector('#m{planted.ids['u3']}').calls.length") == 1
    assert browser.state()["here"] == [f"m{planted.ids['u3']}"]


def test_keys_go_through_versions_and_messages(store: Store, planted: Planted) -> None:
    browser = _browser(store, planted, at="u2")
    assert browser.press("ArrowRight")
    assert _names(planted, browser.state()["shown"]) == "u1 a1 u3 a4"
    assert not browser.press("ArrowRight")
    assert browser.press("ArrowLeft")
    assert browser.state()["focus"] == f"m{planted.ids['u2']}"
    for label in ("a1", "u1", "u1"):
        assert browser.press("ArrowUp", alt=True)
        assert browser.state()["focus"] == f"m{planted.ids[label]}"
    assert browser.press("ArrowDown", alt=True)
    assert browser.state()["focus"] == f"m{planted.ids['a1']}"
    # The browser's own keys stay its own.
    assert not browser.press("ArrowLeft", alt=True)
    assert not browser.press("ArrowDown")


def test_arrow_keys_walk_through_the_tree(store: Store, planted: Planted) -> None:
    browser = _browser(store, planted)
    browser.run("""document.querySelectorAll("#tree a")[0].focus()""")
    walk = [
        ("ArrowUp", "u1"), ("ArrowDown", "a1"), ("ArrowRight", "a2"), ("ArrowRight", "a2"), ("ArrowDown", "a2"),
        ("ArrowLeft", "a1"), ("ArrowLeft", "a1"), ("ArrowDown", "u2"), ("ArrowRight", "u3"), ("ArrowUp", "a1"),
    ]  # fmt: skip
    for key, label in walk:
        assert browser.press(key)
        assert browser.state()["focus"] == f"#m{planted.ids[label]}", (key, label)
    state = browser.state()
    assert state["stops"] == [f"m{planted.ids['a1']}"]
    assert _names(planted, state["shown"]) == "u1 a1 u2 a3"


def test_a_narrow_page_opens_the_tree_over_the_text_and_closes_it_again(store: Store, planted: Planted) -> None:
    assert _browser(store, planted).state()["isOpen"]
    browser = _browser(store, planted, is_wide=False)
    assert not browser.state()["isOpen"]
    browser.run("document.querySelector('#tree details').open = true;")
    browser.run("document.querySelectorAll('#tree a')[3].click()")
    assert not browser.state()["isOpen"]
    browser.run("document.querySelector('#tree details').open = true;")
    assert browser.press("Escape")
    assert (browser.state()["isOpen"], browser.state()["focus"]) == (False, "summary")


def test_one_branch_is_a_small_page_without_a_script(store: Store, planted: Planted) -> None:
    page = _page(branch(store, planted.conversation_id))
    assert not {"<script", "<nav", "<svg", 'class="versions"', "script-src"} & {
        part for part in ("<script", "<nav", "<svg", 'class="versions"', "script-src") if part in page
    }
    assert "<script" in _page(whole_tree(store, planted.conversation_id))


def test_dots_stand_where_the_window_draws_them() -> None:
    draw = random.Random(11)
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    messages += [
        Message(
            id=number,
            parent_id=number - 1 if draw.random() < 0.6 else draw.randrange(1, number),
            role="user",
            text=f"{number}",
        )
        for number in range(2, 120)
    ]
    choices: Choices = {}
    tree = Tree(messages, 1)
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    page = _page(Excerpt(conversation, messages, choices, tree.path(choices)))
    found = re.findall(r'<a href="#m(\d+)"[^>]*><title>[^<]*</title><circle cx="(\d+)" cy="(\d+)"/>', page)
    layout = TreeLayout(tree, choices, unfolded=range(120))
    assert {int(name): (int(x), int(y)) for name, x, y in found} == {
        message.id: (24 + 24 * layout[message.id].lane, 24 + 28 * layout[message.id].row) for message in messages[1:]
    }
    # The n-th line ends at the n-th dot.
    (lines,) = re.findall(r'<path class="lines" d="M([^"]*)"', page)
    ends = [line.rpartition("V")[2] for line in lines.split("M")]
    assert ends == [y for _, _, y in found]


def test_branches_below_an_unwanted_system_prompt_name_nothing_of_it(store: Store) -> None:
    conversation, question = store.create_conversation("planted", "the secret prompt", "one")
    assert question.parent_id is not None
    store.add(conversation.id, question.parent_id, "user", "two")
    page = _page(whole_tree(store, conversation.id), Options(system_prompts=False))
    assert "secret" not in page
    assert page.count('aria-label="Version') == 2
