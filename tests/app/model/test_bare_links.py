"""Addresses in text: which part is linked, and which text is left alone."""

from __future__ import annotations

import pytest

from app.model.markdown_parser import parsed


def _links(text: str) -> list[tuple[str, str]]:
    """Return the links of one paragraph: the shown text, and the target."""
    found: list[tuple[str, str]] = []
    for block in parsed(text, {}):
        target: str | None = None
        for token in block.children or []:
            if token.type == "link_open":
                target = str(token.attrs["href"])
                found.append(("", target))
            elif token.type == "link_close":
                target = None
            elif target is not None:
                found[-1] = (found[-1][0] + token.content, target)
    return found


def _shown(text: str) -> str:
    return "".join(token.content for block in parsed(text, {}) for token in block.children or [])


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("See https://example.org/a?b=c&d=e#f.", ["https://example.org/a?b=c&d=e#f"]),
        (
            "(https://en.wikipedia.org/wiki/Tree_(graph_theory)), too",
            ["https://en.wikipedia.org/wiki/Tree_(graph_theory)"],
        ),
        ("http://localhost:8080/x_y_z! HTTPS://EXAMPLE.ORG?", ["http://localhost:8080/x_y_z", "HTTPS://EXAMPLE.ORG"]),
        ("- **https://a.example/b**", ["https://a.example/b"]),
        ("请看https://a.example/b。谢谢", ["https://a.example/b"]),
        ("https://a.example and\nhttps://b.example", ["https://a.example", "https://b.example"]),
        ("[named](https://a.example)", ["named"]),
        ("[https://a.example](https://b.example)", ["https://a.example"]),
        ("<https://a.example>", ["https://a.example"]),
        ("`https://a.example` and https:// and https://. and ftp://a.example and javascript://a", []),
        ("    https://a.example", []),
        ("xhttps://a.example", []),
    ],
)
def test_an_address_is_linked_without_the_sentence_around_it(text: str, addresses: list[str]) -> None:
    assert [shown for shown, _ in _links(text)] == addresses


def test_no_shown_text_is_lost() -> None:
    text = "One https://a.example/b_(c), two (https://d.example) three: https://e.example/f four"
    assert _shown(text) == text
    assert [target for _, target in _links(text)] == [
        "https://a.example/b_(c)",
        "https://d.example",
        "https://e.example/f",
    ]
