"""How the tokenizers named in GGUF files split text into words, which BPE then splits further.

Each is a list of regular expressions, used one after another: every match is a word, and so is the text between two
matches. The expressions are those of the models' own tokenizers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PreTokenizer:
    """A way to split text into words."""

    patterns: tuple[str, ...]
    keeps_known_words: bool = False
    """Whether a word that is a token is not split, even if no merges lead to it."""
    begins_with_bos: bool = False
    """Whether text begins with a BOS token unless the file says otherwise."""


_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORD = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_SIGNS = r" ?[^\s\p{L}\p{N}]+"
_LINES = r"\s*[\r\n]+"
_SPACES = r"\s+(?!\S)|\s+"

_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_CAPITALIZED = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+"
_CAPITALS = rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*"

_GPT2 = rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+|{_SIGNS}|{_SPACES}"
_LLAMA3 = rf"{_ENDINGS}|{_WORD}|\p{{N}}{{1,3}}|{_SIGNS}[\r\n]*|{_LINES}|{_SPACES}"
_QWEN2 = rf"{_ENDINGS}|{_WORD}|\p{{N}}|{_SIGNS}[\r\n]*|{_LINES}|{_SPACES}"
_MARKED_WORD, _UNMARKED_SIGNS = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+", r" ?[^\s\p{L}\p{M}\p{N}]+"
_QWEN35 = rf"{_ENDINGS}|{_MARKED_WORD}|\p{{N}}|{_UNMARKED_SIGNS}[\r\n]*|{_LINES}|{_SPACES}"
_GPT4O = rf"{_CAPITALIZED}{_ENDINGS}?|{_CAPITALS}{_ENDINGS}?|\p{{N}}{{1,3}}|{_SIGNS}[\r\n/]*|{_LINES}|{_SPACES}"
_TEKKEN = rf"{_CAPITALIZED}|{_CAPITALS}|\p{{N}}|{_SIGNS}[\r\n/]*|{_LINES}|{_SPACES}"
_DEEPSEEK = (
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"""
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_LINES}|{_SPACES}"
)
_SEED = rf"{_ENDINGS}|{_WORD}|\p{{N}}| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_LINES}|{_SPACES}"
_BAILING = rf"'(?i:[sdmt]|ll|ve|re)|{_WORD}|\p{{N}}|{_SIGNS}[\r\n]*|\s*[\r\n]|{_SPACES}"

_DIGITS_FIRST = PreTokenizer((r"\p{N}", _GPT2))
_PLAIN = PreTokenizer((_GPT2,))
_BY_THREE = PreTokenizer((r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", _DEEPSEEK))

PRE_TOKENIZERS: Mapping[str, PreTokenizer] = {
    "default": PreTokenizer((r"[\p{P}$+<=>^~|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]")),
    "falcon": PreTokenizer((r"[\p{P}$+<=>^~|`]+", _GPT2, "[0-9][0-9][0-9]")),
    **dict.fromkeys(
        ("llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"),
        PreTokenizer((_LLAMA3,), keeps_known_words=True, begins_with_bos=True),
    ),
    **dict.fromkeys(("smaug-bpe", "dbrx", "chatglm-bpe"), PreTokenizer((_LLAMA3,))),
    "glm4": PreTokenizer((_LLAMA3,), keeps_known_words=True),
    **dict.fromkeys(("smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"), _DIGITS_FIRST),
    **dict.fromkeys(
        (
            "gpt-2",
            "phi-2",
            "mpt",
            "olmo",
            "jais",
            "trillion",
            "granite-docling",
            "gigachat",
            "a.x-4.0",
            "mellum",
            "exaone4",
        ),
        _PLAIN,
    ),
    **dict.fromkeys(
        ("qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "hunyuan", "solar-open", "grok-2", "kormo"),
        PreTokenizer((_QWEN2,)),
    ),
    "qwen35": PreTokenizer((_QWEN35,)),
    **dict.fromkeys(("gpt-4o", "llama4", "kanana2"), PreTokenizer((_GPT4O,))),
    "tekken": PreTokenizer((_TEKKEN,), keeps_known_words=True, begins_with_bos=True),
    **dict.fromkeys(("deepseek-v3", "hunyuan-dense", "joyai-llm"), _BY_THREE),
    "deepseek-coder": PreTokenizer((r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+", r"\p{N}")),
    "seed-coder": PreTokenizer((_SEED,)),
    **dict.fromkeys(("bailingmoe", "bailingmoe2", "llada-moe"), PreTokenizer((_BAILING,))),
}
"""Pre-tokenizers by the value of `tokenizer.ggml.pre`."""
