"""Estimates how much memory a model needs, and whether it fits. Pure functions; `machine_memory.py` finds the limit.

The parts are the weights as they are loaded, keys and values, and what a prompt's chunk needs besides. On a CPU all
numbers are float32, and the attention scores of a whole chunk are in memory at once. The constants were measured with
`python -m tests.benchmarks.memory`.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from app.catalog.entry import Fit, KvBits, LayerMemory, LocalModel, Memory, Need, RemoteModel, Shape, Verdict
from worker.memory import PLANNED_TOKENS, Needs, chosen_form
from worker.sentence import Sentence, joined

DEFAULT_CONTEXT = 8192
"""The context length in tokens for which models are judged by default."""
_CHUNK = 512
"""The number of prompt tokens that are processed at once, see `worker/decoding/chunk.py`."""
_STEP = 256
"""Arrays of keys and values grow by this many tokens."""
_STRIDE = 1024
"""States that can't be trimmed are copied every this many tokens."""
_PROCESS_BYTES = 140_000_000
"""The memory of Python, MLX and the other libraries, and of the process for chat templates."""
_TOKENIZER_FACTOR = 6
"""A tokenizer needs this many times the size of its file."""
_TOKEN_BYTES = 60
"""The size of one token's entry in a tokenizer's file."""
_WIDE = 6
"""The number of arrays with the width of the feed-forward layer that exist at once."""
_EXPERT_WIDE = 3
"""The number of arrays with the experts' results that exist at once."""
_ANSWER_TOKENS = 512
"""The expected number of tokens in each of several answers."""
_WASTE = 0.25
"""Growing arrays of keys and values are moved. On a CPU, this fraction of their size is lost between arrays."""
_GROUP = 64
"""The number of quantized keys or values that share a scale and a bias."""
_MIN_CONTEXT = 1024
_USUAL_NUMBERS_PER_TOKEN = 65_536
"""Keys and values per token in a model with 8 billion parameters, as a count of numbers."""
_USUAL_PARAMETERS = 8e9
_LEAST_BYTES = 32 << 20
_SMALLEST_BITS = 4.5
"""The fewest bits per parameter, with scales and biases, in which models are still good."""


def shape_of_model(model: LocalModel | RemoteModel) -> Shape | None:
    """Return what is known about a model's shape, or a guess from its size; None if nothing is known."""
    shape = model.shape
    if shape is not None and shape.weights_bytes and shape.layers:
        return shape
    num_bytes = model.num_bytes
    if not num_bytes:
        return shape
    bits = model.bits or 16
    count = model.num_parameters or int(num_bytes * 8 / bits)
    is_packed = num_bytes * 8 < 12 * count
    guess = Shape(
        packed_numbers=count if is_packed else 0,
        packed_bytes=num_bytes if is_packed else 0,
        float_numbers=0 if is_packed else count,
        float_bytes=0 if is_packed else num_bytes,
        layers=(LayerMemory(numbers_per_token=_guessed_numbers_per_token(count)),),
    )
    if shape is None:
        return guess
    # The configuration is known, but no weight file was read.
    return structs.replace(
        shape,
        packed_numbers=guess.packed_numbers,
        packed_bytes=guess.packed_bytes,
        float_numbers=guess.float_numbers,
        float_bytes=guess.float_bytes,
        layers=shape.layers or guess.layers,
    )


def _guessed_numbers_per_token(num_parameters: int) -> int:
    return int(_USUAL_NUMBERS_PER_TOKEN * (num_parameters / _USUAL_PARAMETERS) ** 0.6)


def need(
    shape: Shape,
    memory: Memory,
    *,
    context_length: int,
    kv_bits: KvBits = 16,
    num_answers: int = 1,
    extra_bytes: int = 0,
) -> Need:
    """Return how much memory a model needs at its peak, when the context has `context_length` tokens.

    `num_answers` answers are generated side by side at the end of the context. For `extra_bytes` see `extra_of`.
    """
    is_unpacked = memory.on_cpu and shape.packed_numbers > 0 and _is_unpacked(shape, memory)
    weights = _weights_bytes(shape, memory, is_unpacked=is_unpacked)
    kv = _kv_of_answers(shape, memory, context_length, kv_bits, num_answers)
    answering = answering_bytes(shape, memory, context_length, kv_bits, num_answers) + extra_bytes
    answering += wasted_bytes(shape, memory, context_length, kv_bits)
    reading = _reading_bytes(shape, memory, weights, is_unpacked=is_unpacked) - weights
    return Need(
        weights_bytes=weights,
        kv_bytes=kv,
        overhead_bytes=process_bytes(shape) + max(answering, reading, 0) - kv,
        context_length=context_length,
        kv_bits=kv_bits,
        num_answers=num_answers,
        is_unpacked=is_unpacked,
        is_measured=extra_bytes != 0,
    )


