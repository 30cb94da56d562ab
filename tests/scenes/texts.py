"""Texts that are hard to show."""

from __future__ import annotations

CODE = """\
Here is a function, and a line that is far too long for the page:

```python
def longest_common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    \"\"\"Return how many items `a` and `b` share at their beginnings.\"\"\"
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b)))  # one pass, and it stops early enough

class Tree:
    def __init__(self) -> None:
        self.children: dict[str, "Tree"] = {}
```

1. First, `rewind_to(prompt)`.
2. Then read what is new:
   - in chunks,
   - with *looks* for commands **between** them.

> What the model has read once it never reads again.
"""

TABLE = """\
| model | tokens | kept | what is said of it, in a column that has much to say and so needs all the room there is |
|:------|-------:|:----:|----------|
| guide | 1,204 | 98 % | small, knows one thing |
| a model with a rather long name | 32,768 | 7 % | large, knows *many* things, a few of them `well` |

- [x] a task that is done
- [ ] one that is not

| a | b |
|---|---|
| 1 | 2 |

Below it ~~nothing~~ a footnote.[^1]

[^1]: It stands at the end.
"""

MATH = r"""
Inline: the softmax $p_i = \frac{e^{z_i / T}}{\sum_j e^{z_j / T}}$ at $T$, and $\sqrt{a^2 + b^2} \le |a| + |b|$.

$$\mathcal{L}(\theta) = -\frac{1}{N} \sum_{n=1}^{N} \log p_\theta(x_n \mid x_{<n}) + \lambda \lVert \theta \rVert_2^2$$

\[ \int_0^\infty e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2} \]

What can't be set stays as it is written: $\unknowncommand{x$.
"""

SCRIPTS = """\
עברית נכתבת מימין לשמאל, והמשפט הזה ארוך מספיק כדי להישבר לשורה שנייה בחלון הזה, אם הכול עובד כמו שצריך.

- פריט ראשון ברשימה
- פריט שני

东京是日本的首都。這一段文字沒有空格，所以必須在任何字符之間斷行，而不會超出頁面的邊緣，也不會切斷字符。

Ein Wort: Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft — naïve café.
"""

MUCH_CODE = "\n\n".join(["```python\nprint(1)\n```"] * 320 + ["Words that follow. " * 30] * 600)
"""More than is formatted, and more than is shown at once."""

THOUGHT = """\
<think>
They want a short answer. I should first look at what a fork shares, and then say it in one sentence.
</think>

A fork shares everything up to the message that it was made at.
"""

LONG_WORD = "x" * 10_000
