"""Texts of all kinds for comparing tokenizers, made from a seed."""

from __future__ import annotations

import random
import unicodedata
from collections.abc import Callable, Sequence

_WORDS_TEXT = (
    "the of and to in is that for it as was with be by on not he his but at are this have from or had an they which "
    "you one we all her she there would their can't I'll you're it's HE'S WE'VE don’t tokenization Understanding "
    "antidisestablishmentarianism hello World JavaScript HTTPServer snake_case camelCase kebab-case über Straße "
    "naïve café Ελληνικά ἀρχή русский язык ёлка עברית العربية हिन्दी বাংলা ไทย ภาษาไทย 中文 汉字 日本語 ひらがな "
    "カタカナ 한국어 조선말 Tiếng Việt İstanbul ǅ ŉ ß ﬁ"
)
_WORDS = _WORDS_TEXT.split()
_CODE = (
    "def f(x):\n    return x ** 2\n",
    "for (int i = 0; i < n; ++i) {\n\t\ta[i] += b[i]; // sum\n}\n",
    "SELECT * FROM t WHERE a >= 10 AND b != 'x';",
    '<div class="a">&nbsp;</div>',
    "#include <stdio.h>\r\n\r\nint main(void)\r\n{\r\n\treturn 0;\r\n}\r\n",
    '{"key": [1, 2.5e-3, null, true], "ü": "\\u00fc"}',
    "https://example.com/a/b?c=d&e=%20#f",
    '$ git log --oneline | head -n 5 && echo "$HOME"',
    "x=lambda*a,**k:(a,k)#!$%^&*()_+-=[]{}|;':\",./<>?`~",
    "\\begin{align}\\int_0^\\infty e^{-x^2}\\,dx\\end{align}",
)
_SPACES = (
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\v",
    "\f",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\u0085",
    "\u2028",
    "\u200b",
    "\ufeff",
    " \n ",
    "\t ",
    "    ",
)
_EMOJI = ("😀", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪", "❤️", "🏳️‍🌈", "①", "½", "™", "→", "…", "€", "𝔘", "🫠")
_MARKS = ("e\u0301", "a\u0308", "o\u0302\u0323", "n\u0303", "\u0301", "क्षि", "נִקּוּד", "ก็", "Z̷̢̛͖a̸l̴g̵o", "\u1100\u1161\u11a8")
_NUMBERS = (
    "0",
    "7",
    "42",
    "365",
    "1234",
    "12345",
    "1234567890",
    "3.14159",
    "1,000,000",
    "0xFF",
    "1e-9",
    "٣٤",
    "四",
    "Ⅷ",
    "²",
    "2024-11-22",
    "12:34:56",
)
_ODD = (
    "\ufffd",
    "\u0000",
    "\u0001",
    "\u001b[0m",
    "\ue000",
    "\ufffe",
    "\U0010ffff",
    "\U000e0041",
    "\u202e",
    "\u180e",
    "\x7f",
    "\u00ad",
    "▁",
    "▁▁",
    "Ġ",
    "Ċ",
    "<0x0A>",
    "<unk>",
)

_RUNS = (" ", "a", "0", "\n", "=", "-", "é", "漢", "ab", "😀", "\t", "aB", "'", "l", "\r\n", ".", "_", "한")


def texts(seed: int, count: int, controls: Sequence[str] = ()) -> list[str]:
    """Return `count` texts. `controls` are the vocabulary's tokens with a meaning of their own, written as text."""
    random_numbers = random.Random(seed)
    return [_text(random_numbers, controls) for _ in range(count)]


def _text(choice: random.Random, controls: Sequence[str]) -> str:
    kinds: list[Callable[[], str]] = [
        lambda: choice.choice(_WORDS),
        lambda: " ".join(choice.choices(_WORDS, k=choice.randint(2, 8))),
        lambda: choice.choice(_CODE),
        lambda: _part(choice, choice.choice(_CODE)),
        lambda: choice.choice(_NUMBERS),
        lambda: str(choice.getrandbits(choice.randint(1, 60))),
        lambda: choice.choice(_SPACES),
        lambda: "".join(choice.choices(_SPACES, k=choice.randint(1, 5))),
        lambda: choice.choice(_EMOJI),
        lambda: choice.choice(_MARKS),
        lambda: choice.choice(_ODD),
        lambda: "".join(_assigned(choice) for _ in range(choice.randint(1, 4))),
        lambda: "".join(chr(choice.randint(0x20, 0x7E)) for _ in range(choice.randint(1, 12))),
        lambda: "".join(chr(choice.randint(0x4E00, 0x9FA5)) for _ in range(choice.randint(1, 8))),
        lambda: (
            choice.choice((" ", "a", "0", "\n", "=", "-", "é", "漢", "ab", "😀", "\t", "aB", "'"))
            * choice.randint(2, 70)
        ),
        lambda: choice.choice(controls) if controls else choice.choice(_WORDS),
        lambda: _part(choice, choice.choice(controls)) if controls else choice.choice(_WORDS),
    ]
    return "".join(choice.choice(kinds)() + choice.choice(("", "", " ", "\n")) for _ in range(choice.randint(1, 8)))


def _part(choice: random.Random, text: str) -> str:
    begin = choice.randrange(len(text))
    return text[begin : choice.randint(begin, len(text))]


def _assigned(choice: random.Random) -> str:
    """Return a character that Unicode has had since version 3.2, so that all tables agree on it."""
    while True:
        character = chr(choice.randint(0x80, 0x2FFFF if choice.random() < 0.3 else 0xFFFF))
        if unicodedata.ucd_3_2_0.category(character) not in ("Cn", "Cs"):
            return character


def is_old(text: str) -> bool:
    """Return whether Unicode 3.2 has all characters."""
    return all(unicodedata.ucd_3_2_0.category(character) != "Cn" for character in text)
