"""Checks a tokenizer.json before the worker loads it: how it changes text, and how much memory it may take.

Nearly all tokenizers consist of well-known parts, and their description shows that they are harmless. A tokenizer with
other parts is tried out in a process of its own, where it may take too long, take too much memory, or crash.
"""

from __future__ import annotations

import base64
import math
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from worker.errors import ModelInvalidError
from worker.sentence import Sentence
from worker.trial import (
    CrashedError,
    Limits,
    RaisedError,
    StoppedError,
    TooMuchMemoryError,
    TooSlowError,
    TrialError,
    TrialProcess,
)

IS_COMPLETE = "tokenizer_file_is_complete"
"""This key of tokenizer_config.json says that tokenizer.json is complete."""

_MAX_VALUES = 8_000_000
"""The limit for the number of values in the file. Tokenizers with 260,000 tokens have two million."""
_MAX_GROWTH = 8.0
"""A normalizer that may lengthen a text by more than this factor is tried out."""
_ABSURD_GROWTH = 10_000.0
_MAX_POST_PROCESSOR = 1 << 20
_MAX_CONTENT = 64
"""A rule that inserts more characters than this is tried out."""
_MAX_WORD = 1000
"""The limit for characters of a word in WordPiece, whose time grows with their cube. The usual limit is 100."""
_LONGEST_REPLACEMENT = 256
"""The limit for bytes of a replacement in a table of SentencePiece. Real tables have up to 33."""

_LIMITS = Limits(seconds=25.0, memory_bytes=1 << 30, result_bytes=1 << 10)
_MAX_TOKENS_PER_BYTE = 8
_PROBES = (
    "",
    "The quick brown fox isn't 12,345 years old. Füße, naïve café; 東京は日本の首都。 😀\n\n\tdef f(x):  return x\n",
    *(character * 40 + end for character in "ax0 \n-é東" for end in ("", "!")),
    "a" * 4000,
    " " * 4000,
    "word " * 1000,
)

_START = r"[^\r\n\p{L}\p{N}]?"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

