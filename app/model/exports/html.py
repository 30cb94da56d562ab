"""Exports a conversation as a single HTML file, which loads nothing else.

If it has branches, they are folded into the message from which they fork, a tree is drawn, and all dots of the tree and
all versions of a message are links to messages. A script of ours shows the branch of the message that a link leads to.
Without scripts, browsers unfold the branch. No other script can run: the policy names ours by its hash.

HTML in messages is shown as text. Formulas are SVG pictures with their source as hidden text, for copying and screen
readers. Pictures are shown if their data are in the message.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
from collections.abc import Iterator, Sequence
from html import escape
from typing import Literal

from typing_extensions import override

from app.model.exports.captions import (
    Whole,
    ending,
    first_words,
    heading,
    in_wholes,
    is_folded,
    language,
    marks,
    shown_sections,
    split_note,
    split_reasoning,
    statistics,
    title,
)
from app.model.exports.excerpt import Excerpt, Options, Section
from app.model.exports.files import Piece
from app.model.exports.formula import formula
from app.model.exports.highlighting import code_looks, stretches, theme
from app.model.exports.page_tree import PageTree, Version
from app.model.exports.rendering import MarkdownRenderer
from app.model.message import Message, MessageId
from app.model.text import as_title, is_right_to_left

_MATH_PX = 17
_MAX_DEPTH = 24
"""The maximum nesting of folded branches; browsers fail at about 500 nested elements."""

_VARIABLES = (
    "page",
    "surface",
    "sunken",
    "text",
    "quiet_text",
    "line",
    "control_line",
    "accent",
    "accent_wash",
    "hover",
    "danger",
)


def html(excerpt: Excerpt, options: Options) -> Iterator[Piece]:
    """Yield a page, one message at a time."""
    wholes = in_wholes(shown_sections(excerpt, options))
    tree = PageTree([Section(whole.parent_id, [parts[0] for parts in whole.messages]) for whole in wholes])
    script = _resource("page.js") if tree.has_branches else ""
    name = escape(title(excerpt))
    policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; img-src data:"
    policy += f"; script-src 'sha256-{_hash(script)}'" if script else ""
    yield Piece(
        f'<!DOCTYPE html>\n<html lang="{escape(language(excerpt, options))}">\n<head>\n<meta charset="utf-8">\n'
        f"<title>{name}</title>\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<style>\n{_style(options)}\n</style>\n</head>\n<body>\n"
    )
    if tree.has_branches:
        yield Piece('<nav id="tree" aria-label="Tree">\n<details>\n<summary>Tree</summary>\n<div>\n')
        yield from (Piece(part) for part in tree.picture())
        yield Piece("</div>\n</details>\n</nav>\n")
    yield Piece(f'<main>\n<h1 dir="auto">{name}</h1>\n')
    yield from _sections(excerpt, wholes, tree, options)
    yield Piece("</main>\n")
    if script:
        yield Piece(f"<script>{script}</script>\n")
    yield Piece("</body>\n</html>\n")


def _hash(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _resource(name: str) -> str:
    return importlib.resources.files("resources").joinpath(f"exports/{name}").read_text(encoding="utf-8")


def _style(options: Options) -> str:
    layout = _resource("page.css").strip()
    scheme = options.scheme
    if scheme != "both":
        one = f":root {{ color-scheme: {scheme}; {_colours(scheme)} }}\n{_code(scheme)}"
        # Dark pages are printed in light colours.
        paper = f"\n@media print {{\n:root {{ {_colours('light')} }}\n{_code('light')}\n}}" if scheme == "dark" else ""
        return f"{one}{paper}\n{layout}"
    light = f":root {{ color-scheme: light dark; {_colours('light')} }}\n{_code('light')}"
    dark = f":root {{ {_colours('dark')} }}\n{_code('dark')}"
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}\n{layout}"


def _colours(scheme: Literal["light", "dark"]) -> str:
    colours = theme(scheme)
    return " ".join(f"--{name}: {colours[name]};" for name in _VARIABLES)


def _code(scheme: Literal["light", "dark"]) -> str:
    rules: list[str] = []
    for kind, look in code_looks(scheme).items():
        rule = f"color: {look.colour or 'inherit'}; font-weight: {'bold' if look.is_bold else 'normal'}; "
        rule += f"font-style: {'italic' if look.is_italic else 'normal'};"
        if kind:
            rules.append(f".c-{kind} {{ {rule} }}")
    return "\n".join(rules)


def _sections(excerpt: Excerpt, wholes: Sequence[Whole], tree: PageTree, options: Options) -> Iterator[Piece]:
    """Yield all sections. A branch is folded into the section from which it forks."""
    forks: dict[MessageId | None, list[Whole]] = {}
    for section in wholes:
        forks.setdefault(section.parent_id, []).append(section)
    # Each entry: an unfinished section, the index of its next message, and its nesting depth.
    unfinished: list[tuple[Whole, int, int]] = []
    # Sections that are too deep to nest follow at the outermost level, with their nesting depth there.
    pending: list[tuple[Whole, int]] = []
    for number, top in enumerate(forks.pop(None, [])):
        pending.append((top, 1 if number else 0))
        while pending:
            section, depth = pending.pop(0)
            unfinished.append((section, 0, depth))
            while unfinished:
                section, index, depth = unfinished.pop()
                if depth and index == 0:
                    yield Piece(_branch(excerpt, section))
                if index == len(section.messages):
                    yield Piece("</details>\n" if depth else "")
                    continue
                parts = section.messages[index]
                yield Piece(_message(parts, tree, options), len(parts))
                unfinished.append((section, index + 1, depth))
                others = forks.pop(parts[0].id, [])
                if depth + 1 < _MAX_DEPTH:
                    unfinished += [(other, 0, depth + 1) for other in reversed(others)]
                else:
                    pending += [(other, 1) for other in others]


def _branch(excerpt: Excerpt, section: Whole) -> str:
    first = section.messages[0][0]
    after = ""
    if section.parent_id is not None and section.parent_id in excerpt.tree:
        after = f", after <a href='#m{section.parent_id}'>“{escape(first_words(excerpt.tree[section.parent_id]))}”</a>"
    name = as_title(first.name)
    named = f" <bdi>“{escape(name)}”</bdi>" if name else ""
    words = f"“{escape(first_words(first))}”{after}"
    return f"<details class='branch'>\n<summary>Another branch{named}: {words}</summary>\n"


def _message(parts: Sequence[Message], tree: PageTree, options: Options) -> str:
    first = parts[0]
    parent = tree.parent(first.id)
    above = "" if parent is None else f' data-parent="m{parent}"'
    content = "".join(_note(part) if is_folded(part) else _text(part, options) for part in parts)
    shown = next((part for part in parts if not is_folded(part)), first)
    start = f'<article id="m{first.id}"{above} class="{_class(shown)}">\n'
    return f"{start}{_version(tree.version(first.id))}{content}</article>\n"


def _version(version: Version) -> str:
    """Return links to the versions before and after a message; empty if it is the only one."""
    if version.num_siblings == 1:
        return ""
    before, after = "<i>‹</i>", "<i>›</i>"
    if version.before is not None:
        before = _version_link("prev", version.before, "Previous version", "‹", "←")
    if version.after is not None:
        after = _version_link("next", version.after, "Next version", "›", "→")
    label = f"Version {version.number} of {version.num_siblings}"
    return (
        f'<div class="versions" role="group" aria-label="{label}">{before}'
        f'<span aria-hidden="true">{version.number}/{version.num_siblings}</span>{after}</div>\n'
    )


def _version_link(rel: str, message_id: MessageId, label: str, sign: str, key: str) -> str:
    return f'<a rel="{rel}" href="#m{message_id}" aria-label="{label}" title="{label} ({key})">{sign}</a>'


def _text(message: Message, options: Options) -> str:
    split = split_reasoning(message)
    parts = [_heading(message)]
    if split.reasoning and options.reasoning:
        parts.append(
            f'<details class="reasoning"><summary>Reasoning</summary><div class="plain" dir="auto">'
            f"{escape(split.reasoning)}</div></details>"
        )
    if message.role == "assistant":
        parts.append(f'<div class="text" dir="auto">{_RENDERER.render_markdown(split.answer)}</div>')
    else:
        parts.append(f'<div class="text plain" dir="auto">{escape(split.answer)}</div>')
    if ended := ending(message):
        parts.append(f'<p class="{"error" if message.state == "failed" else "ending"}">{escape(ended)}</p>')
    if options.statistics and (line := statistics(message)):
        parts.append(f'<p class="figures">{escape(line)}</p>')
    return "\n".join([*parts, ""])


def _heading(message: Message) -> str:
    caption = heading(message)
    line = f'<h2><a href="#m{message.id}">{escape(caption)}</a></h2>' if caption else ""
    return f"{line}{_marks(message)}"


def _note(message: Message) -> str:
    note = split_note(message)
    if note.is_picture:
        inner = f'<img src="{escape(note.file_address)}" alt="{escape(note.file_name)}">'
    elif note.file_address:
        name = escape(note.file_name)
        inner = f'<a href="{escape(note.file_address)}" download="{name}">{name}</a>'
    else:
        inner = _RENDERER.render_markdown(note.text)
    return (
        f'{_marks(message)}<details class="folded"><summary>{escape(heading(message))}</summary>'
        f'<div class="text" dir="auto">{inner}</div></details>\n'
    )


def _marks(message: Message) -> str:
    marked = marks(message)
    return f'<p class="marks" dir="auto">{escape(marked)}</p>' if marked else ""


def _class(message: Message) -> str:
    return message.role if message.role == "assistant" or is_folded(message) else f"{message.role} card"


class _PageRenderer(MarkdownRenderer):
    @override
    def render_table_start(self, headings: Sequence[str]) -> str:
        direction = "rtl" if is_right_to_left("".join(headings)) else "ltr"
        return f'<div class="wide"><table dir="{direction}">\n'

    @override
    def render_table_end(self) -> str:
        return "</table></div>\n"

    @override
    def render_code(self, code: str, language: str) -> str:
        inner = "".join(
            f'<span class="c-{stretch.kind}">{escape(stretch.text, quote=False)}</span>'
            if stretch.kind
            else escape(stretch.text, quote=False)
            for stretch in stretches(code, language)
        )
        # Browsers ignore the line break after <pre>.
        return f'<pre dir="ltr" tabindex="0">\n<code>{inner}</code></pre>\n'

    @override
    def render_formula(self, latex: str, *, is_inline: bool) -> str:
        kind, mark = ("inline", "$") if is_inline else ("block", "$$")
        source = escape(f"{mark}{latex}{mark}", quote=False)
        drawn = formula(latex, _MATH_PX, "currentColor", is_inline=is_inline)
        if drawn is None:
            return f'<code class="math {kind}">{source}</code>'
        rise = f"vertical-align: {-drawn.below_px:.2f}px"
        svg = drawn.svg.replace("<svg ", f'<svg aria-hidden="true" style="{rise}" ', 1)
        return f'<span class="math {kind}"><span class="source">{source}</span>{svg}</span>'

    @override
    def render_picture(self, source: str, description: str) -> str:
        if source.startswith("data:"):
            return f'<img src="{escape(source)}" alt="{escape(description)}">'
        return f'<a href="{escape(source)}" rel="noreferrer">[image: {escape(description or source)}]</a>'


_RENDERER = _PageRenderer()
