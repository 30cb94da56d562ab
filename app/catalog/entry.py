"""A model on this machine or on the hub, as the Models window, the shell commands and the downloads use it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from worker.sentence import Sentence

Source: TypeAlias = Literal["bough", "hub", "lm_studio", "ollama", "llama_cpp", "mlx", "added", ""]
"""The owner of a model's folder: Bough, the Hugging Face cache, another program, or `added` by the user.

Empty for a model without a folder, which runs on a server that the user added.
"""
Format: TypeAlias = Literal["mlx", "gguf", "none"]
"""`mlx` is a folder with config.json and safetensors, which can be loaded; `gguf` a file to be converted first.

`none`: the model has no files here, because a server runs it.
"""
Upkeep: TypeAlias = Literal["show_folder", "edit_endpoint", "remove_endpoint"]
"""The actions for the place of a model, which is its folder or the server that runs it."""
Verdict: TypeAlias = Literal["fits", "tight", "too_big"]
"""`tight` means that the model fits, but other programs or the system may need the memory."""
KvBits: TypeAlias = Literal[4, 8, 16]
"""The bits of keys and values. 16 means the precision in which the model computes."""


class LayerMemory(Struct, frozen=True, kw_only=True):
    """The memory that layers of one kind need for each sequence, as a count of numbers, not of bytes."""

    num_layers: int = 1
    numbers_per_token: int = 0
    """The count of numbers in the keys and values of one token in one layer."""
    window: int | None = None
    """The maximum number of tokens that a layer keeps; None means all tokens."""
    fixed_numbers: int = 0
    """The count of numbers in the state of a recurrent or convolutional layer, which does not grow."""
    can_quantize: bool = True
    """Whether the keys and values can be kept in 8 or 4 bits."""


class Shape(Struct, frozen=True, kw_only=True):
    """The facts of a model that determine how much memory it needs."""

    packed_numbers: int = 0
    """The number of quantized parameters."""
    packed_bytes: int = 0
    """The size of the quantized parameters with their scales and biases."""
    scales_bytes: int = 0
    """The size of the scales and biases alone; 0 if unknown."""
    float_numbers: int = 0
    """The number of parameters that are plain floats."""
    float_bytes: int = 0
    largest_float_bytes: int = 0
    """The size on disk of the largest float weight except embeddings. While it is converted, both forms exist."""
    largest_packed_numbers: int = 0
    """The number of parameters in the largest quantized weight except embeddings."""
    embedding_numbers: int = 0
    """The number of parameters in the largest quantized embedding."""
    layers: tuple[LayerMemory, ...] = ()
    """The memory of the layers, equal layers together; empty if unknown."""
    tokenizer_bytes: int = 0
    """The size of tokenizer.json; 0 if unknown."""
    vocab_size: int = 0
    """The number of tokens in the vocabulary; 0 if unknown."""
    hidden_size: int = 0
    intermediate_size: int = 0
    """The width of the feed-forward layer; in a mixture of experts, the sum over the experts that a token uses."""
    num_experts: int = 0
    """The number of experts that each token uses in a layer; 0 without experts."""
    is_latent: bool = False
    """Whether keys and values are computed from a short vector (latent attention)."""
    num_heads: int = 0

    @property
    def num_parameters(self) -> int:
        return self.packed_numbers + self.float_numbers

    @property
    def weights_bytes(self) -> int:
        """The size of all weights on disk."""
        return self.packed_bytes + self.float_bytes


class LocalModel(Struct, frozen=True, kw_only=True):
    """A model that can be asked without a download: on this machine, or of a server that the user added."""

    name: str
    """The name that `load_model` takes and conversations remember; the path of a GGUF file."""
    title: str
    """The name that the user sees: one printable line."""
    path: Path
    """The model's folder, or its first GGUF file."""
    source: Source
    format: Format
    num_bytes: int
    """The size of all its files."""
    files: tuple[Path, ...] = ()
    """The files of a GGUF model: more than one if it is split. Empty for a folder."""
    repo: str = ""
    """The repository on the hub from which the model came, as "owner/name"; empty if unknown."""
    architecture: str = ""
    """`model_type` of config.json, or `general.architecture` of a GGUF file; empty if unknown."""
    quantization: str = ""
    """The quantization as the user sees it, such as "4 bits", "Q4_K_M" or "BF16"; empty if unknown."""
    bits: float | None = None
    """Bits of each parameter, on average; None if unknown."""
    context_length: int | None = None
    """The context length in tokens; None if unknown."""
    num_parameters: int | None = None
    licence: str = ""
    """The licence that the model's page names, such as "apache-2.0"; empty if unknown."""
    has_template: bool = True
    """Whether the model has a chat template."""
    has_end_token: bool = True
    """Whether the model's files name the token that ends an answer."""
    modified_ms: int = 0
    """The modification time of the model's newest file."""
    shape: Shape | None = None
    """None if unknown."""
    problem: Sentence | None = None
    """Why the model can't be used; None if no problem is known."""
    host: str = ""
    """The host of the server that runs the model; empty for a model on this machine."""
    about: Sentence | None = None
    """A line on what the model is; None if its size says most about it."""
    upkeep: tuple[Upkeep, ...] = ("show_folder",)

    @property
    def can_be_removed(self) -> bool:
        """Whether Bough may delete the model. Bough never deletes other programs' models."""
        return self.source in {"bough", "hub"}


