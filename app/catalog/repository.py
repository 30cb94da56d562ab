"""A repository as the hub describes it, and the models in it: which files they need, and what is known of them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct, structs

from app.catalog import facts, gguf_facts
from app.catalog.entry import Format, RemoteFile, RemoteModel
from worker.printable import one_line
from worker.sentence import Sentence, SentenceError

REPO_NAME = re.compile(r"(?!.*(?:\.\.|--))\w[\w.-]{0,95}/\w[\w.-]{0,95}", re.ASCII)
_MLX_BITS = re.compile(r"(?:^|[-_.])(\d)[-_]?bits?(?=[-_.]|$)", re.IGNORECASE)
_PART = re.compile(r"-(\d{5})-of-(\d{5})(?=\.gguf$)", re.IGNORECASE)
_BYTES_OF = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2}
"""The bytes of a number, by its name in safetensors; all others have one byte."""
_TEXTS = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.json")
_MORE_TEXTS = re.compile(
    r"(?:special_tokens_map|added_tokens|vocab|model\.safetensors\.index|processor_config|preprocessor_config)\.json"
    r"|merges\.txt|vocab\.txt|[\w.-]+\.(?:jinja|tiktoken)|(?:tokenizer|spiece|sentencepiece[\w.]*)\.model"
    r"|additional_chat_templates/[\w.-]+\.jinja|(?:LICEN[CS]E|NOTICE)[\w.-]*|README\.md",
    re.IGNORECASE | re.ASCII,
)
_WEIGHTS = re.compile(r"model[\w.-]*\.safetensors", re.ASCII)


class _Lfs(Struct):
    sha256: str
    size: int


class _Sibling(Struct):
    rfilename: str
    size: int | None = None
    blobId: str = ""  # noqa: N815 (the hub's name)
    lfs: _Lfs | None = None


class _Gguf(Struct):
    total: int | None = None
    architecture: str = ""
    context_length: int | None = None


class _Safetensors(Struct):
    parameters: dict[str, int] = {}


class Repository(Struct):
    """A repository as the hub describes it; other fields are ignored."""

    id: str
    sha: str = ""
    downloads: int | None = None
    gated: str | bool = False
    lastModified: str = ""  # noqa: N815
    tags: list[str] = []
    gguf: _Gguf | None = None
    safetensors: _Safetensors | None = None
    siblings: list[_Sibling] = []


def with_config(model: RemoteModel, text: bytes) -> RemoteModel:
    """Add what an MLX model's config.json says."""
    try:
        found = msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return model
    architecture = facts.clean_name(found.get("model_type"))
    problem = None
    if found.get("model_file") is not None:
        problem = Sentence("This model needs its own program code, which Bough never runs. Choose another model.")
    elif not facts.is_supported(architecture):
        problem = Sentence(
            "Bough does not support models of the type {architecture}. Choose another model.",
            architecture=architecture or "?",
        )
    quantization = facts.quantization(found) or model.quantization
    return structs.replace(
        model,
        architecture=architecture,
        quantization=quantization,
        context_length=facts.context_length(found),
        shape=facts.shape_of(found),
        problem=problem,
    )


def with_head(models: Sequence[RemoteModel], head: bytes) -> Iterator[RemoteModel]:
    """Add what the beginning of one of the GGUF files of a repository says to all its models."""
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        file.write(head)
        file.flush()
        for model in models:
            try:
                found = gguf_facts.read_facts(Path(file.name), model.num_bytes or 0, model.gguf)
            except (SentenceError, OSError, ValueError):
                found = None
            if found is None:
                yield model
                continue
            problem = None
            if not gguf_facts.is_convertible(found.architecture):
                problem = Sentence(
                    "Bough can't convert GGUF models of the architecture {architecture}. Choose another model.",
                    architecture=found.architecture or "?",
                )
            yield structs.replace(
                model,
                architecture=found.architecture,
                context_length=found.context_length,
                num_parameters=model.num_parameters or found.num_parameters,
                licence=model.licence or found.licence,
                shape=found.shape,
                problem=problem,
            )


def hit_of(raw: msgspec.Raw) -> RemoteModel | None:
    """Return a hit; None if it is of no use."""
    try:
        found = msgspec.json.decode(raw, type=Repository)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not REPO_NAME.fullmatch(found.id):
        return None
    format_: Format = "gguf" if "gguf" in found.tags and "mlx" not in found.tags else "mlx"
    return _model(found, format_)


def models_in(found: Repository) -> tuple[RemoteModel, ...]:
    """Return the models in a repository, each with its files."""
    files = [file for sibling in found.siblings if (file := _file(sibling)) is not None]
    texts = [file for file in files if file.path in _TEXTS or _MORE_TEXTS.fullmatch(file.path)]
    weights = [file for file in files if _WEIGHTS.fullmatch(file.path)]
    if weights and any(file.path == "config.json" for file in texts):
        return (_model(found, "mlx", tuple(texts + weights)),)
    groups: dict[str, list[RemoteFile]] = {}
    for file in files:
        if file.path.lower().endswith(".gguf") and gguf_facts.is_chat_file(PurePosixPath(file.path).name):
            groups.setdefault(_PART.sub("", file.path), []).append(file)
    papers = tuple(file for file in texts if file.path.upper().startswith(("LICEN", "README", "NOTICE")))
    models = [
        _model(found, "gguf", (*sorted(group, key=lambda file: file.path), *papers), stem)
        for stem, group in sorted(groups.items())
        if _is_complete(group)
    ]
    return tuple(sorted(models, key=lambda model: model.num_bytes or 0))