def process_bytes(shape: Shape) -> int:
    """Return the memory in bytes that a worker's process needs besides its arrays."""
    return _PROCESS_BYTES + _TOKENIZER_FACTOR * (shape.tokenizer_bytes or _TOKEN_BYTES * shape.vocab_size)


def extra_of(
    shape: Shape,
    memory: Memory,
    peak_bytes: int,
    *,
    num_tokens: int,
    kv_bits: KvBits = 16,
    num_answers: int = 1,
    weights_bytes: int = 0,
) -> int:
    """Return how many bytes more (or less) the arrays of a worker took than estimated.

    `peak_bytes` is the maximum during the first answer after loading; prompt and answer had `num_tokens` tokens.
    `weights_bytes` is the size that the weights had in memory; 0 means that it is estimated, too.
    """
    is_unpacked = memory.on_cpu and shape.packed_numbers > 0 and _is_unpacked(shape, memory)
    weights = weights_bytes or _weights_bytes(shape, memory, is_unpacked=is_unpacked)
    return peak_bytes - weights - answering_bytes(shape, memory, num_tokens, kv_bits, num_answers)


def _kv_of_answers(shape: Shape, memory: Memory, num_tokens: int, kv_bits: KvBits, num_answers: int) -> int:
    """Return the bytes of keys, values and states while several answers are generated.

    Answers share the prompt's keys and values in layers with plain attention and full precision. In other layers each
    has its own. The prompt cache holds another copy for the prompt.
    """
    whole = kv_bytes(shape, memory, num_tokens, kv_bits)
    if num_answers == 1:
        return whole
    shared = tuple(layer for layer in shape.layers if kv_bits == 16 and _is_plain(layer))
    sharing = structs.replace(shape, layers=shared)
    of_shared = kv_bytes(sharing, memory, num_tokens)
    of_answers = kv_bytes(sharing, memory, min(num_tokens, _ANSWER_TOKENS)) * num_answers
    return (num_answers + 1) * (whole - of_shared) + 2 * of_shared + of_answers


def _is_plain(layer: LayerMemory) -> bool:
    return layer.can_quantize and layer.window is None and not layer.fixed_numbers


def answering_bytes(shape: Shape, memory: Memory, num_tokens: int, kv_bits: KvBits, num_answers: int) -> int:
    """Return the bytes besides the weights for processing a prompt or for generating its answers, whichever is more."""
    # The arrays always have room for the next tokens.
    one = kv_bytes(shape, memory, num_tokens + _STEP, kv_bits)
    all_answers = _kv_of_answers(shape, memory, num_tokens, kv_bits, num_answers)
    return max(one + _activation_bytes(shape, memory, num_tokens), all_answers)


def wasted_bytes(shape: Shape, memory: Memory, num_tokens: int, kv_bits: KvBits = 16) -> int:
    """Return the bytes that are lost between arrays after keys and values have grown to `num_tokens` tokens."""
    return int(_WASTE * kv_bytes(shape, memory, num_tokens, kv_bits)) if memory.on_cpu else 0


def _is_unpacked(shape: Shape, memory: Memory) -> bool:
    """Return whether the worker would unpack quantized weights, by the same rule as the worker's."""
    weights = 4 * shape.num_parameters
    numbers = sum(layer.num_layers * layer.numbers_per_token for layer in shape.layers)
    return chosen_form(Needs(weights, 4 * PLANNED_TOKENS * numbers), memory.available_bytes).form == "unpacked"


def _weights_bytes(shape: Shape, memory: Memory, *, is_unpacked: bool) -> int:
    if not memory.on_cpu:
        return shape.weights_bytes
    # Scales and biases become float32, too.
    packed = 4 * shape.packed_numbers if is_unpacked else shape.packed_bytes + shape.scales_bytes
    return 4 * shape.float_numbers + packed


