"""Tokens that are read again when conversations are regenerated, edited and switched, against mlx-lm's prompt cache.

Both sides answer the same prompts with the same model. The peer is used as in mlx-lm's server: it takes the nearest
cache, reads the rest of the prompt and stores the whole. The ideal is to read each distinct token once, and the last
token of a known prompt.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, cast

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import KVCache, LRUPromptCache, make_prompt_cache

from tests.architectures import ARCHITECTURES, build_random_model
from tests.benchmarks.measure import Row, alone, compared, meets
from worker.cache.disk_cache import DiskCache
from worker.cache.prompt_cache import PromptCache
from worker.cache.token_tree import TokenTree

_AREA = "prompt cache"
_PEER = "mlx-lm LRUPromptCache"
_VOCAB_SIZE = 500
_CHUNK = 512
_NUM_ANSWER = 100
_MODELS = {"llama": "<= 1.0", "gemma3_text": "<= 1.05", "lfm2": "<= 1.05"}


class _Request(NamedTuple):
    prompt: list[int]
    answer: list[int]
    boundaries: list[int]
    """The positions between messages."""


def rows() -> Iterator[Row]:
    for name, goal in _MODELS.items():
        model = build_random_model(_wide(name), vocab_size=_VOCAB_SIZE)
        requests = list(_conversation())
        bough, peer = _Bough(model), _Peer(model)
        ideal = _ideal(requests)
        ours = sum(bough.answer(request) for request in requests) / ideal
        theirs = sum(peer.answer(request) for request in requests) / ideal
        yield _of_bough(f"{name}: tokens read ÷ ideal", ours, theirs, goal)
        if name == "llama":
            bytes_per_token = _bytes_per_token(model)
            distinct = _num_distinct(requests) * bytes_per_token
            yield _of_bough(
                f"{name}: bytes held ÷ bytes of the distinct tokens",
                bough.num_bytes / distinct,
                peer.num_bytes / distinct,
                "<= 1.1",
            )
    yield from _regenerated()
    yield from _fork_and_return()
    yield from _look_up()
    yield from _reopened()


def _of_bough(name: str, ours: float, theirs: float, goal: str) -> Row:
    """Return a row whose goal applies to Bough's figure instead of the ratio."""
    row = compared(_AREA, name, [ours], _PEER, [theirs])
    row["goal"], row["met"] = goal, meets(ours, goal)
    return row


# --- the conversation --------------------------------------------------------------------------------------


def _conversation() -> Iterator[_Request]:
    """A system prompt, 10 turns of 200 tokens, 5 regenerations, two edits, a return, 15 switches between 5 branches."""
    rng = Random(1)
    system = _message(rng, 1, 200)
    turns = [(_message(rng, 2, 100), _message(rng, 3, _NUM_ANSWER)) for _ in range(10)]

    def asked(turns: list[tuple[list[int], list[int]]]) -> _Request:
        prompt, boundaries = list(system), [len(system)]
        for question, answer in turns[:-1]:
            prompt += question + answer
            boundaries += [len(prompt) - len(answer), len(prompt)]
        prompt += turns[-1][0]
        return _Request(prompt, turns[-1][1], boundaries)

    for number in range(len(turns)):
        yield asked(turns[: number + 1])
    branches = [turns]
    for _ in range(5):
        other = [*turns[:-1], (turns[-1][0], _message(rng, 3, _NUM_ANSWER))]
        yield asked(other)
    for number in (2, 6):
        edited = [*turns[:number], (_message(rng, 2, 100), _message(rng, 3, _NUM_ANSWER))]
        yield asked(edited)
        branches.append(edited)
    for number in (4, 8):
        branches.append([*turns[:number], (turns[number][0], _message(rng, 3, _NUM_ANSWER))])
        yield asked(branches[-1])
    yield asked([*turns, (_message(rng, 2, 100), _message(rng, 3, _NUM_ANSWER))])
    for _ in range(15):
        branch = rng.randrange(len(branches))
        branches[branch] = [*branches[branch], (_message(rng, 2, 100), _message(rng, 3, _NUM_ANSWER))]
        yield asked(branches[branch])


def _message(rng: Random, role: int, length: int) -> list[int]:
    """Return a header for the role, as templates write it, and random text."""
    return [0, role, *(rng.randrange(10, _VOCAB_SIZE) for _ in range(length - 2))]


def _ideal(requests: list[_Request]) -> int:
    known: TokenTree[_Nothing] = TokenTree(_Nothing())
    total = 0
    for prompt, answer, _ in requests:
        total += max(len(prompt) - known.path(prompt)[1], 1)
        known.insert([*prompt, *answer[:-1]], _Nothing())
    return total


