"""Reads facts from the beginning of a GGUF file's header, without reading its tokens and tensors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from app.catalog.entry import Shape
from app.catalog.facts import clean_name, shape_of
from worker.gguf.gguf_file import Metadata, read_head

_FILE_TYPES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4",
}
"""llama.cpp's names for mixtures of quantizations, by `general.file_type`."""
_BITS = {
    "F32": 32.0,
    "F16": 16.0,
    "BF16": 16.0,
    "Q8_0": 8.5,
    "Q6_K": 6.6,
    "Q5_K_M": 5.7,
    "Q5_K_S": 5.6,
    "Q5_0": 5.6,
    "Q5_1": 6.0,
    "Q4_K_M": 4.9,
    "Q4_K_S": 4.7,
    "Q4_0": 4.7,
    "Q4_1": 5.1,
    "IQ4_XS": 4.5,
    "IQ4_NL": 4.7,
    "Q3_K_L": 4.3,
    "Q3_K_M": 4.0,
    "Q3_K_S": 3.7,
    "Q2_K": 3.2,
    "Q2_K_S": 3.0,
    "MXFP4": 4.4,
}
"""The average bits per parameter in files of these types."""
_USUAL_BITS = 4.5
_KIND = re.compile(
    r"(?:^|[-_.])(I?Q\d_(?:K(?:_[A-Z]{1,2})?|\d|X{1,2}S|[SM]|NL)|BF16|F16|F32|FP16|FP32|MXFP4|TQ\d_0)(?=[-_.]|$)",
    re.IGNORECASE,
)
_SIZE = re.compile(r"(?:(\d+)x)?(\d+(?:\.\d+)?)([KMBT])", re.IGNORECASE)
_SCALES = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_FOREIGN = frozenset({"clip", "whisper", "bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "jina-bert-v3"}) | {
    *("modern-bert", "neo-bert", "eurobert", "t5", "t5encoder", "gemma-embedding", "wavtokenizer-dec", "flux", "sd1"),
    *("sdxl", "sd3", "ltxv", "wan", "hyvid", "aura", "cosmos", "lumina2", "qwen_image"),
}
"""Architectures that do not generate text: they read images or sound, embed text, or draw."""
_FOREIGN_NAME = re.compile(r"(?:^|[-_.])(?:mmproj|imatrix|vocab|lora|adapter|control-vector)(?=[-_.])", re.IGNORECASE)


class GgufFacts(NamedTuple):
    """The facts in a GGUF file. Empty texts, None and 0 mean that the file does not state a fact."""

    title: str
    architecture: str
    quantization: str
    bits: float | None
    context_length: int | None
    num_parameters: int | None
    licence: str
    repo: str
    shape: Shape | None


def is_chat_file(name: str) -> bool:
    """Return whether a GGUF file of this name could be a chat model."""
    return not _FOREIGN_NAME.search(name)


def kind_in(name: str) -> str:
    """Return the quantization that a file's name mentions; empty if it mentions none."""
    found = _KIND.search(name)
    return {"FP16": "F16", "FP32": "F32"}.get(found[1].upper(), found[1].upper()) if found else ""


def read_facts(path: Path, num_bytes: int, name: str = "") -> GgufFacts | None:
    """Read the facts in a file; None if it is not a chat model. Raises a `SentenceError` if it can't be read.

    `num_bytes` is the size of all parts. `name` is the file's name if its path is a hash.
    """
    metadata = read_head(path)
    architecture = clean_name(metadata.text("general.architecture"))
    if architecture in _FOREIGN or metadata.text("general.type") not in (None, "model"):
        return None
    kind = _FILE_TYPES.get(metadata.integer("general.file_type") or 0, "") if "general.file_type" in metadata else ""
    kind = kind_in(name or path.name) or kind
    bits = _BITS.get(kind)
    config = _config(metadata, architecture)
    count = _size(metadata.text("general.size_label") or "") or int(num_bytes * 8 / (bits or _USUAL_BITS))
    is_float = kind in {"F32", "F16", "BF16"}
    return GgufFacts(
        title=clean_name(metadata.text("general.name")),
        architecture=architecture,
        quantization=kind,
        bits=bits or (num_bytes * 8 / count if count else None),
        context_length=config.get("max_position_embeddings"),
        num_parameters=count or None,
        licence=clean_name(metadata.text("general.license")),
        repo=_repo(metadata),
        shape=structs.replace(
            shape_of(config),
            packed_numbers=0 if is_float else count,
            packed_bytes=0 if is_float else num_bytes,
            float_numbers=count if is_float else 0,
            float_bytes=num_bytes if is_float else 0,
        ),
    )


def _config(metadata: Metadata, architecture: str) -> Mapping[str, Any]:
    """Return the values on which the memory depends, under the names that a config.json has for them."""

    def value(name: str) -> int | None:
        found = metadata.values.get(f"{architecture}.{name}")
        return found if isinstance(found, int) and not isinstance(found, bool) and 0 < found < 2**31 else None

    config = {
        "model_type": {"gemma3": "gemma3_text", "gpt-oss": "gpt_oss"}.get(architecture, architecture),
        "num_hidden_layers": value("block_count"),
        "hidden_size": value("embedding_length"),
        "intermediate_size": value("feed_forward_length"),
        "moe_intermediate_size": value("expert_feed_forward_length"),
        "num_experts_per_tok": value("expert_used_count"),
        "num_attention_heads": value("attention.head_count"),
        "num_key_value_heads": value("attention.head_count_kv"),
        "head_dim": value("attention.key_length"),
        "kv_lora_rank": value("attention.kv_lora_rank"),
        "qk_rope_head_dim": value("rope.dimension_count") if value("attention.kv_lora_rank") else None,
        "sliding_window": value("attention.sliding_window"),
        "vocab_size": value("vocab_size"),
        "max_position_embeddings": value("context_length"),
    }
    return {key: value for key, value in config.items() if value is not None}


def _size(label: str) -> int:
    """Return the number of parameters in a label such as "8x7B" or "135M"; 0 if the label has none."""
    found = _SIZE.fullmatch(label)
    return int(int(found[1] or 1) * float(found[2]) * _SCALES[found[3].upper()]) if found else 0


def _repo(metadata: Metadata) -> str:
    url = metadata.text("general.repo_url") or metadata.text("general.source.huggingface.repository") or ""
    found = re.search(r"(?:^|huggingface\.co/)([\w.-]+/[\w.-]+)/?$", url)
    return found[1] if found else ""


def is_convertible(architecture: str) -> bool:
    """Return whether Bough can convert GGUF files of an architecture."""
    from worker.gguf.architectures import ARCHITECTURES

    return architecture in ARCHITECTURES