def _reading_bytes(shape: Shape, memory: Memory, weights: int, *, is_unpacked: bool) -> int:
    """Return the bytes in memory at the peak of loading, when one weight exists in two forms."""
    if not memory.on_cpu:
        return weights
    if not is_unpacked:
        return weights + shape.largest_float_bytes
    # MLX unpacks into an array of full size before it scales the numbers.
    last = max(shape.largest_float_bytes, 4 * shape.largest_packed_numbers)
    return max(weights + last, 2 * 4 * shape.embedding_numbers)


def kv_bytes(shape: Shape, memory: Memory, num_tokens: int, kv_bits: KvBits = 16) -> int:
    """Return the bytes of keys, values and states after `num_tokens` tokens of one sequence."""
    size = 4 if memory.on_cpu else 2
    tokens = -(-num_tokens // _STEP) * _STEP
    copies = num_tokens // _STRIDE + 1
    total = 0.0
    for layer in shape.layers:
        is_cut = layer.window is not None and num_tokens > layer.window
        held = min(tokens, layer.window + _CHUNK) if layer.window is not None else tokens
        each = size if kv_bits == 16 or not layer.can_quantize else kv_bits / 8 + 2 * size / _GROUP
        numbers = layer.numbers_per_token * held * each + layer.fixed_numbers * size
        if is_cut and layer.window is not None:
            numbers += copies * layer.numbers_per_token * layer.window * size
        numbers += copies * layer.fixed_numbers * size
        total += layer.num_layers * numbers
    return int(total)


def _activation_bytes(shape: Shape, memory: Memory, num_tokens: int) -> int:
    """Return the bytes that processing the last chunk of a prompt needs."""
    rows = min(_CHUNK, num_tokens)
    size = 4 if memory.on_cpu else 2
    experts = _EXPERT_WIDE * shape.num_experts * shape.hidden_size
    wide = rows * size * (_WIDE * shape.intermediate_size + experts)
    if not memory.on_cpu:
        return wide
    attended = max((min(num_tokens, layer.window + rows) if layer.window else num_tokens
                    for layer in shape.layers if layer.numbers_per_token), default=0)  # fmt: skip
    scores = shape.num_heads * rows * attended * size * (2 if shape.is_latent else 1)
    # Recurrent layers keep the states after all tokens of the chunk.
    states = rows * size * max((layer.fixed_numbers for layer in shape.layers), default=0)
    return wide + max(scores, states)


def fit(
    shape: Shape,
    memory: Memory,
    *,
    context_length: int = DEFAULT_CONTEXT,
    kv_bits: KvBits = 16,
    num_answers: int = 1,
    extra_bytes: int = 0,
) -> Fit:
    """Return whether a model fits into memory, with the numbers, and advice if it does not.

    `extra_bytes` is how much more (or less) than estimated the model took when it was measured, see `extra_of`.
    """
    found = need(
        shape,
        memory,
        context_length=context_length,
        kv_bits=kv_bits,
        num_answers=num_answers,
        extra_bytes=extra_bytes,
    )
    verdict = verdict_of(found.total_bytes, memory)
    sentences = [_numbers(found, memory)]
    match verdict:
        case "fits":
            pass
        case "tight":
            sentences.append(Sentence("Close other programs first, or the computer may become slow."))
        case "too_big":
            sentences.append(Sentence("It does not fit."))
    if verdict != "fits":
        sentences += _advice(shape, memory, found, extra_bytes)
    return Fit(verdict=verdict, need=found, memory=memory, sentence=joined(sentences))


def refusal(
    shape: Shape, memory: Memory, *, context_length: int, kv_bits: KvBits = 16, extra_bytes: int = 0
) -> Sentence | None:
    """Return why a model can't be loaded even if no other program takes memory; None if it can be loaded.

    `context_length` is the model's own. A model can be loaded even if only a shorter context fits.
    """
    # Closing other programs could free all of it.
    alone = structs.replace(memory, available_bytes=memory.total_bytes)
    shortest = min(context_length, _MIN_CONTEXT)
    found = fit(shape, alone, context_length=shortest, kv_bits=kv_bits, extra_bytes=extra_bytes)
    if found.verdict == "fits":
        return None
    needed = found.need
    advice = _advice(shape, alone, needed, extra_bytes)
    return joined(
        [
            Sentence(
                "This model takes {need_bytes} of memory, {weights_bytes} of it for its weights, but models can use "
                "only {total_bytes} here. It was not loaded.",
                need_bytes=needed.total_bytes,
                weights_bytes=needed.weights_bytes,
                total_bytes=memory.total_bytes,
            ),
            *advice,
        ]
    )


def refusal_now(
    shape: Shape, memory: Memory, *, context_length: int, kv_bits: KvBits = 16, extra_bytes: int = 0
) -> Sentence | None:
    """Return why a model would not fit into the memory that is free now, even with a short context.

    None means that it would fit.
    """
    shortest = min(context_length, _MIN_CONTEXT)
    found = need(shape, memory, context_length=shortest, kv_bits=kv_bits, extra_bytes=extra_bytes)
    if found.total_bytes <= memory.available_bytes:
        return None
    return Sentence(
        "This model takes at least {need_bytes} of memory, but only {available_bytes} are free. It was not loaded. "
        "Close other programs first, or choose a smaller model.",
        need_bytes=found.total_bytes,
        available_bytes=memory.available_bytes,
    )


def verdict_of(num_bytes: int, memory: Memory) -> Verdict:
    """Return whether this many bytes fit into memory."""
    if num_bytes <= memory.available_bytes:
        return "fits"
    return "tight" if num_bytes <= memory.total_bytes else "too_big"


def _numbers(found: Need, memory: Memory) -> Sentence:
    return Sentence(
        "It takes {need_bytes} of memory with a context of {num_tokens} tokens: {weights_bytes} for the weights, "
        "{kv_bytes} for the context, {overhead_bytes} for other data. {available_bytes} of {total_bytes} are free.",
        need_bytes=found.total_bytes,
        num_tokens=found.context_length,
        weights_bytes=found.weights_bytes,
        kv_bytes=found.kv_bytes,
        overhead_bytes=found.overhead_bytes,
        available_bytes=memory.available_bytes,
        total_bytes=memory.total_bytes,
    )


def _advice(shape: Shape, memory: Memory, found: Need, extra_bytes: int) -> Sequence[Sentence]:
    """Return advice on what would fit into the free memory, the easiest first."""
    if found.num_answers > 1:
        one = need(shape, memory, context_length=found.context_length, kv_bits=found.kv_bits, extra_bytes=extra_bytes)
        if one.total_bytes <= memory.available_bytes:
            return [Sentence("One answer at a time fits.")]
    for bits in (8, 4):
        if bits < found.kv_bits:
            small = need(shape, memory, context_length=found.context_length, kv_bits=bits, extra_bytes=extra_bytes)
            if small.total_bytes <= memory.available_bytes:
                return [
                    Sentence("It fits with a cache of {num_bits} bits (Settings → Memory and disk).", num_bits=bits)
                ]
    longest = longest_context(shape, memory, kv_bits=found.kv_bits, extra_bytes=extra_bytes)
    if longest >= _MIN_CONTEXT:
        return [Sentence("It fits with a context of {num_tokens} tokens.", num_tokens=longest)]
    return [_smaller(shape, memory)]


def _smaller(shape: Shape, memory: Memory) -> Sentence:
    count = shape.num_parameters
    bits = 8 * shape.weights_bytes / count if count else 0
    small = int(count * _SMALLEST_BITS / 8)
    if bits > _SMALLEST_BITS + 1 and small + _PROCESS_BYTES + (_PROCESS_BYTES >> 1) <= memory.available_bytes:
        return Sentence(
            "Choose a version of it with 4 bits, whose weights take about {weights_bytes}.", weights_bytes=small
        )
    # Leave a part for the context and other programs.
    most = memory.available_bytes * 3 // 4 - _PROCESS_BYTES
    if most < _LEAST_BYTES:
        return Sentence("No model would fit now.")
    return Sentence("Choose a model with weights of at most {weights_bytes}.", weights_bytes=most)


def longest_context(
    shape: Shape, memory: Memory, *, kv_bits: KvBits = 16, num_answers: int = 1, extra_bytes: int = 0
) -> int:
    """Return the longest context in tokens that fits into the free memory, a multiple of 256; 0 if none fits."""
    low, high = 0, 1 << 14
    while low < high:
        middle = (low + high + 1) // 2
        found = need(
            shape,
            memory,
            context_length=middle * _STEP,
            kv_bits=kv_bits,
            num_answers=num_answers,
            extra_bytes=extra_bytes,
        )
        if found.total_bytes <= memory.available_bytes:
            low = middle
        else:
            high = middle - 1
    return low * _STEP