def _num_distinct(requests: list[_Request]) -> int:
    known: TokenTree[_Nothing] = TokenTree(_Nothing())
    for prompt, answer, _ in requests:
        known.insert([*prompt, *answer[:-1]], _Nothing())
    return sum(len(run.ids) for run in known.runs())


class _Nothing:
    def cut(self, num_tokens: int) -> tuple[_Nothing, _Nothing]:
        return self, self


# --- the two sides -------------------------------------------------------------------------------------------


class _Bough:
    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._cache = PromptCache(partial(make_prompt_cache, model), limit_bytes=1 << 62)

    def answer(self, request: _Request) -> int:
        cache = self._cache
        prompt = request.prompt
        boundaries = [*request.boundaries, len(prompt) - 1, len(prompt) + len(request.answer) - 1]
        done = num_kept = cache.rewind_to(prompt)
        sequence = [*prompt, *request.answer[:-1]]
        while done < len(sequence):
            end = min([done + _CHUNK, len(sequence), *(boundary for boundary in boundaries if boundary > done)])
            cache.branch.make_room(end - done)
            _read(self._model, cache.branch.layers, sequence[done:end])
            cache.branch.extend(sequence[done:end])
            if end in boundaries:
                cache.keep()
            done = end
        return len(prompt) - num_kept

    @property
    def num_bytes(self) -> int:
        return self._cache.num_bytes


class _Peer:
    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._cache = LRUPromptCache(max_size=1 << 30)

    def answer(self, request: _Request) -> int:
        layers, rest = self._cache.fetch_nearest_cache("model", request.prompt)
        layers = make_prompt_cache(self._model) if layers is None else layers
        num_read = max(len(rest), 1)
        if not rest:  # the last token's logits are needed
            rest = request.prompt[-1:]
        _read(self._model, layers, [*rest, *request.answer[:-1]])
        self._cache.insert_cache("model", [*request.prompt, *request.answer[:-1]], layers)
        return num_read

    @property
    def num_bytes(self) -> int:
        return self._cache.nbytes


def _read(model: nn.Module, layers: Any, ids: list[int]) -> None:
    mx.eval(cast("Any", model)(mx.array([ids]), cache=layers), [layer.state for layer in layers])


def _wide(name: str) -> dict[str, Any]:
    """Return a configuration with windows of 512 tokens; the conversation is much longer."""
    config = dict(ARCHITECTURES[name])
    return config | {"sliding_window": 512} if "sliding_window" in config else config


def _bytes_per_token(model: nn.Module) -> int:
    layers = make_prompt_cache(model)
    _read(model, layers, [1] * 256)
    return sum(layer.nbytes for layer in layers) // 256


# --- single tasks --------------------------------------------------------------------------------------------


def _regenerated() -> list[Row]:
    """Three chats with ten regenerations each."""
    model = build_random_model(ARCHITECTURES["llama"], vocab_size=_VOCAB_SIZE)
    rng = Random(2)
    requests: list[_Request] = []
    for _ in range(3):
        prompt = [*_message(rng, 1, 200), *_message(rng, 2, 100)]
        requests += [_Request(prompt, _message(rng, 3, _NUM_ANSWER), [200]) for _ in range(11)]
    bough, peer = _Bough(model), _Peer(model)
    ideal = _ideal(requests)
    ours = sum(bough.answer(request) for request in requests) / ideal
    theirs = sum(peer.answer(request) for request in requests) / ideal
    return [_of_bough("three chats, ten regenerations: tokens read ÷ ideal", ours, theirs, "<= 1.0")]


