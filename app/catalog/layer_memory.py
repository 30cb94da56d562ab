"""The memory that a model's layers need for each token, computed from its config.json. Independent of MLX.

The rules are those of the caches in mlx-lm: plain attention keeps the keys and values of all tokens, a sliding window
those of the latest tokens, latent attention a short vector for each token, and a recurrent layer one state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias, cast

from msgspec import structs

from app.catalog.entry import LayerMemory

_Kind: TypeAlias = Literal["full", "window", "state", "both", "both_window", "none"]

_MAX_LAYERS = 4096
_MAX_NUMBER = 2**40

_KINDS: Mapping[str, _Kind] = {
    **dict.fromkeys(("sliding_attention", "chunked_attention"), "window"),
    **dict.fromkeys(("full_attention", "attention"), "full"),
    **dict.fromkeys(("linear_attention", "mamba", "conv", "conv_mixer", "recurrent"), "state"),
}
"""The kind of a layer's cache for each name in `layer_types`."""
_EVERY_NTH = {"gemma3": 6, "gemma3_text": 6, "cohere2": 4, "gpt_oss": 2, "olmo3": 4}
"""For these architectures, every n-th layer sees the whole text, the others a window. config.json may say otherwise."""
_ALL_STATES = frozenset({"mamba", "mamba2", "falcon_mamba", "rwkv7"})
_EXPANDED_LATENT = frozenset({"deepseek_v2", "minicpm3", "youtu_llm"})
"""Architectures with latent attention that nevertheless keep keys and values of each head."""
_SAME_HEADS = frozenset({"gpt2", "gpt_neox", "gptj", "phixtral", "qwen", "talkie"})
"""Architectures in which each head has keys and values of its own."""


class _Config:
    """Reads values of a configuration. Architectures have different names for the same value."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.model_type = str(values.get("model_type", ""))

    def number(self, *names: str, default: int = 0) -> int:
        """Return the first of these values that is a positive integer, else `default`."""
        return next((number for name in names if (number := _number(self.values.get(name)))), default)

    def list(self, name: str) -> list[object]:
        """Return a list, or the letters of a text as a list; empty if the value is missing."""
        value = self.values.get(name)
        return list(cast("list[object] | str", value))[:_MAX_LAYERS] if isinstance(value, list | str) else []

    def nested(self, name: str) -> _Config:
        value = self.values.get(name)
        return _Config(cast("dict[str, Any]", value) if isinstance(value, dict) else {})

    @property
    def hidden_size(self) -> int:
        return self.number("hidden_size", "n_embd", "d_model", "model_dim")

    @property
    def num_heads(self) -> int:
        return self.number("num_attention_heads", "n_head", "num_heads", "n_heads")

    @property
    def num_layers(self) -> int:
        names = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers")
        if self.model_type in {"afm7", "exaone", "longcat_flash", "longcat_flash_ngram", "phixtral"}:
            names = ("num_layers", *names)
        return min(self.number(*names), _MAX_LAYERS)

    @property
    def num_kv_heads(self) -> int:
        if self.model_type == "gpt_bigcode" and self.values.get("multi_query") is not False:
            return 1
        if self.model_type in _SAME_HEADS:
            return self.num_heads
        names = ("num_key_value_heads", "n_kv_heads", "num_kv_heads", "num_attention_groups")
        if self.model_type == "step3p5":
            names = names[::-1]
        return self.nested("attn_config").number("kv_n_heads") or self.number(*names, default=self.num_heads)

    @property
    def head_dim(self) -> int:
        default = self.hidden_size // self.num_heads if self.num_heads else 0
        return self.number("head_dim", "kv_channels", "hidden_size_per_head", default=default)

    @property
    def window(self) -> int | None:
        names = ("sliding_window", "sliding_window_size", "attention_chunk_size", "attention_window_size")
        return self.number(*names) or None


def text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the configuration of the text model, which is nested in the configuration of models with vision."""
    for name in ("text_config", "llm_config", "language_config"):
        nested = config.get(name)
        if isinstance(nested, dict):
            values = {**config, **cast("dict[str, Any]", nested)}
            # Only the whole model of Llama 4 attends to chunks.
            return {**values, "model_type": "llama4"} if config.get("model_type") == "llama4" else values
    return config


def layers_of(config: Mapping[str, Any]) -> tuple[LayerMemory, ...]:
    """Return the memory of a model's layers, equal layers together; empty if the configuration says too little."""
    counts: dict[LayerMemory, int] = {}
    for layer in _layers(_Config(text_config(config))):
        if layer.numbers_per_token or layer.fixed_numbers:
            counts[layer] = counts.get(layer, 0) + 1
    return tuple(structs.replace(layer, num_layers=count) for layer, count in counts.items())


