"""The words of Markdown as a page shows them: no marks, and nothing of the text is lost."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from app.model.rendered_words import rendered_words


def _all(work: Generator[None, None, str]) -> str:
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("# A *title*\n\nSome **bold** `code`\nand [a link](http://x.y).", "A title\n\nSome bold code and a link."),
        ("- one\n- [x] two\n\n3. a\n4. b", "• one\n• ☑ two\n\n3. a\n4. b"),
        ("| A | B |\n|---|---|\n| 1 | **2** |", "A\tB\n1\t2"),
        ("```py\nx = '**'\n```\n\n$$\ny\n$$", "x = '**'\n\ny"),
        ("> said $x^2$ and ~~gone~~[^1]\n\n[^1]: A note.", "said x^2 and gone[1]\n\n[1] A note."),
        ("2 * 3 * 4 and snake_case", "2 * 3 * 4 and snake_case"),
    ],
)
def test_marks_are_not_words(source: str, words: str) -> None:
    assert _all(rendered_words(source)) == words


def test_long_texts_are_rendered_in_pieces_without_a_seam() -> None:
    block = "## Part\n\nSome **words**.\n\n```\nx\n\ny\n```\n\n- a\n\n- b"
    whole = _all(rendered_words("\n\n".join([block] * 200)))
    assert whole == "\n\n".join([_all(rendered_words(block))] * 200)
    assert sum(1 for _ in rendered_words("\n\n".join([block] * 400))) > 3
