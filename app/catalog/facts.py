"""Reads facts from a model's files: architecture, quantization, context, licence, template. Only headers are read."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

from app.catalog.entry import Shape
from app.catalog.layer_memory import layers_of, text_config
from worker.models.weight_file import EMBEDDING, WeightFile
from worker.printable import one_line
from worker.regular_file import read_regular

_MAX_BYTES = 16 << 20
_MAX_README_BYTES = 16 << 10
_MAX_NAME = 200
_MAX_NUMBER = 2**40

_DTYPES = {"F32": "F32", "F16": "F16", "BF16": "BF16", "F8_E4M3": "FP8", "F8_E5M2": "FP8"}
_WRITES = re.compile(r"(?:ForCausalLM|LMHeadModel|ForConditionalGeneration|ForImageTextToText|CausalLM|LMModel)\w*$")
"""Matches the names of classes that generate text. Other classes classify or embed text, or read images."""
_EMBEDS = ("modules.json", "config_sentence_transformers.json", "sentence_bert_config.json")
_REMAPPING = re.compile(r"^MODEL_REMAPPING = \{(.*?)^\}", re.MULTILINE | re.DOTALL)


_MAX_TEMPLATE_BYTES = 2 << 20


class _TokenizerConfig(Struct):
    chat_template: msgspec.Raw = msgspec.Raw(b"null")
    eos_token: msgspec.Raw = msgspec.Raw(b"null")


def json_object(file: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty if the file has none or can't be read."""
    try:
        found: object = msgspec.json.decode(read_regular(file, _MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def is_chat_model(config: Mapping[str, Any], files: Collection[str]) -> bool:
    """Return whether a folder with these files could be a chat model, and not an adapter or an embedding model."""
    if any(name in files for name in _EMBEDS) or "model_index.json" in files or "_class_name" in config:
        return False
    if "adapter_config.json" in files and not any(name.startswith("model") for name in files):
        return False
    if config.get("is_encoder_decoder") is True:
        return False
    classes = [name for name in _list(config.get("architectures")) if isinstance(name, str)]
    return not classes or any(_WRITES.search(name) for name in classes)


def is_supported(model_type: str) -> bool:
    """Return whether mlx-lm supports an architecture; True if that can't be found out."""
    known = _supported_types()
    return not known or model_type in known


@lru_cache(1)
def _supported_types() -> frozenset[str]:
    # The module is not imported, as that takes most of a second.
    found = importlib.util.find_spec("mlx_lm")
    for folder in [] if found is None else found.submodule_search_locations or ():
        try:
            names = {file.stem for file in (Path(folder) / "models").glob("*.py")}
            text = _REMAPPING.search((Path(folder) / "utils.py").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        others: list[str] = re.findall(r'"([^"]+)":', text[1]) if text else []
        return frozenset(names.union(others) if names else ())
    return frozenset()


def context_length(config: Mapping[str, Any]) -> int | None:
    """Return the context length in tokens; None if the configuration does not state it."""
    # The first picture imports this module, but does not need that one.
    from worker.models.folder import context_length as stated_length

    return _number(stated_length(config)) or None


def quantization(config: Mapping[str, Any], main_dtype: str = "") -> str:
    """Return the quantization as the user sees it, such as "4 bits".

    `main_dtype` is the type of most weights, by the name that weight files use.
    """
    for key in ("quantization", "quantization_config"):
        found = config.get(key)
        if not isinstance(found, dict):
            continue
        values = cast("dict[str, Any]", found)
        mode = values.get("mode", values.get("quant_method"))
        if isinstance(mode, str) and mode != "affine":
            return one_line(mode[:40]).upper()
        bits = _number(values.get("bits"))
        if bits:
            return f"{bits} bits"
    named = values if isinstance(values := config.get("torch_dtype", config.get("dtype")), str) else ""
    return _DTYPES.get(main_dtype) or {"bfloat16": "BF16", "float16": "F16", "float32": "F32"}.get(named, "")


def shape_of(config: Mapping[str, Any], weights: Sequence[WeightFile] = (), tokenizer_bytes: int = 0) -> Shape:
    """Return the facts that determine how much memory a model needs. Without weight files, only its layers are known.

    `tokenizer_bytes` is the size of tokenizer.json; 0 if unknown.
    """
    found = config.get("quantization", config.get("quantization_config"))
    settings = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    values = text_config(config)

    def number(*names: str) -> int:
        return next((each for name in names if (each := _number(values.get(name)))), 0)

    packed: dict[str, int] = {}
    for file in weights:
        for each in file.packed:
            own = settings.get(each.name)
            override = cast("dict[str, Any]", own) if isinstance(own, dict) else {}
            bits = _number(override.get("bits")) or _number(settings.get("bits")) or 4
            packed[each.name] = each.num_words * 32 // bits
    experts = number("num_experts_per_tok", "num_experts_per_token", "moe_topk", "top_k_experts", "moe_k")
    inner = number("moe_intermediate_size", "expert_ffn_hidden_size") * experts
    return Shape(
        packed_numbers=sum(packed.values()),
        packed_bytes=sum(each.num_bytes for file in weights for each in file.packed),
        scales_bytes=sum(each.scales_bytes for file in weights for each in file.packed),
        float_numbers=sum(file.float_numbers for file in weights),
        float_bytes=sum(file.float_bytes for file in weights),
        largest_float_bytes=max((file.largest_float_bytes for file in weights), default=0),
        largest_packed_numbers=max((packed[name] for name in packed if not EMBEDDING.search(name)), default=0),
        embedding_numbers=max((packed[name] for name in packed if EMBEDDING.search(name)), default=0),
        layers=layers_of(config),
        tokenizer_bytes=tokenizer_bytes,
        vocab_size=number("vocab_size", "num_vocab", "embedding_size"),
        hidden_size=number("hidden_size", "n_embd", "d_model", "model_dim"),
        intermediate_size=max(inner, number("intermediate_size", "n_inner", "ffn_hidden_size", "block_ff_dim")),
        num_experts=experts,
        is_latent=number("kv_lora_rank") > 0,
        num_heads=number("num_attention_heads", "n_head", "num_heads", "n_heads"),
    )


def licence(folder: Path, files: Collection[str]) -> str:
    """Return the licence that is named at the beginning of a folder's README.md; empty if none is."""
    name = next((name for name in ("README.md", "readme.md") if name in files), None)
    if name is None:
        return ""
    try:
        with (folder / name).open("rb") as file:
            text = file.read(_MAX_README_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
    return licence_in(text)


def converted_licence(folder: Path, files: Collection[str]) -> str:
    """Return the licence that Bough noted when it converted a GGUF file to this folder; empty if there is none."""
    return clean_name(json_object(folder / "bough.json").get("licence")) if "bough.json" in files else ""


def licence_in(readme: str) -> str:
    """Return the licence that a README names in its front matter; empty if it names none."""
    if not readme.startswith("---"):
        return ""
    matter = readme[3:].partition("\n---")[0]
    found = {
        key: value.strip().strip("'\"")
        for key, value in re.findall(r"^(license|license_name):[ \t]*(\S.*)$", matter, re.MULTILINE)
    }
    name = found.get("license", "")
    return clean_name(found.get("license_name", name) if name == "other" else name)


def has_template(folder: Path, files: Collection[str]) -> bool:
    """Return whether a model folder has a chat template."""
    if any(name in files for name in ("chat_template.jinja", "chat_template.json")):
        return True
    return bytes(_tokenizer_config(folder).chat_template) not in (b"null", b'""', b"[]")


def template_text(folder: Path) -> str:
    """Return a model's chat template, the first one if it has several; empty if none can be read."""
    try:
        return read_regular(folder / "chat_template.jinja", _MAX_TEMPLATE_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        pass
    except OSError:
        return ""
    for name in ("chat_template.json", "tokenizer_config.json"):
        found = json_object(folder / name).get("chat_template")
        if isinstance(found, list):
            found = next((entry.get("template") for entry in _list(found) if isinstance(entry, dict)), None)
        if isinstance(found, str) and found:
            return found
    return ""


def has_end_token(folder: Path, config: Mapping[str, Any]) -> bool:
    """Return whether a model folder names the token that ends an answer."""
    if any(_is_id(each.get("eos_token_id")) for each in (config, text_config(config))):
        return True
    if _is_id(json_object(folder / "generation_config.json").get("eos_token_id")):
        return True
    return bytes(_tokenizer_config(folder).eos_token) not in (b"null", b'""')


def _is_id(value: object) -> bool:
    return any(isinstance(each, int) and not isinstance(each, bool) for each in _list(value) or [value])


def _tokenizer_config(folder: Path) -> _TokenizerConfig:
    file = folder / "tokenizer_config.json"
    try:
        return msgspec.json.decode(read_regular(file, _MAX_BYTES), type=_TokenizerConfig)
    except (OSError, ValueError, RecursionError):
        return _TokenizerConfig()


def clean_name(text: object) -> str:
    """Return a name from a file as one short printable line; empty if the value is not text."""
    return " ".join(one_line(text[:_MAX_NAME]).split()) if isinstance(text, str) else ""


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _number(value: object) -> int:
    """Return the value if it is a positive integer of a plausible size; else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MAX_NUMBER else 0