class RemoteFile(Struct, frozen=True, kw_only=True):
    """A file of a repository on the hub."""

    path: str
    """The file's path in the repository, with "/" as separator."""
    num_bytes: int
    sha256: str = ""
    """The SHA-256 of the content; empty if the hub does not give it, as for small files."""
    blob_id: str = ""
    """Git's hash of a small file; empty if unknown."""


class RemoteModel(Struct, frozen=True, kw_only=True):
    """A model on the hub that can be downloaded: a repository, or one GGUF model of a repository."""

    repo: str
    """The repository, as "owner/name"."""
    gguf: str = ""
    """The path of the (first) GGUF file in the repository; empty for a repository in MLX format."""
    revision: str = ""
    """The hash of the commit; empty if unknown."""
    title: str = ""
    format: Format = "mlx"
    files: tuple[RemoteFile, ...] = ()
    """The files that Bough needs; empty in a list of search hits, which has no files."""
    num_bytes: int | None = None
    """The size of the download in bytes; None if unknown."""
    architecture: str = ""
    quantization: str = ""
    bits: float | None = None
    context_length: int | None = None
    num_parameters: int | None = None
    licence: str = ""
    num_downloads: int | None = None
    """The number of downloads in the last 30 days."""
    updated_ms: int | None = None
    is_gated: bool = False
    """Whether the model's owner must allow the download."""
    shape: Shape | None = None
    note: str = ""
    """A line on what the model is good for, from Bough's list of good models; empty for other models."""
    problem: Sentence | None = None
    """Why the model can't be used; None if no problem is known."""

    @property
    def key(self) -> str:
        """The name by which `bough models fetch` finds the model on the hub: "owner/name" or "owner/name:file"."""
        return f"{self.repo}:{self.gguf}" if self.gguf else self.repo


class LocalGguf(Struct, frozen=True, kw_only=True):
    """A GGUF model on this machine that is to be converted to a model folder."""

    path: Path
    """The path of the model's (first) file."""
    title: str
    num_bytes: int
    """The size of all its files."""

    @property
    def key(self) -> str:
        """The model's key among all downloads and conversions."""
        return f"file:{self.path}"


class Memory(Struct, frozen=True, kw_only=True):
    """The memory that models can use."""

    total_bytes: int
    """The limit for one process, in bytes: of the computer, a container, the GPU, or macOS's limit for the GPU."""
    available_bytes: int
    """The part of `total_bytes` that is free."""
    kind: Literal["ram", "unified", "gpu"] = "ram"
    on_cpu: bool = True
    """Whether models run on the CPU, where all numbers are computed as float32."""


class Need(Struct, frozen=True, kw_only=True):
    """The memory that a model needs, in bytes."""

    weights_bytes: int
    kv_bytes: int
    """The keys and values of all answers when the context has `context_length` tokens."""
    overhead_bytes: int
    """The process, its libraries, the tokenizer and intermediate results."""
    context_length: int
    kv_bits: KvBits = 16
    num_answers: int = 1
    is_unpacked: bool = False
    """Whether quantized weights are unpacked to float32 when they are loaded."""
    is_measured: bool = False
    """Whether an earlier measurement on this machine corrected the estimate."""

    @property
    def total_bytes(self) -> int:
        return self.weights_bytes + self.kv_bytes + self.overhead_bytes


class Fit(Struct, frozen=True, kw_only=True):
    """Whether a model fits into memory, with the numbers."""

    verdict: Verdict
    need: Need
    memory: Memory
    sentence: Sentence
    """The verdict with its numbers, and what would fit instead."""


class Asked(Struct, frozen=True, kw_only=True):
    """A request for one or more answers to one prompt."""

    num_tokens: int
    """The tokens of the prompt and of one answer, together."""
    num_kept: int = 0
    """The number of prompt tokens whose keys and values are in memory already."""
    num_answers: int = 1


class Shortage(Struct, frozen=True, kw_only=True):
    """Says that there is not enough free memory for an answer."""

    sentence: Sentence
    """The numbers, and what would fit instead."""
    is_too_large: bool
    """Whether the answer can't fit on this machine even if no other program takes memory."""
