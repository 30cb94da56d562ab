"""A repository as the hub describes it, and the models in it, with their files and facts."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, cast

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
"""The bytes per number for each type name in safetensors. Other types have one byte."""
_TEXTS = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.json")
_MORE_TEXTS = re.compile(
    r"(?:special_tokens_map|added_tokens|vocab|model\.safetensors\.index|processor_config|preprocessor_config)\.json"
    r"|merges\.txt|vocab\.txt|[\w.-]+\.(?:jinja|tiktoken)|(?:tokenizer|spiece|sentencepiece[\w.]*)\.model"
    r"|additional_chat_templates/[\w.-]+\.jinja|(?:LICEN[CS]E|NOTICE)[\w.-]*|README\.md",
    re.IGNORECASE | re.ASCII,
)
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The errors that reading JSON from a server may raise."""
_MAX_COUNT = 1 << 44
"""The maximum of any count, so that sums of all counts in a response stay within 64 bits."""
_MAX_PATH = 500
_WEIGHTS = re.compile(r"model[\w.-]*\.safetensors", re.ASCII)


class Repository(Struct):
    """A repository as the hub describes it. Values of an unexpected type are treated as missing."""

    id: str
    sha: str = ""
    num_downloads: int | None = None
    is_gated: bool = False
    updated_ms: int | None = None
    tags: Sequence[str] = ()
    num_parameters: int | None = None
    """This and the next two come from the repository's GGUF files; None if they do not have the value."""
    architecture: str = ""
    context_length: int | None = None
    counts: Mapping[str, int] = {}
    """The number of parameters of each type in the repository's safetensors files."""
    files: Sequence[RemoteFile] = ()
    """The files, except those whose paths could lead out of a folder or whose sizes are unknown."""


def read_repository(text: bytes | msgspec.Raw) -> Repository:
    """Parse the description of a repository. Raises one of `UNREADABLE` if the text is not one."""
    found = msgspec.json.decode(text, type=dict[str, Any])
    name = found.get("id")
    if not isinstance(name, str):
        raise msgspec.ValidationError("The repository has no name.")
    gguf, counts = _object(found.get("gguf")), _object(_object(found.get("safetensors")).get("parameters"))
    numbers = {kind: _count(number) for kind, number in counts.items()}
    return Repository(
        id=name,
        sha=_text(found.get("sha")),
        num_downloads=_count(found.get("downloads")),
        is_gated=bool(found.get("gated")),
        updated_ms=_ms(_text(found.get("lastModified"))),
        tags=[_text(tag) for tag in _list(found.get("tags"))],
        num_parameters=_count(gguf.get("total")),
        architecture=facts.clean_name(gguf.get("architecture")),
        context_length=_count(gguf.get("context_length")),
        # A sum with an unknown part is unknown.
        counts={} if None in numbers.values() else {kind: number or 0 for kind, number in numbers.items()},
        files=[file for sibling in _list(found.get("siblings")) if (file := _file(_object(sibling))) is not None],
    )


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    """Return the value if it is a plausible count of bytes, parameters or the like; else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MAX_COUNT else None


def with_config(model: RemoteModel, text: bytes) -> RemoteModel:
    """Return an MLX model with the facts in its config.json."""
    try:
        found = msgspec.json.decode(text, type=dict[str, Any])
    except UNREADABLE:
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
    """Yield the GGUF models of a repository with the facts in the beginning of one of their files."""
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
    """Return the model of a search hit; None if Bough can't use it."""
    try:
        found = read_repository(raw)
    except UNREADABLE:
        return None
    if not REPO_NAME.fullmatch(found.id):
        return None
    format_: Format = "gguf" if "gguf" in found.tags and "mlx" not in found.tags else "mlx"
    return _model(found, format_)


def models_in(found: Repository) -> tuple[RemoteModel, ...]:
    """Return the models in a repository, each with its files."""
    files = found.files
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
    """Return whether no part of a split file is missing."""
    named = [_PART.search(file.path) for file in parts]
    return all(part is None or int(part[2]) == len(parts) for part in named)


def _file(sibling: Mapping[str, object]) -> RemoteFile | None:
    """Return a file; None if its path could lead out of a folder, or its size is unknown."""
    name, lfs = _text(sibling.get("rfilename")), _object(sibling.get("lfs"))
    if not 0 < len(name) <= _MAX_PATH:
        return None
    path = PurePosixPath(name)
    is_safe = (
        name.isprintable()
        and "\\" not in name
        and str(path) == name
        and not path.is_absolute()
        and ".." not in path.parts
    )
    num_bytes = _count(lfs.get("size") if lfs else sibling.get("size"))
    if not is_safe or num_bytes is None:
        return None
    sha256, blob_id = _text(lfs.get("sha256")), "" if lfs else _text(sibling.get("blobId"))
    return RemoteFile(
        path=name,
        num_bytes=num_bytes,
        sha256=sha256 if re.fullmatch(r"[0-9a-f]{64}", sha256) else "",
        blob_id=blob_id if re.fullmatch(r"[0-9a-f]{40}", blob_id) else "",
    )


def _model(found: Repository, format_: Format, files: tuple[RemoteFile, ...] = (), stem: str = "") -> RemoteModel:
    """Return a model. `stem` is the path of its GGUF file without the number of the part."""
    tags = found.tags
    num_parameters = num_bytes = context_length = None
    quantization = architecture = ""
    bits: float | None = None
    if format_ == "gguf":
        quantization = gguf_facts.kind_in(stem) or gguf_facts.kind_in(stem.replace("/", "-"))
        num_parameters, context_length = found.num_parameters, found.context_length
        architecture = found.architecture
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
        title=facts.clean_name(PurePosixPath(stem).name.removesuffix(".gguf") or found.id.rpartition("/")[2]),
        format=format_,
        files=files,
        num_bytes=num_bytes,
        architecture=architecture,
        quantization=quantization,
        bits=bits,
        context_length=context_length,
        num_parameters=num_parameters,
        licence=next((one_line(tag.removeprefix("license:")[:60]) for tag in tags if tag.startswith("license:")), ""),
        num_downloads=found.num_downloads,
        updated_ms=found.updated_ms,
        is_gated=found.is_gated,
    )


def _packed_bits(found: Repository) -> int | None:
    """Return the bits of quantized weights from the repository's name or tags; None if they are not quantized."""
    if found.counts and "U32" not in found.counts:
        return None
    named = [_MLX_BITS.search(text) for text in (found.id.rpartition("/")[2], *found.tags)]
    return next((int(bits[1]) for bits in named if bits and bits[1] in "234568"), None)


def _float_name(found: Repository) -> str:
    counts = found.counts
    name = max(counts, key=lambda name: counts[name], default="")
    return name if name in {"BF16", "F16", "F32"} else ""


def _counts(found: Repository, packed_bits: int | None) -> tuple[int | None, int | None]:
    """Return the number of parameters and the size of the weights in an MLX repository; None if unknown."""
    counts = found.counts
    if not counts:
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
