"""The HTML export, read back by a parser: it preserves every text and loads nothing else."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from msgspec import structs

from app.model.exports.excerpt import Excerpt, Options, Scheme
from app.model.exports.highlighting import code_looks, contrast, theme
from app.model.exports.html import html
from app.model.message import Conversation, Message, Role
from app.model.tree import Tree
from tests.app.model.exports.excerpts import BIDI_CONTROLS, excerpts, roles_and_texts

_VOID = {"meta", "img", "br", "hr"}
_CODE = """def f(x):
    # a <comment> & more
    return "a" if x < 3 else 'b'"""


class _Page(HTMLParser):
    """Collects a page's articles (their texts by id) and all its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.texts: dict[str, str] = {}
        self.roles: dict[str, str] = {}
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.deepest = 0
        self._open: list[str] = []
        self._article = ""
        self._is_text = 0
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if tag in _VOID or (tag in {"path", "rect"}):
            return
        self._open.append(tag)
        self.deepest = max(self.deepest, self._open.count("details"))
        if tag == "article":
            self._article = found["id"] or ""
            self.texts[self._article] = ""
            self.roles[self._article] = (found["class"] or "").split()[0]
        if self._is_text or (tag == "div" and "text" in (found.get("class") or "").split()):
            self._is_text += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag
        self._is_text -= bool(self._is_text)

    def handle_data(self, data: str) -> None:
        if self._is_text:
            self.texts[self._article] += data


def _page(excerpt: Excerpt, options: Options | None = None) -> str:
    return "".join(piece.text for piece in html(excerpt, options or Options()))


def _excerpt(*said: tuple[Role, str]) -> Excerpt:
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    messages += [
        Message(id=index + 2, parent_id=index + 1, role=role, text=text) for index, (role, text) in enumerate(said)
    ]
    return Excerpt(Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0), messages, {}, messages)


@given(excerpt=excerpts(has_parts=False))
@settings(max_examples=50)
def test_every_message_of_any_tree_appears_once_and_user_text_is_unchanged(excerpt: Excerpt) -> None:
    page = _Page(_page(excerpt))
    included = [message for message in excerpt.messages if roles_and_texts([message])]
    assert {int(name.removeprefix("m")): role for name, role in page.roles.items()} == {
        message.id: message.role for message in included
    }
    for message in included:
        if message.role in {"user", "system"}:
            assert page.texts[f"m{message.id}"] == message.text
    assert {tag for tag, _ in page.tags} <= _KNOWN_TAGS


_KNOWN_TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "h4", "h5", "h6", "article", "div", "p",
    "details", "summary", "span", "svg", "path", "rect", "code", "pre", "a", "img", "ul", "ol", "li", "blockquote",
    "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "s", "sup", "br", "hr", "g", "nav", "i", "circle",
    "text", "script", "bdi",
}  # fmt: skip


def test_the_page_names_its_language_and_no_name_reorders_it() -> None:
    tree = _tree()
    assert '<html lang="de">' in _page(tree, Options(language="de"))
    words = (("Пойдём на север.", "ru"), ("北へ行こう。", "ja"), ("North", "en-GB"))
    for text, tag in words:
        messages = [structs.replace(message, text=text) for message in tree.messages]
        named = structs.replace(tree.conversation, name="a\u202eb\u2067c\u200e")
        page = _page(Excerpt(named, messages, {}, messages), Options(language="en-GB"))
        assert f'<html lang="{tag}">' in page
        assert "<title>abc</title>" in page
        assert not BIDI_CONTROLS.search(page)


def test_code_and_formulas_are_complete_and_html_is_shown_as_text() -> None:
    formulas = "$\\frac{a}{b}$ and\n\n$$x < y$$\n\n\\(\\nosuch{\\)"
    text = f"A <b>tag</b> &amp; `a<b`.\n\n```python\n{_CODE}\n```\n\n{formulas}"
    page = _Page(_page(_excerpt(("user", "q"), ("assistant", text))))
    shown = page.texts["m3"]
    assert "A <b>tag</b> & a<b." in shown
    assert _CODE in shown
    assert "$\\frac{a}{b}$" in shown
    assert "$$x < y$$" in shown
    assert "$\\nosuch{$" in shown
    assert [tag for tag, _ in page.tags].count("svg") == 2
    assert any((found.get("class") or "").startswith("c-") for _, found in page.tags)


