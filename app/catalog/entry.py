"""A model on this machine or on the hub, as the Models window, the shell and the downloads see it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import Struct

from worker.sentence import Sentence

Source: TypeAlias = Literal["bough", "hub", "lm_studio", "ollama", "llama_cpp", "mlx", "added"]
"""The owner of a model's folder: Bough, the Hugging Face cache, another program, or the user, who added it."""
Format: TypeAlias = Literal["mlx", "gguf"]
"""`mlx`: a folder with config.json and safetensors, which can be loaded. `gguf`: a file that is converted first."""
Verdict: TypeAlias = Literal["fits", "tight", "too_big"]
"""`tight`: it fits, but other programs or the system may need the memory."""
KvBits: TypeAlias = Literal[4, 8, 16]
"""The precision of keys and values. 16 means the one that the model computes with."""


class LayerMemory(Struct, frozen=True, kw_only=True):
    """The memory that layers of one kind take for each sequence, counted in numbers, not bytes."""

    num_layers: int = 1
    numbers_per_token: int = 0
    """Keys and values of one token in one layer."""
    window: int | None = None
    """The most tokens that a layer keeps; None means all."""
    fixed_numbers: int = 0
    """The state of a recurrent or convolutional layer, whatever the length."""
    can_quantize: bool = True
    """Whether its keys and values can be kept in 8 or 4 bits."""


class Shape(Struct, frozen=True, kw_only=True):
    """The facts of a model that decide how much memory it takes."""

    packed_numbers: int = 0
    """Parameters in quantized form."""
    packed_bytes: int = 0
    """Their size, with scales and biases."""
    scales_bytes: int = 0
    """The size of the scales and biases alone; 0 if unknown."""
    float_numbers: int = 0
    """Parameters as plain floats."""
    float_bytes: int = 0
    largest_float_bytes: int = 0
    """The size on disk of the largest float weight that is no embedding. Both forms exist while it is converted."""
    largest_packed_numbers: int = 0
    """The parameters of the largest quantized weight that is no embedding."""
    embedding_numbers: int = 0
    """The parameters of the largest quantized embedding."""
    layers: tuple[LayerMemory, ...] = ()
    """Empty if unknown."""
    tokenizer_bytes: int = 0
    """The size of tokenizer.json; 0 if unknown."""
    vocab_size: int = 0
    """0 if unknown."""
    hidden_size: int = 0
    intermediate_size: int = 0
    """The widest layer that each token passes; of a mixture of experts, that of the experts in use together."""
    num_experts: int = 0
    """The experts that each token passes in a layer; 0 without experts."""
    is_latent: bool = False
    """Whether keys and values are computed from a short vector."""
    num_heads: int = 0

    @property
    def num_parameters(self) -> int:
        return self.packed_numbers + self.float_numbers

    @property
    def weights_bytes(self) -> int:
        """The size on disk."""
        return self.packed_bytes + self.float_bytes


class LocalModel(Struct, frozen=True, kw_only=True):
    """A model on this machine."""

    name: str
    """The name that `load_model` takes and conversations remember; the path of a GGUF file."""
    title: str
    """Its name for people, one printable line."""
    path: Path
    """The model's folder, or its first GGUF file."""
    source: Source
    format: Format
    num_bytes: int
    """The size of all its files."""
    files: tuple[Path, ...] = ()
    """The files of a GGUF model: more than one if it is split. Empty for a folder."""
    repo: str = ""
    """The repository on the hub that it came from, as "owner/name"; empty if unknown."""
    architecture: str = ""
    """`model_type` of config.json, or `general.architecture` of a GGUF file; empty if unknown."""
    quantization: str = ""
    """For people: "4 bits", "Q4_K_M", "BF16"; empty if unknown."""
    bits: float | None = None
    """Bits of each parameter, on average; None if unknown."""
    context_length: int | None = None
    """In tokens; None if unknown."""
    num_parameters: int | None = None
    licence: str = ""
    """The licence that the model's page names, such as "apache-2.0"; empty if unknown."""
    has_template: bool = True
    """Whether it has a chat template."""
    has_end_token: bool = True
    """Whether its files name the token that ends an answer."""
    modified_ms: int = 0
    """The time of its newest file."""
    shape: Shape | None = None
    """None if unknown."""
    problem: Sentence | None = None
    """Why it can't be used; None if nothing is known against it."""

    @property
    def can_be_removed(self) -> bool:
        """Whether Bough may delete it. Other programs' models stay."""
        return self.source in {"bough", "hub"}


class RemoteFile(Struct, frozen=True, kw_only=True):
    """A file of a repository on the hub."""

    path: str
    """Its path in the repository, with "/"."""
    num_bytes: int
    sha256: str = ""
    """The SHA-256 of its content; empty if the hub names none, as for small files."""
    blob_id: str = ""
    """Git's hash of a small file; empty if unknown."""


class RemoteModel(Struct, frozen=True, kw_only=True):
    """A model on the hub that can be fetched: a repository, or one GGUF model of a repository."""

    repo: str
    """As "owner/name"."""
    gguf: str = ""
    """The path of the (first) GGUF file in the repository; empty for a repository in MLX format."""
    revision: str = ""
    """The commit; empty if unknown."""
    title: str = ""
    format: Format = "mlx"
    files: tuple[RemoteFile, ...] = ()
    """Only those that Bough needs. Empty in a list of hits, which names no files."""
    num_bytes: int | None = None
    """The bytes to fetch; None if unknown."""
    architecture: str = ""
    quantization: str = ""
    bits: float | None = None
    context_length: int | None = None
    num_parameters: int | None = None
    licence: str = ""
    num_downloads: int | None = None
    """In the last 30 days."""
    updated_ms: int | None = None
    is_gated: bool = False
    """Whether its owner must allow the download."""
    shape: Shape | None = None
    note: str = ""
    """A line about its use, from Bough's list of good models; empty for others."""
    problem: Sentence | None = None
    """Why it can't be used; None if nothing is known against it."""

    @property
    def key(self) -> str:
        """Its name among all models on the hub, as `bough models fetch` takes it: "owner/name" or "…:file"."""
        return f"{self.repo}:{self.gguf}" if self.gguf else self.repo


class LocalGguf(Struct, frozen=True, kw_only=True):
    """A GGUF model on this machine that becomes a model folder."""

    path: Path
    """Its (first) file."""
    title: str
    num_bytes: int
    """The size of all its files."""

    @property
    def key(self) -> str:
        """Its name among all that is fetched and converted."""
        return f"file:{self.path}"


class Memory(Struct, frozen=True, kw_only=True):
    """The memory that models can use."""

    total_bytes: int
    """The limit for one process: of the computer, a container, the GPU, or what macOS lets the GPU keep."""
    available_bytes: int
    """The part of it that other programs leave free."""
    kind: Literal["ram", "unified", "gpu"] = "ram"
    on_cpu: bool = True
    """Whether models run on the CPU, where all numbers are computed as float32."""


class Need(Struct, frozen=True, kw_only=True):
    """The memory that a model takes, in bytes."""

    weights_bytes: int
    kv_bytes: int
    """Keys and values at the context length of `context_length` tokens, of all answers."""
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
    """Some answers to one prompt."""

    num_tokens: int
    """The prompt and one answer."""
    num_kept: int = 0
    """The tokens of the prompt whose keys and values are in memory already."""
    num_answers: int = 1


class Shortage(Struct, frozen=True, kw_only=True):
    """The memory for an answer is not free."""

    sentence: Sentence
    """The numbers, and what would fit instead."""
    is_too_large: bool
    """Whether it can't fit on this machine, whatever other programs take."""