def _fork_and_return() -> list[Row]:
    """Leave an answer, start another and return, at 16k tokens of 8 layers, 8 heads of size 128, in 16 bits."""
    length, new = 16_384, 200

    def filled() -> list[Any]:
        layers = make_prompt_cache(_LayersOnly())
        for layer in layers:
            for _ in range(4):
                layer.update_and_fetch(*_positions(length // 4))
        mx.eval([layer.state for layer in layers])
        return layers

    made: list[list[Any]] = [filled()]
    cache = PromptCache(lambda: made.pop() if made else make_prompt_cache(_LayersOnly()), limit_bytes=1 << 62)
    prompt = [token_id % 1000 for token_id in range(length)]
    cache.branch.extend(prompt)
    answer = [1001] * new
    _append(cache, answer)
    before, begin = mx.get_active_memory(), time.perf_counter()
    cache.rewind_to([*prompt, 1002])
    _append(cache, [1002])
    cache.rewind_to([*prompt, *answer, 1])
    ours_s, ours_bytes = time.perf_counter() - begin, mx.get_active_memory() - before

    layers = filled()
    before, begin = mx.get_active_memory(), time.perf_counter()
    copied = deepcopy(layers)
    for layer in copied:
        layer.update_and_fetch(*_positions(1))
    mx.eval([layer.state for layer in copied])
    theirs_s, theirs_bytes = time.perf_counter() - begin, mx.get_active_memory() - before
    return [
        compared(_AREA, "fork and return at 16k tokens, ms", [ours_s * 1e3], "deepcopy, first write", [theirs_s * 1e3]),
        compared(
            _AREA,
            "fork and return at 16k tokens, MiB more",
            [max(ours_bytes, 1) / 2**20],
            "deepcopy, first write",
            [theirs_bytes / 2**20],
        ),
    ]


class _LayersOnly(nn.Module):
    """A model without weights that only makes layers."""

    def make_cache(self) -> list[Any]:
        return [KVCache() for _ in range(8)]


def _positions(num_tokens: int) -> tuple[mx.array, mx.array]:
    shape = (1, 8, num_tokens, 128)
    return mx.ones(shape, mx.bfloat16), mx.ones(shape, mx.bfloat16)


def _append(cache: PromptCache, ids: list[int]) -> None:
    for layer in cache.branch.layers:
        layer.update_and_fetch(*_positions(len(ids)))
    mx.eval([layer.state for layer in cache.branch.layers])
    cache.branch.extend(ids)


def _look_up() -> list[Row]:
    """Look up an edit near token 500 of a conversation of 64k tokens."""
    rng = Random(3)
    ids = [rng.randrange(_VOCAB_SIZE) for _ in range(65_536)]
    edited = [*ids[:500], _VOCAB_SIZE, *ids[501:]]
    layers = make_prompt_cache(_LayersOnly())
    for layer in layers:
        layer.keys = layer.values = mx.zeros((1, 1, 65_536, 1))
        layer.offset = 65_536
    cache = PromptCache(lambda: layers, limit_bytes=1 << 62)
    cache.branch.extend(ids)
    peer = LRUPromptCache(max_size=1 << 30)
    peer.insert_cache("model", ids, layers)

    def ours() -> float:
        begin = time.perf_counter()
        assert cache.num_kept(edited) == 500
        return (time.perf_counter() - begin) * 1e3

    def theirs() -> float:
        begin = time.perf_counter()
        peer._trie.search("model", edited)  # pyright: ignore[reportPrivateUsage]
        return (time.perf_counter() - begin) * 1e3

    first = ours()  # adds the conversation to the tree, once
    mine, others = [ours() for _ in range(9)], [theirs() for _ in range(3)]
    name = "look-up of an edit near token 500 of 64k, ms"
    return [
        _of_bough(name, statistics.median(mine), statistics.median(others), "<= 5"),
        alone(_AREA, "the first look-up after 64k tokens were read, ms", [first]),
    ]


def _reopened() -> list[Row]:
    """A conversation of 8k tokens after a restart, from disk and read again, with a llama of 4 layers of width 512."""
    length = 8_192
    config = ARCHITECTURES["llama"] | {
        "hidden_size": 512,
        "intermediate_size": 1408,
        "num_hidden_layers": 4,
        "num_attention_heads": 8,
        "num_key_value_heads": 8,
        "head_dim": 64,
        "max_position_embeddings": length,
    }
    model = build_random_model(config, vocab_size=_VOCAB_SIZE)
    mx.eval(model.parameters())
    rng = Random(4)
    ids = [rng.randrange(_VOCAB_SIZE) for _ in range(length)]
    with tempfile.TemporaryDirectory() as folder:

        def new_cache() -> PromptCache:
            return PromptCache(partial(make_prompt_cache, model), 1 << 62, DiskCache(Path(folder), "bench", 1 << 62))

        cache = new_cache()
        started = time.perf_counter()
        for start in range(0, length, _CHUNK):
            _read(model, cache.branch.layers, ids[start : start + _CHUNK])
            cache.branch.extend(ids[start : start + _CHUNK])
            mx.clear_cache()
        read_s = time.perf_counter() - started
        started, longest_s = time.perf_counter(), 0.0
        while True:
            before = time.perf_counter()
            if not cache.save_some():
                break
            longest_s = max(longest_s, time.perf_counter() - before)
        written_s, num_bytes = time.perf_counter() - started, cache.num_disk_bytes
        del cache
        reopened: list[float] = []
        for _ in range(3):
            started = time.perf_counter()
            again = new_cache()
            assert again.rewind_to([*ids, 0]) == length
            reopened.append(time.perf_counter() - started)
            del again
    name = "reopening a conversation of 8k tokens from disk, s"
    return [
        compared(_AREA, name, reopened, "reading it again", [read_s] * len(reopened), "<= 0.05"),
        alone(_AREA, "writing it to disk, MB/s", [num_bytes / 1e6 / written_s]),
        alone(_AREA, "the longest of its writes, ms", [longest_s * 1e3]),
    ]