@pytest.mark.parametrize("depth", [15, 60, 2_000])
def test_deeply_nested_lists_and_quotes_are_complete(depth: int) -> None:
    lists = "".join(f"{'  ' * level}- item {level}\n" for level in range(min(depth, 300)))
    shown = _Page(_page(_excerpt(("user", "q"), ("assistant", f"{'>' * depth} at the bottom\n\n{lists}")))).texts["m3"]
    assert "at the bottom" in shown
    assert all(f"item {level}\n" in shown for level in range(min(depth, 300)))


def test_footnotes_appear_where_they_are_written() -> None:
    notes = "[^1]: Word\n\n[^b]: https://example.org/path\n    and *more*\n\n[^c]: - an item"
    said = f"So it is[^1], they say[^b].\n\n{notes}\n\nThe end."
    shown = " ".join(_Page(_page(_excerpt(("user", "q"), ("assistant", said)))).texts["m3"].split())
    noted = "[1] Word [b] https://example.org/path and more [c] an item"
    assert shown == f"So it is[1], they say[b]. {noted} The end."


def test_text_after_a_formula_is_kept_and_many_unclosed_formulas_are_parsed_quickly() -> None:
    text = "$$x$$.\n\n" + "\\(a " * 20_000
    shown = _Page(_page(_excerpt(("user", "q"), ("assistant", text)))).texts["m3"]
    assert "$$x$$." in shown
    assert shown.count("(a") == 20_000


def test_nothing_is_downloaded_or_executed() -> None:
    text = (
        "![a](https://example.org/a.png) ![b](data:image/png;base64,iVBORw0KGgo=) [c](javascript:alert(1)) "
        "[d](file:///etc/passwd) <script>alert(1)</script> <img src=x onerror=alert(1)>"
    )
    page = _Page(_page(_excerpt(("user", text), ("assistant", text))))
    addresses = [found[key] or "" for _, found in page.tags for key in ("src", "href") if key in found]
    assert [found["src"] for tag, found in page.tags if tag == "img"] == ["data:image/png;base64,iVBORw0KGgo="]
    assert all(address.startswith(("data:image/", "https://", "#m")) for address in addresses), addresses
    assert not any(name.startswith("on") for _, found in page.tags for name in found)
    assert not any(tag in {"script", "link", "iframe", "object"} for tag, _ in page.tags)
    assert "[image: a]" in page.texts["m3"]


def test_branches_fold_at_their_fork() -> None:
    page = _page(_tree())
    # The hidden branch comes before the next message of the shown one.
    assert re.findall(r'id="(m\d)"|(<details|</details)', page.partition("<main>")[2]) == [
        ("m2", ""),
        ("m3", ""),
        ("", "<details"),
        ("m4", ""),
        ("", "</details"),
        ("m5", ""),
    ]
    assert "Another branch: “first”, after <a href='#m3'>“q”</a>" in page


def test_several_branches_of_one_fork_fold_next_to_each_other() -> None:
    messages = [Message(id=1, parent_id=None, role="root", text=""), Message(id=2, parent_id=1, role="user", text="q")]
    messages += [Message(id=number, parent_id=2, role="assistant", text=f"a{number}") for number in (3, 4, 5)]
    messages.append(Message(id=6, parent_id=3, role="user", text="why"))
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    page = _page(Excerpt(conversation, messages, {2: 5}, Tree(messages, 1).path({2: 5})))
    folds = re.findall(r'id="(m\d)"|(<details|</details)|: “(a\d)”, after', page.partition("<main>")[2])
    assert ["".join(found) for found in folds] == [
        "m2", "<details", "a3", "m3", "m6", "</details", "<details", "a4", "m4", "</details", "m5",
    ]  # fmt: skip


