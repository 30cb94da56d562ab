"""Web pages as Markdown."""

from __future__ import annotations

import re


def markdown_of(html: str) -> str:
    """Return a page as Markdown, without scripts, styles and pictures."""
    from bs4 import BeautifulSoup
    from markdownify import MarkdownConverter

    page = BeautifulSoup(html, "lxml")
    for element in page(["script", "style", "noscript", "template", "svg", "head"]):
        element.decompose()
    for numbered in page("ol"):
        # The converter treats "²" as a number.
        if not re.fullmatch(r"[0-9]{1,9}", str(numbered.get("start") or "")):
            del numbered["start"]
    for picture in page("img"):
        picture.replace_with(str(picture.get("alt") or ""))
    text = MarkdownConverter(heading_style="ATX", bullets="-").convert_soup(page)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.splitlines())).strip()