def _is_complete(parts: Sequence[RemoteFile]) -> bool:
    """Return whether all parts of a split file are there."""
    named = [_PART.search(file.path) for file in parts]
    return all(part is None or int(part[2]) == len(parts) for part in named)


def _file(sibling: _Sibling) -> RemoteFile | None:
    """Return a file; None if its path could lead out of a folder, or its size is unknown."""
    path = PurePosixPath(sibling.rfilename)
    is_safe = (
        sibling.rfilename.isprintable()
        and "\\" not in sibling.rfilename
        and str(path) == sibling.rfilename
        and not path.is_absolute()
        and ".." not in path.parts
    )
    num_bytes = sibling.lfs.size if sibling.lfs else sibling.size
    if not is_safe or num_bytes is None or num_bytes < 0:
        return None
    sha256 = sibling.lfs.sha256 if sibling.lfs and re.fullmatch(r"[0-9a-f]{64}", sibling.lfs.sha256) else ""
    blob_id = sibling.blobId if not sibling.lfs and re.fullmatch(r"[0-9a-f]{40}", sibling.blobId) else ""
    return RemoteFile(path=sibling.rfilename, num_bytes=num_bytes, sha256=sha256, blob_id=blob_id)


def _model(found: Repository, format_: Format, files: tuple[RemoteFile, ...] = (), stem: str = "") -> RemoteModel:
    """Return a model. `stem`: the path of its GGUF file, without the number of its part."""
    tags = found.tags
    num_parameters = num_bytes = context_length = None
    quantization = architecture = ""
    bits: float | None = None
    if format_ == "gguf":
        quantization = gguf_facts.kind_in(stem) or gguf_facts.kind_in(stem.replace("/", "-"))
        if found.gguf is not None:
            num_parameters, context_length = found.gguf.total, found.gguf.context_length
            architecture = one_line(found.gguf.architecture)
    else:
        packed_bits = _packed_bits(found)
        quantization = f"{packed_bits} bits" if packed_bits else _float_name(found)
        num_parameters, num_bytes = _counts(found, packed_bits)
    if files:
        num_bytes = sum(file.num_bytes for file in files)
    if num_bytes and num_parameters:
        weights = [file.num_bytes for file in files if file.path.endswith((".gguf", ".safetensors"))]
        bits = round(8 * (sum(weights) or num_bytes) / num_parameters, 2)
    gguf = next((file.path for file in files if file.path.lower().endswith(".gguf")), "") if format_ == "gguf" else ""
    return RemoteModel(
        repo=found.id,
        gguf=gguf,
        revision=found.sha if re.fullmatch(r"[0-9a-f]{40}", found.sha) else "",
        title=one_line(PurePosixPath(stem).name.removesuffix(".gguf") or found.id.rpartition("/")[2]),
        format=format_,
        files=files,
        num_bytes=num_bytes,
        architecture=architecture,
        quantization=quantization,
        bits=bits,
        context_length=context_length,
        num_parameters=num_parameters,
        licence=next((one_line(tag.removeprefix("license:"))[:60] for tag in tags if tag.startswith("license:")), ""),
        num_downloads=found.downloads,
        updated_ms=_ms(found.lastModified),
        is_gated=bool(found.gated),
    )


def _packed_bits(found: Repository) -> int | None:
    """Return the bits of quantized weights that the name or a tag says; None if they are not quantized."""
    if found.safetensors is not None and found.safetensors.parameters and "U32" not in found.safetensors.parameters:
        return None
    named = [_MLX_BITS.search(text) for text in (found.id.rpartition("/")[2], *found.tags)]
    return next((int(bits[1]) for bits in named if bits and bits[1] in "234568"), None)


def _float_name(found: Repository) -> str:
    counts = found.safetensors.parameters if found.safetensors else {}
    name = max(counts, key=lambda name: counts[name], default="")
    return name if name in {"BF16", "F16", "F32"} else ""


def _counts(found: Repository, packed_bits: int | None) -> tuple[int | None, int | None]:
    """Return the number of parameters and the size of the weights in an MLX repository; None if unknown."""
    counts = found.safetensors.parameters if found.safetensors else dict[str, int]()
    if not counts or any(count < 0 for count in counts.values()):
        return None, None
    num_bytes = sum(count * _BYTES_OF.get(name, 1) for name, count in counts.items())
    if packed_bits is None:
        return (None if "U32" in counts else sum(counts.values())), num_bytes
    packed = counts.get("U32", 0) * 32 // packed_bits
    # Each group of 64 has a scale and a bias.
    return packed + max(0, sum(counts.values()) - counts.get("U32", 0) - packed // 32), num_bytes


def _ms(time_: str) -> int | None:
    try:
        return round(datetime.fromisoformat(time_).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        return None