def test_each_paragraph_has_its_own_direction_and_code_is_left_to_right() -> None:
    text = "مرحبا\n\n- عنصر\n\n1. one\n\n> اقتباس\n\n```\nx = 1\n```\n\n| a |\n|---|\n| b |\n\n| ب |\n|---|\n| b |\n"
    page = _Page(_page(_excerpt(("user", "q"), ("assistant", text))))
    directions = [(tag, found["dir"]) for tag, found in page.tags if "dir" in found and tag not in {"h1", "div"}]
    assert directions == [
        ("ul", "auto"),
        ("ol", "auto"),
        ("blockquote", "auto"),
        ("pre", "ltr"),
        ("table", "ltr"),
        ("table", "rtl"),
    ]
    assert re.search(r"[^}]*\bp\b[^}]*{ unicode-bidi: plaintext; }", _page(_tree()))


def test_a_dark_page_is_printed_in_the_light_colours() -> None:
    page = _page(_tree(), Options(scheme="dark"))
    _, _, printed = page.partition("@media print {")
    assert theme("light")["text"] in printed
    assert theme("light")["text"] not in page.partition("@media print {")[0]


def _tree() -> Excerpt:
    messages = [
        Message(id=1, parent_id=None, role="root", text=""),
        Message(id=2, parent_id=1, role="system", text="s"),
        Message(id=3, parent_id=2, role="user", text="q"),
        Message(id=4, parent_id=3, role="assistant", text="first"),
        Message(id=5, parent_id=3, role="assistant", text="second"),
    ]
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    return Excerpt(conversation, messages, {}, Tree(messages, 1).path({}))


def test_nested_branches_do_not_fold_deeper_than_browsers_support() -> None:
    messages = [Message(id=1, parent_id=None, role="root", text="")]
    for number in range(400):
        # Each second child starts a branch of the previous one.
        messages.append(Message(id=2 * number + 2, parent_id=max(1, 2 * number), role="user", text=f"a{number}"))
        messages.append(Message(id=2 * number + 3, parent_id=max(1, 2 * number), role="user", text=f"b{number}"))
    choices = {message.parent_id: message.id for message in messages if message.id % 2 and message.parent_id}
    conversation = Conversation(id=1, name="n", root_id=1, created_ms=0, updated_ms=0)
    page = _Page(_page(Excerpt(conversation, messages, choices, Tree(messages, 1).path(choices))))
    assert len(page.texts) == 800
    assert page.deepest < 40


def test_the_page_has_the_chosen_colours_and_code_has_enough_contrast() -> None:
    schemes: tuple[Scheme, ...] = ("light", "dark", "both")
    pages = {scheme: _page(_tree(), Options(scheme=scheme)) for scheme in schemes}
    assert "prefers-color-scheme: dark" in pages["both"]
    assert "prefers-color-scheme" not in pages["light"]
    light, dark = theme("light"), theme("dark")
    assert light["page"] in pages["light"]
    assert dark["page"] not in pages["light"]
    assert dark["page"] in pages["dark"]
    for scheme, colours in (("light", light), ("dark", dark)):
        looks = code_looks(scheme)  # pyright: ignore[reportArgumentType]
        assert all(contrast(look.colour, colours["sunken"]) >= 4.5 for look in looks.values() if look.colour)


def test_reasoning_folds_and_can_be_left_out() -> None:
    excerpt = _excerpt(("user", "q"), ("assistant", "<think>\nHm <b>.\n</think>\n\nBecause."))
    assert "<summary>Reasoning</summary>" in _page(excerpt)
    assert "Hm &lt;b&gt;." in _page(excerpt)
    assert "Hm" not in _page(excerpt, Options(reasoning=False))
    assert "Because." in _page(excerpt, Options(reasoning=False))


def test_a_note_folds_and_shows_its_picture() -> None:
    address = "data:image/png;base64,iVBORw0KGgo="
    page = _Page(_page(_excerpt(("note", f"Picture: a\n\n![a.png]({address})"), ("note", "Tool result: f\n\n`x`"))))
    assert [found["src"] for tag, found in page.tags if tag == "img"] == [address]
    assert page.texts["m3"].strip() == "x"