# The regular expressions of GPT-2, Llama 3, Qwen, DeepSeek and others. All take linear time, except on white space.
_PLAIN_PARTS = (
    r"'s|'t|'re|'ve|'m|'ll|'d",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
    r"[^\r\n\p{L}\p{N}]?\p{L}+",
    r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+",
    # GPT-4o and Mistral
    _START + _UPPER + "*" + _LOWER + "+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    _START + _UPPER + "+" + _LOWER + "*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    _START + _UPPER + "*" + _LOWER + "+",
    _START + _UPPER + "+" + _LOWER + "*",
    # DeepSeek
    r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+""",
    r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+",
    r" ?[\p{P}\p{S}]+[\r\n]*",
    "[一-龥぀-ゟ゠-ヿ]+",
    r"\p{N}",
    r"\p{N}+",
    r"\p{N}{1,2}",
    r"\p{N}{1,3}",
    r" ?\p{L}+",
    r" ?\p{N}+",
    r" ?[^\s\p{L}\p{N}]+",
    r" ?[^\s\p{L}\p{N}]+[\r\n]*",
    r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
    r" ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*",
    r"\s*[\r\n]+",
    r"\s*[\r\n]",
    r"\s+(?!\S)",
    r"\s+",
    r" {2,}",
    r" ",
    r"[\r\n]",
)

_BY_LENGTH = sorted(_PLAIN_PARTS, key=len, reverse=True)


class _File(Struct, frozen=True):
    model: dict[str, msgspec.Raw] = {}
    normalizer: Any = None
    pre_tokenizer: Any = None
    post_processor: msgspec.Raw = msgspec.Raw(b"null")


def check_tokenizer(folder: Path, trials: TrialProcess) -> None:
    """Refuse a tokenizer.json that takes too much time or memory. Raises `ModelInvalidError` and `StoppedError`."""
    file = folder / "tokenizer.json"
    if not file.is_file():
        return
    data = file.read_bytes()
    if data.count(b",") + data.count(b"[") + data.count(b"{") > _MAX_VALUES:
        raise _refused(folder, Sentence("its file holds too many values"))
    try:
        found = msgspec.json.decode(data, type=_File)
    except (ValueError, RecursionError) as error:
        raise _refused(folder, Sentence("its file is damaged: {error}", error=str(error)[:200])) from error
    try:
        steps = [*_steps(found.normalizer), *_steps(found.pre_tokenizer)]
        growth = math.prod(map(_growth, steps))
        longest_word = msgspec.json.decode(found.model.get("max_input_chars_per_word", b"100"), type=int)
    except (LookupError, TypeError, ValueError, AttributeError, struct.error):
        _try(folder, file, trials)  # The file has an unusual form.
        return
    if growth > _ABSURD_GROWTH:
        raise _refused(folder, Sentence("it makes text thousands of times as long"))
    if longest_word > _MAX_WORD:
        raise _refused(folder, Sentence("it takes too long for long words"))
    if growth > _MAX_GROWTH or len(found.post_processor) > _MAX_POST_PROCESSOR:
        _try(folder, file, trials)


def _steps(described: Any) -> Iterator[dict[str, Any]]:
    """Yield the normalizers or pre-tokenizers of a sequence, and of nested sequences."""
    waiting: list[Any] = [described]
    while waiting:
        step = waiting.pop()
        if step is None:
            continue
        inner = step.get("normalizers", step.get("pretokenizers"))
        if inner is None:
            yield cast("dict[str, Any]", step)
        else:
            waiting += inner


def _growth(step: dict[str, Any]) -> float:
    """Return the factor by which a step may lengthen a text. Raises `ValueError` if it is not known."""
    match step["type"]:
        case "Prepend":
            return max(1.0, len(step["prepend"]) / _MAX_CONTENT)
        case "Replace":
            return _growth_of_replacing(step["pattern"], step["content"])
        case "Precompiled":
            return _growth_of_table(step["precompiled_charsmap"])
        case "Split":
            _check_pattern(step["pattern"])
            return 1.0
        case "Metaspace":
            _check_short(step["replacement"])
            return 1.0
        case (
            "NFC"
            | "NFD"
            | "NFKC"
            | "NFKD"
            | "Nmt"
            | "Lowercase"
            | "Strip"
            | "StripAccents"
            | "BertNormalizer"
            | "ByteLevel"
            | "BertPreTokenizer"
            | "Whitespace"
            | "WhitespaceSplit"
            | "Punctuation"
            | "Digits"
            | "UnicodeScripts"
            | "CharDelimiterSplit"
        ):
            return 1.0
        case other:
            raise ValueError(other)


def _growth_of_replacing(pattern: dict[str, str], content: str) -> float:
    if "String" in pattern:
        # An empty pattern matches before each character.
        return max(1.0, len(content) / len(pattern["String"])) if pattern["String"] else 1.0 + len(content)
    _check_pattern(pattern)
    return max(1.0, float(len(content)))


def _growth_of_table(table: str) -> float:
    data = base64.b64decode(table, validate=True)
    (length,) = struct.unpack_from("<I", data)
    longest = max(map(len, data[4 + length :].split(b"\0")), default=0)
    return 1.0 if longest <= _LONGEST_REPLACEMENT else float("inf")


def _check_short(content: str) -> None:
    if len(content) > _MAX_CONTENT:
        raise ValueError(len(content))


def _check_pattern(pattern: dict[str, str]) -> None:
    """Raise `ValueError` unless a pattern is plain text or made of well-known regular expressions joined with `|`."""
    rest = pattern["String"] if "String" in pattern else pattern["Regex"]
    if "String" in pattern:
        if not rest:
            raise ValueError(rest)
        return
    while rest:
        part = next((each for each in _BY_LENGTH if rest == each or rest.startswith(each + "|")), None)
        if part is None:
            raise ValueError(rest)
        rest = rest[len(part) + 1 :]


def _try(folder: Path, file: Path, trials: TrialProcess) -> None:
    """Load the tokenizer in a process of its own, and encode some texts with it. Raises `ModelInvalidError`."""
    try:
        num_tokens = trials.run(_LIMITS, try_tokenizer, str(file))
    except TooSlowError as error:
        raise _refused(folder, Sentence("it takes too long for short texts")) from error
    except (TooMuchMemoryError, CrashedError) as error:
        raise _refused(folder, Sentence("it takes too much memory, or crashes, on short texts")) from error
    except RaisedError as error:
        raise _refused(folder, Sentence("it fails on short texts: {error}", error=str(error)[:200])) from error
    except StoppedError:
        raise
    except TrialError:
        return  # The process could not be started. Loading the model will probably fail, too, and say why.
    finally:
        trials.close()  # It may hold much memory.
    if num_tokens > _MAX_TOKENS_PER_BYTE:
        raise _refused(folder, Sentence("it turns short texts into far too many tokens"))


def try_tokenizer(file: str) -> float:
    """Load a tokenizer and encode some texts. Return the largest number of tokens for each byte of a text."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(file)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return max(len(tokenizer.encode(probe).ids) / (len(probe.encode()) + 64) for probe in _PROBES)


def _refused(folder: Path, reason: Sentence) -> ModelInvalidError:
    return ModelInvalidError(
        Sentence(
            "The tokenizer in {path} can't be loaded: {reason}. Download the model again, or choose another one.",
            path=folder,
            reason=reason,
        )
    )