def _layers(config: _Config) -> Iterator[LayerMemory]:
    state = LayerMemory(fixed_numbers=_state_numbers(config), can_quantize=False)
    for index, kind in enumerate(_kinds(config)):
        match kind:
            case "full":
                yield _full(config, index)
                yield _index(config, index)
            case "window":
                yield _windowed(config)
            case "state":
                yield state
            case "both":
                yield state
                yield _full(config, index)
            case "both_window":
                yield state
                yield _windowed(config)
            case "none":
                pass


def _kinds(config: _Config) -> list[_Kind]:
    """Return the kind of each layer's cache, in order."""
    count = config.num_layers
    count -= config.number("num_kv_shared_layers", "num_kv_reuse_layers")
    kinds = _kinds_by_layer(config, count)
    match config.model_type:
        case "nanbeige":
            return kinds * config.number("num_loops", default=1)
        case "longcat_flash" | "longcat_flash_ngram":
            return kinds * 2
        case "iquestloopcoder":
            return [*kinds, *_repeated(["window"], count)]
        case _:
            return kinds


def _kinds_by_layer(config: _Config, count: int) -> list[_Kind]:
    def nth(period: int, offset: int, here: _Kind, elsewhere: _Kind) -> list[_Kind]:
        return [here if index % max(period, 1) == offset else elsewhere for index in range(count)]

    model_type = config.model_type
    if model_type in _ALL_STATES:
        return _repeated(["state"], count)
    if model_type == "falcon_h1":
        return _repeated(["both"], count)
    if model_type == "baichuan_m1":
        windowed = set(config.list("sliding_window_layers"))
        return ["both_window" if index in windowed else "both" for index in range(count)]
    if model_type == "llama4":
        return nth(4, 3, "full", "window")
    if model_type == "plamo2":
        step = config.number("mamba_step", default=2)
        return nth(step, step // 2, "full", "state")
    if model_type == "nemotron-nas":
        return [_of_block(block) for block in config.list("block_configs")]
    if model_type == "nemotron_h":
        letters: dict[object, _Kind] = {"M": "state", "*": "full"}
        return [letters.get(letter, "none") for letter in config.list("hybrid_override_pattern")]
    if model_type == "deepseek_v41":
        return _repeated(["window"], count)
    if config.list("full_attn_idxs"):
        full = set(config.list("full_attn_idxs"))
        return ["full" if index in full else "state" for index in range(count)]
    if config.list("hybrid_layer_pattern"):
        return ["window" if each == 1 else "full" for each in config.list("hybrid_layer_pattern")]
    if config.number("attn_layer_period"):
        return nth(config.number("attn_layer_period"), config.number("attn_layer_offset"), "full", "state")
    if config.number("layer_group_size"):
        return nth(config.number("layer_group_size"), config.number("layer_group_size") - 1, "full", "state")
    if config.nested("linear_attn_config").list("kda_layers"):
        states = set(config.nested("linear_attn_config").list("kda_layers"))
        return ["state" if index + 1 in states else "full" for index in range(count)]
    for name in ("layer_types", "block_types", "_block_types"):
        named = config.list(name)
        if named:
            kinds: list[_Kind] = [_KINDS.get(str(each), "full") for each in named]
            if model_type == "recurrent_gemma":
                kinds = ["window" if kind == "full" else kind for kind in kinds]
            return _repeated(kinds, count)
    if config.number("full_attention_interval") or model_type in {"qwen3_next", "qwen3_5_text", "qwen3_5"}:
        interval = config.number("full_attention_interval", default=4)
        return nth(interval, interval - 1, "full", "state")
    if config.values.get("sliding_window_pattern") and isinstance(config.values["sliding_window_pattern"], str):
        return _repeated(["window" if each == "L" else "full" for each in config.list("sliding_window_pattern")], count)
    if model_type in _EVERY_NTH and config.window:
        period = config.number("sliding_window_pattern", default=_EVERY_NTH[model_type])
        return nth(period, period - 1, "full", "window")
    return _repeated(["full"], count)


def _repeated(kinds: list[_Kind], count: int) -> list[_Kind]:
    return [kinds[index % len(kinds)] for index in range(max(count, 0))]


def _of_block(block: object) -> _Kind:
    attention = cast("dict[str, Any]", block).get("attention") if isinstance(block, dict) else None
    heads = cast("dict[str, Any]", attention).get("n_heads_in_group") if isinstance(attention, dict) else None
    return "full" if _number(heads) else "none"


def _full(config: _Config, index: int) -> LayerMemory:
    return LayerMemory(numbers_per_token=_numbers(config, index))


def _numbers(config: _Config, index: int) -> int:
    """Return the count of numbers that a layer without a window keeps for each token."""
    heads, width = config.num_kv_heads, config.head_dim
    latent = config.number("kv_lora_rank")
    if latent:
        rope, plain = config.number("qk_rope_head_dim"), config.number("qk_nope_head_dim")
        if config.model_type not in _EXPANDED_LATENT:
            return latent + rope
        values = config.number("v_head_dim")
        if config.model_type == "minicpm3":
            values = config.hidden_size // max(config.num_heads, 1)
        return config.num_heads * (plain + rope + values)
    if config.model_type == "mimo_v2_flash":
        return heads * (width + config.number("v_head_dim", default=width))
    if config.model_type == "openelm":
        listed = config.list("num_kv_heads")
        return 2 * _number(listed[index] if index < len(listed) else 0) * width
    if config.model_type == "nemotron-nas":
        block = cast("dict[str, Any]", config.list("block_configs")[index])
        return 2 * (config.num_heads // _number(block["attention"]["n_heads_in_group"])) * width
    if config.model_type.startswith("gemma4"):
        width = config.number("global_head_dim", default=width)
        heads = config.number("num_global_key_value_heads", default=heads)
    return 2 * heads * width


def _index(config: _Config, index: int) -> LayerMemory:
    """Return the memory of the additional keys with which some models choose the tokens to attend to."""
    if config.number("kv_lora_rank") and config.number("index_head_dim"):
        return LayerMemory(numbers_per_token=2 * config.number("index_head_dim"))
    sparse = config.nested("sparse_attention_config")
    is_sparse = sparse.list("sparse_attention_freq")[index : index + 1]
    return LayerMemory(numbers_per_token=sparse.number("sparse_index_dim") if is_sparse == [1] else 0)


def _windowed(config: _Config) -> LayerMemory:
    numbers = 2 * config.num_kv_heads * config.head_dim
    window = config.window
    match config.model_type:
        case "mimo_v2_flash":
            keys = config.number("swa_head_dim")
            numbers = config.number("swa_num_key_value_heads") * (keys + config.number("swa_v_head_dim", default=keys))
        case "iquestloopcoder":
            window = config.number("loop_window_size") or None
        case "deepseek_v41":
            numbers = config.head_dim
        case _:
            pass
    # Chunked attention is the only one whose positions are kept as by plain attention.
    return LayerMemory(numbers_per_token=numbers, window=window, can_quantize=False)


def _state_numbers(config: _Config) -> int:
    """Return the count of numbers in a recurrent layer's state."""
    hidden = config.hidden_size
    match config.model_type:
        case "lfm2" | "lfm2_moe" | "lfm2-vl":
            return (config.number("conv_L_cache", default=3) - 1) * hidden
        case "gear":
            return 2 * hidden
        case "recurrent_gemma":
            return config.number("conv1d_width", default=4) * config.number("lru_width", default=hidden)
        case "baichuan_m1":
            return 2 * (config.number("conv_window", default=2) - 1) * config.num_kv_heads * config.head_dim
        case "rwkv7":
            return 2 * hidden + hidden * config.number("head_dim", default=64)
        case "mamba" | "falcon_mamba" | "jamba":
            inner = config.number("intermediate_size") if config.model_type != "jamba" else 0
            inner = inner or config.number("mamba_expand", "expand", default=2) * hidden
            kernel = config.number("mamba_d_conv", "conv_kernel", default=4)
            return inner * (kernel - 1 + config.number("mamba_d_state", "state_size", default=16))
        case "plamo2":
            inner = config.number("mamba_num_heads", default=64) * config.number("hidden_size_per_head", default=128)
            kernel = config.number("mamba_d_conv", default=4)
            return inner * (kernel - 1 + config.number("mamba_d_state", default=64))
        case "bailing_moe_linear" | "bailing_hybrid":
            return config.num_heads * config.head_dim**2
        case "bailing_moe_v3":
            return config.num_heads * config.head_dim * (config.head_dim + 9)
        case _:
            return _delta_numbers(config) or _mamba2_numbers(config)


def _delta_numbers(config: _Config) -> int:
    """Return the count of numbers in the state of a layer with the gated delta rule; 0 for other layers."""
    nested = config.nested("linear_attn_config")
    heads, width = nested.number("num_heads"), nested.number("head_dim")
    if heads:
        return heads * width * (width + 3 * (nested.number("short_conv_kernel_size", default=4) - 1))
    heads, keys = config.number("linear_num_key_heads"), config.number("linear_key_head_dim")
    values, width = config.number("linear_num_value_heads"), config.number("linear_value_head_dim")
    kernel = config.number("linear_conv_kernel_dim", default=4)
    return (kernel - 1) * (2 * heads * keys + values * width) + values * keys * width


def _mamba2_numbers(config: _Config) -> int:
    heads = config.number("mamba_n_heads", "mamba_num_heads", "num_heads")
    width = config.number("mamba_d_head", "mamba_head_dim", "head_dim", default=64)
    size = config.number("mamba_d_state", "ssm_state_size", "state_size", default=128)
    groups = config.number("mamba_n_groups", "n_groups", default=1)
    kernel = config.number("mamba_d_conv", "conv_kernel", default=4)
    return (kernel - 1) * (heads * width + 2 * groups * size) + heads * width * size


def _number(value: object) -> int:
    """Return the value if it is a positive integer of a plausible size; else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MAX_NUMBER else 0
