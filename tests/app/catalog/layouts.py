"""Folders of models as Bough, huggingface_hub, LM Studio, Ollama and llama.cpp lay them out."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

REVISION = "0123456789abcdef0123456789abcdef01234567"

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 4096,
    "eos_token_id": 2,
}


def write_model(folder: Path, config: Mapping[str, Any] | None = None, **files: str) -> Path:
    """Write a model folder with a few numbers as weights. `files`: further files, "_" for "." in their names."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(LLAMA if config is None else config))
    save_file({"model.embed_tokens.weight": np.ones((100, 64), np.float16)}, folder / "model.safetensors")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "{{ messages }}"}))
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def write_hub_model(cache: Path, repo: str, folder: Path, *, main: bool = True) -> Path:
    """Put a folder's files into the hub's cache: as blobs, and as links to them in a snapshot."""
    place = cache / f"models--{repo.replace('/', '--')}"
    snapshot = place / "snapshots" / REVISION
    for name in ("blobs", "refs", f"snapshots/{REVISION}"):
        (place / name).mkdir(parents=True)
    for file in sorted(folder.iterdir()):
        blob = hashlib.sha256(file.read_bytes()).hexdigest()
        file.rename(place / "blobs" / blob)
        (snapshot / file.name).symlink_to(Path("../../blobs") / blob)
    if main:
        (place / "refs" / "main").write_text(REVISION)
    return snapshot


def gguf_bytes(**values: str | int | list[str]) -> bytes:
    """Return a GGUF file with metadata and one small tensor. In names, "__" stands for "."."""
    said: dict[str, str | int | list[str]] = {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.context_length": 2048,
        "llama.embedding_length": 64,
        "llama.attention.head_count": 4,
        **{name.replace("__", "."): value for name, value in values.items()},
        "tokenizer.ggml.tokens": ["a", "b"],
    }
    entries = b"".join(_text(name) + _value(value) for name, value in said.items())
    tensor = _text("token_embd.weight") + struct.pack("<IQQIQ", 2, 32, 2, 0, 0)
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, len(said)) + entries + tensor
    return header + bytes(-len(header) % 32) + bytes(32 * 2 * 4)


def _text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: str | int | list[str]) -> bytes:
    match value:
        case str():
            return struct.pack("<I", 8) + _text(value)
        case int():
            return struct.pack("<II", 4, value)
        case list():
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))


def write_ollama_model(models: Path, name: str, tag: str, data: bytes, *, host: str = "registry.ollama.ai") -> Path:
    """Write a model as Ollama does: blobs under their hashes, and a manifest that names them. Return the weights."""
    texts = {"template": "{{ .Prompt }}", "license": "MIT License\n", "params": '{"stop": ["<|end|>"]}'}
    blobs: dict[str, bytes] = {"model": data, **{kind: text.encode() for kind, text in texts.items()}}
    config = json.dumps({"model_format": "gguf", "model_family": "llama", "model_type": "1.2B", "file_type": "Q4_K_M"})
    (models / "blobs").mkdir(parents=True, exist_ok=True)

    def layer(media_type: str, content: bytes) -> dict[str, Any]:
        digest = hashlib.sha256(content).hexdigest()
        (models / "blobs" / f"sha256-{digest}").write_bytes(content)
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    manifest: dict[str, Any] = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.docker.distribution.manifest.v2+json",
        "config": layer("application/vnd.docker.container.image.v1+json", config.encode()),
        "layers": [layer(f"application/vnd.ollama.image.{kind}", content) for kind, content in blobs.items()],
    }
    file = models / "manifests" / host / (name if "/" in name else f"library/{name}") / tag
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(manifest))
    return models / "blobs" / manifest["layers"][0]["digest"].replace(":", "-")
