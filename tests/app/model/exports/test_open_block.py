"""Open fences and HTML blocks: found without a parser where a parser finds them."""

from __future__ import annotations

import random
from typing import Any

import pytest
from markdown_it import MarkdownIt

from app.model.exports import open_block
from app.model.exports.open_block import end_of_open_block
from tests.attacks.texts import TEXTS
from tests.long import in_long_runs

_LINES = (
    *("```", "````", "~~~", "```python", "   ```", "    ```", "  ~~~~ a", "> ```", "- ```", "1. ```", "\t~~~"),
    *("``` a`b", "word", "  word", "# heading", "---", "- a", "2) x", "+", "  - b", "> a", ">", "> - a", "* * *"),
    *("<div>", "   <div>", "</p>", "<x>", '<x y="z">', " <x>", "<!--", "  <!-- a", "-->", "<!-- a -->", "<pre>"),
    *("</pre>", "<SCRIPT>", "</script>", "<?php", "?>", "<![CDATA[", "]]>", "<!doctype", "<textarea", "<a"),
    *("<style>a</style>", "[a]: <b", "[a]: /x 'title", "|a|", "|-|", "", "", "", " ", "\t", "\r", "\0", "\f", "\u2028"),
)


def _is_open(text: str) -> bool:
    parser = MarkdownIt("commonmark")
    parser.core.ruler.disable("inline")
    return parser.parse(f"{text}\n\n## what follows")[-1].type in {"fence", "html_block"}


@pytest.mark.parametrize("num_texts", [300, *in_long_runs([10_000])])
def test_a_block_is_open_where_a_parser_leaves_it_open(num_texts: int) -> None:
    rng, num_open = random.Random(4), 0
    for _ in range(num_texts):
        text = "\n".join(rng.choices(_LINES, k=rng.randint(1, 9)))
        end = end_of_open_block(text)
        assert (end is not None) == _is_open(text), text
        if end is not None:
            num_open += 1
            assert not _is_open(f"{text}\n{end}"), text
    assert num_open > num_texts // 5


@pytest.mark.parametrize("name", ["every kind", *in_long_runs([name for name in TEXTS if name != "every kind"])])
def test_a_parser_reads_no_character_twice(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    parsed: list[int] = []

    def spy(text: str) -> Any:
        parsed.append(len(text))
        return original(text)

    original = open_block._open_at_end  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(open_block, "_open_at_end", spy)
    text = TEXTS[name]()
    end_of_open_block(text)
    assert sum(parsed) <= len(text)
    if name == "every kind":
        assert not parsed
