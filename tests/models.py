"""Models whose output a test dictates, and tokenizers that the tests make; real folders that mlx-lm loads."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
EOS = "<|im_end|>"

CORPUS = [
    "The quick brown fox jumps over the lazy dog. A branch of the tree grows into the sky.",
    "def return_value(x):\n    return x\n\n    returns = [return_value(i) for i in range(10)]\n",
    "User: Hello there. Assistant: Hello, how can I help? -----\nEND STOP ###",
    "Füße über Straßen, naïve café, déjà vu; 東京は日本の首都です。こんにちは世界。 😀 👩‍👩‍👧 emoji",
]


def byte_level_tokenizer(vocab_size: int = 600) -> Tokenizer:
    """A byte-level BPE with ChatML's control tokens, trained on a few lines."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|im_start|>", EOS, "<|endoftext|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS * 4, trainer)
    return tokenizer


def sentencepiece_tokenizer() -> Tokenizer:
    """A BPE with SentencePiece's conventions, as in Llama 2: ▁ for a space, one prepended, bytes as <0xNN>."""
    pieces = ["<unk>", "<s>", EOS, *(f"<0x{byte:02X}>" for byte in range(256))]
    # Text beyond Latin has no piece of its own and is spelled in bytes.
    characters = ["▁", *sorted({character for line in CORPUS for character in line if ord(character) < 0x250} - {" "})]
    merges: list[tuple[str, str]] = []
    words = [
        "▁the",
        "▁return",
        "▁returns",
        "▁Hello",
        "Hello",
        "▁fox",
        "▁▁",
        "▁▁▁▁",
        "END",
        "▁END",
        "ab",
        "bc",
    ]
    known = [*pieces, *characters]
    for word in words:
        for end in range(2, len(word) + 1):
            if word[: end - 1] in known and word[end - 1] in known and word[:end] not in known:
                merges.append((word[: end - 1], word[end - 1]))
                known.append(word[:end])
    tokenizer = Tokenizer(
        models.BPE(
            vocab={piece: index for index, piece in enumerate(known)},
            merges=merges,
            unk_token="<unk>",
            fuse_unk=True,
            byte_fallback=True,
        )
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(text, special=True) for text in ("<unk>", "<s>", EOS, "<|im_start|>")])
    return tokenizer


def write_tokenizer(folder: Path, tokenizer: Tokenizer, chat_template: str | None = CHATML) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    config: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": EOS,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 4096,
    }
    if chat_template is not None:
        config["chat_template"] = chat_template
    (folder / "tokenizer_config.json").write_text(json.dumps(config))


def write_scripted_model(
    folder: Path,
    tokenizer: Tokenizer,
    successor: Mapping[int, int],
    *,
    context_length: int = 4096,
    chat_template: str | None = CHATML,
    num_padding: int = 0,
) -> Path:
    """Write a llama whose likeliest next token is `successor` of the last one (by default the end of the answer).

    Embeddings are unit vectors, attention and MLP add nothing, and the output head maps each token to the next.
    `num_padding` is the number of logits beyond the tokenizer's vocabulary, which many models have.
    """
    size = tokenizer.get_vocab_size(with_added_tokens=True) + num_padding
    eos = tokenizer.token_to_id(EOS)
    head = np.zeros((size, size), dtype=np.float32)
    for token_id in range(size):
        head[successor.get(token_id, eos), token_id] = 1.0
    wide, tall = np.zeros((8, size), dtype=np.float32), np.zeros((size, 8), dtype=np.float32)
    layer = "model.layers.0"
    weights = {
        "model.embed_tokens.weight": np.eye(size, dtype=np.float32),
        "model.norm.weight": np.ones(size, dtype=np.float32),
        "lm_head.weight": head,
        f"{layer}.input_layernorm.weight": np.ones(size, dtype=np.float32),
        f"{layer}.post_attention_layernorm.weight": np.ones(size, dtype=np.float32),
        **{f"{layer}.self_attn.{name}_proj.weight": wide for name in ("q", "k", "v")},
        f"{layer}.self_attn.o_proj.weight": tall,
        f"{layer}.mlp.gate_proj.weight": wide,
        f"{layer}.mlp.up_proj.weight": wide,
        f"{layer}.mlp.down_proj.weight": tall,
    }
    write_tokenizer(folder, tokenizer, chat_template)
    save_file(weights, folder / "model.safetensors", metadata={"format": "mlx"})
    config = llama_config(size, hidden_size=size, layers=1, head_dim=8, heads=1, intermediate_size=8)
    config |= {"max_position_embeddings": context_length, "eos_token_id": eos, "tie_word_embeddings": False}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def chain(token_ids: Sequence[int]) -> dict[int, int]:
    """Return successors that spell these distinct tokens one after another, beginning after the first one."""
    if len(set(token_ids[:-1])) != len(token_ids) - 1:
        raise ValueError("A chain's tokens must be distinct")
    return dict(itertools.pairwise(token_ids))


def llama_config(
    vocab_size: int, *, hidden_size: int, layers: int, head_dim: int, heads: int, intermediate_size: int
) -> dict[str, Any]:
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": hidden_size,
        "num_hidden_layers": layers,
        "intermediate_size": intermediate_size,
        "num_attention_heads": heads,
        "num_key_value_heads": heads,
        "head_dim": head_dim,
        "rms_norm_eps": 1e-5,
        "vocab_size": vocab_size,
        "rope_theta": 10000.0,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": True,
    }


def write_random_llama(
    folder: Path, tokenizer: Tokenizer, *, layers: int = 2, hidden_size: int = 64, seed: int = 0
) -> Path:
    """Write a small llama with random weights that are sharp enough to avoid ties in the argmax."""
    size = tokenizer.get_vocab_size(with_added_tokens=True)
    random = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return random.normal(0, 2.0 / np.sqrt(shape[-1]), shape).astype(np.float32)

    heads, head_dim, inner = 4, hidden_size // 4, hidden_size * 2
    weights: dict[str, np.ndarray] = {
        "model.embed_tokens.weight": random.normal(0, 1, (size, hidden_size)).astype(np.float32),
        "model.norm.weight": np.ones(hidden_size, dtype=np.float32),
    }
    for index in range(layers):
        layer = f"model.layers.{index}"
        for name in ("q", "k", "v", "o"):
            weights[f"{layer}.self_attn.{name}_proj.weight"] = normal(hidden_size, hidden_size)
        weights[f"{layer}.mlp.gate_proj.weight"] = normal(inner, hidden_size)
        weights[f"{layer}.mlp.up_proj.weight"] = normal(inner, hidden_size)
        weights[f"{layer}.mlp.down_proj.weight"] = normal(hidden_size, inner)
        for name in ("input", "post_attention"):
            weights[f"{layer}.{name}_layernorm.weight"] = np.ones(hidden_size, dtype=np.float32)
    write_tokenizer(folder, tokenizer)
    save_file(weights, folder / "model.safetensors", metadata={"format": "mlx"})
    config = llama_config(
        size, hidden_size=hidden_size, layers=layers, head_dim=head_dim, heads=heads, intermediate_size=inner
    )
    config["eos_token_id"] = tokenizer.token_to_id(EOS)
    (folder / "config.json").write_text(json.dumps(config))
    return folder
