"""Hostile texts for the window: each makes something expensive to parse, to lay out, to paint or to search."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

_TABLE = "|a|\n|-|\n|b|"
_WORDS = "A message is read once, and what was read is kept for every branch that goes on from it. "


def _formulas(number: int) -> str:
    return " ".join(f"$x_{{{each}}}$ and" for each in range(number))


def _wide_table(columns: int, rows: int) -> str:
    line = "| " + " | ".join(["a"] * columns) + " |"
    return "\n".join([line, "|---" * columns + "|", *([line] * rows)])


def _paragraphs(number: int, text: str = "one line") -> str:
    return "\n\n".join(f"{text} {each}" for each in range(number))


def _long_answer() -> str:
    part = (
        f"## Part\n\n{_WORDS * 4}\n\n- `one` *thing*\n- **another** [thing](https://example.org)\n\n"
        "```python\ndef kept(tokens):\n    return tokens\n```\n\n"
        f"| a | b |\n|---|---|\n| 1 | $x^2$ |\n\n{_WORDS * 3}\n\n"
    )
    return (part * (100_000 // len(part) + 1))[:100_000]


TEXTS: Mapping[str, Callable[[], str]] = {
    # An honest answer, which must be shown whole.
    "long answer": _long_answer,
    # Formulas.
    "100 formulas": lambda: _formulas(100),
    "200 formulas": lambda: _formulas(200),
    "3,000 formulas": lambda: _formulas(3_000),
    "display formulas": lambda: "\n\n".join(f"$$\\frac{{{each}}}{{x}}$$" for each in range(1_000)),
    "formulas in a table": lambda: "|a|b|\n|-|-|\n" + "\n".join(f"|$a_{{{n}}}$|$b^{{{n}}}$|" for n in range(500)),
    "broken formulas": lambda: " ".join(f"$\\frac{{{each}$" for each in range(1_000)),
    "huge formula": lambda: "$$" + "+".join(f"x_{{{each}}}" for each in range(450)) + "$$",
    "nested formula": lambda: "$" + "\\sqrt{" * 500 + "x" + "}" * 500 + "$",
    "open dollars": lambda: "$a " * 300_000,
    # Code.
    "2,000 fences": lambda: "```\nx\n```\n\n" * 2_000,
    "20,000 fences": lambda: "```\nx\n```\n\n" * 20_000,
    "fences with languages": lambda: "```python\nx = 1\n```\n\n" * 5_000,
    "nested fences": lambda: "".join(f"{'`' * (3 + each % 50)}\n" for each in range(10_000)),
    "one long fence": lambda: "```python\n" + "x = [1, 2, 3]\n" * 60_000,
    "one long line of code": lambda: "```python\n" + "x = [1, 2, 3]; " * 60_000,
    # Tables.
    "table of 100,000 rows": lambda: _wide_table(3, 100_000),
    "table of 2,000 × 50": lambda: _wide_table(50, 2_000),
    "table of 1,000 columns": lambda: _wide_table(1_000, 20),
    "many tables": lambda: "|a|b|\n|-|-|\n|1|2|\n\n" * 5_000,
    "tables in quotes": lambda: "> |a|b|\n> |-|-|\n" + "> |1|2|\n" * 5_000,
    # Lists and quotes.
    "10,000 levels of quotes": lambda: ">" * 10_000 + " deep",
    "quotes that deepen": lambda: "\n".join(">" * each + " x" for each in range(1, 1_000)),
    "deep lists": lambda: "\n".join("  " * each + "- x" for each in range(1_000)),
    "one line of list marks": lambda: "- " * 50_000,
    "long list": lambda: "".join(f"{each}. item\n" for each in range(50_000)),
    "lists in quotes": lambda: "> - item\n>   1. inner\n" * 10_000,
    # Lines and characters.
    "no spaces": lambda: "x" * 1_000_000,
    "no spaces, wide": lambda: "漢" * 300_000,
    "right to left": lambda: "שלום עולם ومرحبا " * 20_000,
    "bidi controls": lambda: "\u202e\u2066abc\u2069\u202c\u2067" * 50_000,
    "zalgo": lambda: "".join("a" + "\u0301\u0316\u0334" * 100 for _ in range(1_000)),
    "one pile of marks": lambda: "a" + "\u0301" * 300_000,
    # Marks above and below in turn must be sorted; libraries do that in quadratic time.
    "one pile of alternating marks": lambda: "a" + "\u0301\u0316" * 150_000,
    "alternating marks of Hindi": lambda: "क" + "\u093c\u094d" * 150_000,
    "alternating vowels of Hebrew": lambda: "ש" + "\u05c1\u05b0\u05bc" * 100_000,
    "letters of Hangul in parts": lambda: "\u1100\u1161\u11a8" * 100_000,
    "one endless syllable of Hangul": lambda: "\u1100" * 150_000 + "\u1161" * 150_000,
    "piles of Tibetan": lambda: ("\u0f40" + "\u0fb2\u0f71\u0f72" * 30) * 1_000,
    "one pile of Tibetan": lambda: "\u0f40" + "\u0fb2\u0f71\u0f72" * 100_000,
    "Hindi": lambda: "क्षत्रिय ज्ञानी " * 20_000,
    "nested directions": lambda: "\u2067\u2066" * 100_000 + "abc" + "\u2069" * 200_000,
    "alternating directions": lambda: "aא" * 150_000,
    "emoji families": lambda: "👩\u200d👩\u200d👧\u200d👦" * 20_000,
    "one endless family": lambda: "👩\u200d" * 100_000,
    "flags": lambda: "\U0001f1e9\U0001f1ea" * 100_000,
    "control characters": lambda: "".join(map(chr, range(32))) * 10_000,
    "object characters": lambda: "\ufffc" * 100_000,
    "line separators": lambda: "a\u2028b\u2029" * 100_000,
    "a million newlines": lambda: "\n" * 1_000_000,
    "soft breaks": lambda: "a\n" * 300_000,
    "hard breaks": lambda: "a  \n" * 100_000,
    "hyphens and zero-width spaces": lambda: "a\u200b-" * 200_000,
    # Inline marks.
    "links": lambda: "[a](https://example.org/b) " * 20_000,
    "bare links": lambda: "https://example.org/a_(b) " * 20_000,
    "one long link": lambda: "https://example.org/" + "a)" * 300_000,
    "images": lambda: "![a](https://example.org/b.png) " * 20_000,
    "footnotes": lambda: "".join(f"a[^{n}]\n\n[^{n}]: note\n\n" for n in range(10_000)),
    "definitions": lambda: "".join(f"[{n}]: https://example.org/{n}\n" for n in range(30_000)),
    "entities": lambda: "&amp;&#x1F600;&nbsp;" * 50_000,
    "emphasis": lambda: "*a* **b** ~~c~~ " * 30_000,
    "asterisks": lambda: "*" * 1_000_000,
    "open asterisks": lambda: "*a **b " * 150_000,
    "closing asterisks": lambda: "a* " * 300_000,
    "asterisks and underscores": lambda: "*_a" * 300_000,
    "brackets": lambda: "[" * 1_000_000,
    "pairs of brackets": lambda: "[]" * 500_000,
    "nested brackets": lambda: "[" * 50_000 + "a" + "](b)" * 50_000,
    "open images": lambda: "![" * 500_000,
    "open links": lambda: "[a](" * 250_000,
    "open angles": lambda: "<a " * 300_000,
    "backticks": lambda: "`" * 1_000_000,
    "backticks of all lengths": lambda: "".join("a" + "`" * each for each in range(1, 1_400)),
    "backslashes": lambda: "\\" * 1_000_000,
    "tildes": lambda: "~" * 1_000_000,
    "brackets of formulas": lambda: "\\( \\[ $$ " * 100_000,
    "html": lambda: "<div><b>x</b></div>\n" * 30_000,
    # Many blocks.
    "100,000 paragraphs": lambda: _paragraphs(100_000),
    "headings": lambda: "# a\n" * 100_000,
    "underlined headings": lambda: "a\n=\n" * 100_000,
    "rules": lambda: "---\n\n" * 100_000,
    "pipes": lambda: "|" * 1_000_000,
    "lines of pipes": lambda: "a | b\n" * 100_000,
    "tabs": lambda: "\t- a\n" * 50_000,
    "thoughts": lambda: "<think>" * 100_000,
    "thought": lambda: "<think>" + _paragraphs(30_000) + "</think>" + _formulas(100),
    "ordinary prose": lambda: f"{_WORDS * 8}\n\n" * 1_400,
    "one paragraph of prose": lambda: _WORDS * 11_000,
    "every kind": lambda: "\n\n".join(
        itertools.islice(
            itertools.cycle(["$x$ " * 9, "> " * 9 + "q", "- " * 9 + "l", "```\nc\n```", "|a|\n|-|\n|b|"]), 9_000
        )
    ),
}
"""Each text by its name, made when it is needed."""
