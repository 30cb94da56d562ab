"""Random changes of good model folders. Each load must end within limits, and then the guide must answer."""

from __future__ import annotations

import json
import os
import queue
import random
import shutil
import struct
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from tests.architectures import small_gemma3, small_lfm2, small_llama, write_random_model
from tests.attacks.figures import Figures
from tests.attacks.mutations import changed_bytes, changed_json
from tests.attacks.victim import MAX_EXTRA_BYTES, Victim
from tests.chat_families import family, write_family_model
from tests.driver import TERMINAL, Event
from tests.models import CHATML, EOS, byte_level_tokenizer, sentencepiece_tokenizer, write_random_llama
from tests.tokenizers import unigram_tokenizer

_MESSAGES = [{"role": "user", "content": "Hello there"}, {"role": "assistant", "content": "Hi"}]
_POLL_S = 0.25

_LINKS = ("/dev/zero", "/dev/null", "/nowhere", ".", "/proc/self/mem")
_NEW_FILES = (
    *("added_tokens.json", "special_tokens_map.json", "vocab.json", "merges.txt", "tokenizer.model"),
    *("adapters.safetensors", "model.safetensors.index.json", "model-9.safetensors", "chat_template.json"),
)
_CONTENTS = (b"", b"{}", b"[]", b'{"a": 1}', b"\xff\xfe", b'{"<|new|>": 5, "a": 1000000}', b"[" * 100_000)

_HUGE = 10**7
# Parts of a tokenizer that explode, and that cut or pad what they are given.
_HOSTILE_PARTS: tuple[tuple[str, Any], ...] = (
    ("normalizer", {"type": "Prepend", "prepend": "x" * _HUGE}),
    (
        "normalizer",
        {
            "type": "Sequence",
            "normalizers": [{"type": "Replace", "pattern": {"String": "l"}, "content": "l" * 1000}] * 4,
        },
    ),
    ("normalizer", {"type": "Replace", "pattern": {"Regex": "(l|l)*z"}, "content": ""}),
    ("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "((e|l)+)+$"}, "behavior": "Isolated", "invert": False}),
    ("truncation", {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}),
    (
        "padding",
        {
            "strategy": {"Fixed": _HUGE},
            "direction": "Left",
            "pad_to_multiple_of": None,
            "pad_id": 0,
            "pad_type_id": 0,
            "pad_token": "a",
        },
    ),
    (
        "post_processor",
        {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "a", "type_id": 0}}] * 10**5,
            "pair": [],
            "special_tokens": {"a": {"id": "a", "ids": [5] * 100, "tokens": ["a"] * 100}},
        },
    ),
)
_HOSTILE_TEMPLATES = (
    *(
        "{{ 'x' * 10**10 }}",
        "{% for a in range(10**10) %}{% endfor %}",
        "{{ lipsum(10**6) }}",
        "{{ '%9999999999d' % 1 }}",
    ),
    *("{{ 'x'.center(10**10) }}", "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{{ raise_exception('No.') }}"),
    *(
        "{{ [1] * 10**10 }}",
        "{{ ''.__class__.__mro__ }}",
        "{% include 'x' %}",
        "{{ messages[10**9] }}",
        "{{ 9**9**9 }}",
    ),
    *(
        "{{ 'x' * 20_000_000 }}",
        "{{ (range(10**8) | list)[0] }}",
        "{% set a = 'x' %}" + "{% set a = a ~ a %}" * 40 + "{{ a }}",
    ),
)
_HOSTILE_SETTINGS: tuple[tuple[str, Any], ...] = (
    *(("num_hidden_layers", _HUGE), ("hidden_size", _HUGE), ("vocab_size", 10**12), ("num_attention_heads", 0)),
    *(("head_dim", -1), ("num_key_value_heads", 0), ("max_position_embeddings", 0), ("rms_norm_eps", 0.0)),
    *(
        ("rope_scaling", {"type": "yarn", "factor": 0}),
        ("rope_theta", 0),
        ("eos_token_id", -1),
        ("eos_token_id", [10**9]),
    ),
    *(("sliding_window", 0), ("quantization", {"group_size": 0, "bits": 3}), ("max_position_embeddings", 2**63)),
)

Mutation: TypeAlias = Callable[[random.Random, Path], str]
"""Changes a model folder; returns the change in words."""


def write_good_folders(parent: Path) -> list[Path]:
    """Write models of several architectures, tokenizers and layouts of files."""
    plain = write_random_llama(parent / "llama", byte_level_tokenizer())
    (plain / "generation_config.json").write_text(
        json.dumps({"eos_token_id": [3, 5], "temperature": 0.7, "top_p": 0.9, "do_sample": True})
    )
    spaced = write_random_llama(parent / "spaced", sentencepiece_tokenizer())
    (spaced / "chat_template.jinja").write_text(CHATML)
    (spaced / "special_tokens_map.json").write_text(json.dumps({"eos_token": {"content": EOS, "lstrip": False}}))
    unigram = unigram_tokenizer()
    untied = small_llama(unigram.get_vocab_size()) | {"tie_word_embeddings": False}
    _split(write_random_model(parent / "split", unigram, untied))
    write_random_model(parent / "gemma", byte_level_tokenizer(), small_gemma3())
    write_random_model(parent / "lfm", byte_level_tokenizer(), small_lfm2())
    quantized = {"group_size": 32, "bits": 4}
    bytes_only = byte_level_tokenizer()
    write_random_model(parent / "small", bytes_only, small_llama(bytes_only.get_vocab_size()), quantized=quantized)
    for name in ("lfm2", "vicuna"):
        write_family_model(parent / f"family-{name}", family(name))
    return sorted(parent.iterdir())


def _split(folder: Path) -> None:
    """Split the weights of a model into two files with an index."""
    from safetensors.numpy import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    names = sorted(weights)
    weight_map: dict[str, str] = {}
    for number, part in enumerate((names[::2], names[1::2]), start=1):
        file = f"model-0000{number}-of-00002.safetensors"
        save_file({name: weights[name] for name in part}, folder / file, metadata={"format": "mlx"})
        weight_map |= dict.fromkeys(part, file)
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))


def fuzz_folders(num_folders: int, seed: int, *, limit_s: float, first: int = 0) -> Figures:
    """Load changed copies of good folders, many in each worker. A fault ends a worker.

    `first`: the number of the first folder, to repeat a part of a run. `limit_s`: how long each step may take.
    """
    figures = Figures()
    with tempfile.TemporaryDirectory(prefix="bough-fuzz-") as place:
        goods = write_good_folders(Path(place, "good"))
        number, end = first, first + num_folders
        while number < end:
            with Victim() as victim:
                victim.load("guide")
                fault = ""
                while number < end and not fault:
                    draw = random.Random(f"{seed} {number}")
                    folder = Path(place, "model")
                    attack = f"folder {number}: {_build(draw, goods, folder)}"
                    try:
                        _load(victim, folder, attack, limit_s, figures)
                    except (_FaultError, BrokenPipeError) as error:
                        fault = f"seed {seed}, {attack}: {error} " + " / ".join(victim.errors[-4:])[-600:]
                        figures.blame(fault)
                        victim.process.kill()
                    shutil.rmtree(folder)
                    number += 1
    return figures


class _FaultError(Exception):
    pass


def _build(draw: random.Random, goods: list[Path], folder: Path) -> str:
    """Make a changed copy of a good folder at `folder`. Return the changes in words."""
    good = draw.choice(goods)
    shutil.copytree(good, folder, symlinks=True)
    words = [good.name]
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        mutation = draw.choice(_MUTATIONS)
        try:
            words.append(mutation(draw, folder))
        except (OSError, ValueError, LookupError, TypeError, RecursionError, struct.error) as error:
            words.append(f"({error})")  # an earlier change was in the way
    return ", ".join(words)


def _load(victim: Victim, folder: Path, attack: str, limit_s: float, figures: Figures) -> None:
    victim.reset_peak()
    before = victim.resident_bytes
    began_at = time.monotonic()
    event = _end_of(victim, limit_s, "load_model", model=str(folder))
    seconds = time.monotonic() - began_at
    end = event.get("kind", event["type"])
    if event.get("kind") == "internal":
        figures.blame(f"{attack}: {event['message'][:300]}")
    if event["type"] == "model_loaded":
        ends = [
            _end_of(victim, limit_s, "tokenize", messages=_MESSAGES, counts_only=True),
            _end_of(victim, limit_s, "generate", messages=[*_MESSAGES, _MESSAGES[0]], max_tokens=2),
            _end_of(victim, limit_s, "generate", text="Hello", max_tokens=2),
        ]
        end += "".join(f", {each.get('kind', each['type'])}" for each in ends[1:])
        for each in ends:
            if each.get("kind") == "internal":
                figures.blame(f"{attack}: {each['message'][:300]}")
    peak = victim.peak_bytes
    if peak - before > MAX_EXTRA_BYTES:
        figures.blame(f"{attack}: took {(peak - before) / 1e6:.0f} MB")
    if event["type"] == "model_loaded" or not event["still_loaded"]:
        guide = _end_of(victim, limit_s, "load_model", model="guide")
        if guide["type"] != "model_loaded":
            raise _FaultError(f"The guide can't be loaded: {guide}")
    answer = _end_of(victim, limit_s, "generate", text="Hello", max_tokens=2)
    if answer["type"] != "finished":
        raise _FaultError(f"The guide does not answer: {answer}")
    figures.add(end, seconds, peak / 1e6, attack)


def _end_of(victim: Victim, limit_s: float, command: str, **fields: Any) -> Event:
    """Return the terminal event. A worker that takes far too much memory is ended before it harms the machine."""
    request_id = victim.send(command, **fields)
    ends_at = time.monotonic() + limit_s
    while time.monotonic() < ends_at:
        try:
            event = victim.arrived.get(timeout=_POLL_S)
        except queue.Empty:
            if victim.resident_bytes > 4 * MAX_EXTRA_BYTES:
                raise _FaultError(f"{command} takes {victim.resident_bytes / 1e6:.0f} MB") from None
            continue
        if event is None:
            raise _FaultError(f"the worker died ({victim.process.wait()}) of {command}")
        if event["request_id"] == request_id and event["type"] in TERMINAL:
            return event
    raise _FaultError(f"{command} has no end after {limit_s} s")


# --- mutations -----------------------------------------------------------------------------------------------


def _change_settings(draw: random.Random, folder: Path) -> str:
    file = draw.choice(
        sorted(path for path in folder.glob("*.json") if _is_plain(path) and path.name != "tokenizer.json")
    )
    value, words = changed_json(draw, _json(file))
    file.write_text(json.dumps(value))
    return f"{file.name}: {words}"


def _change_config(draw: random.Random, folder: Path) -> str:
    file = folder / "config.json"
    value, words = changed_json(draw, _json(file))
    file.write_text(json.dumps(value))
    return f"config: {words}"


def _scale_number(draw: random.Random, folder: Path) -> str:
    file = folder / "config.json"
    config = _json(file)
    name = draw.choice([key for key, value in config.items() if isinstance(value, int)])
    config[name] = config[name] * draw.choice((2, 3, 1000, 10**7)) + draw.choice((0, 1))
    file.write_text(json.dumps(config))
    return f"config: {name} = {config[name]}"


def _change_tokenizer(draw: random.Random, folder: Path) -> str:
    """Change anything but the long lists of pieces, or a few of these."""
    file = folder / "tokenizer.json"
    described = _json(file)
    model = described["model"]
    lists = {name: model.pop(name) for name in ("vocab", "merges") if name in model}
    if draw.random() < 0.2:
        lists, words = changed_json(draw, lists)
    else:
        described, words = changed_json(draw, described)
    if isinstance(described, dict) and isinstance(described.get("model"), dict):
        described["model"] |= lists
    file.write_text(json.dumps(described))
    return f"tokenizer: {words}"


def _change_template(draw: random.Random, folder: Path) -> str:
    file = folder / "chat_template.jinja"
    settings = folder / "tokenizer_config.json"
    template = _read(file) if file.exists() else str(_json(settings)["chat_template"]).encode()
    words = ""
    for _ in range(draw.choice((1, 3, 10))):
        template, words = changed_bytes(draw, template)
    file.write_bytes(template)
    return f"template: {words}"


def _make_hostile(draw: random.Random, folder: Path) -> str:
    """Put in a part that is known to take long, to take all memory, or to change a prompt."""
    match draw.choice(("tokenizer", "template", "config")):
        case "tokenizer":
            file = folder / "tokenizer.json"
            name, value = draw.choice(_HOSTILE_PARTS)
            file.write_text(json.dumps(_json(file) | {name: value}))
            return f"tokenizer: {name} = {str(value)[:80]}"
        case "template":
            template = draw.choice(_HOSTILE_TEMPLATES)
            (folder / "chat_template.jinja").write_text(template)
            return f"template: {template[:60]}"
        case _:
            file = folder / "config.json"
            name, value = draw.choice(_HOSTILE_SETTINGS)
            file.write_text(json.dumps(_json(file) | {name: value}))
            return f"config: {name} = {value}"


def _change_header(draw: random.Random, folder: Path) -> str:
    file = _weights(draw, folder)
    data = _read(file)
    (length,) = struct.unpack("<Q", data[:8])
    header, words = changed_json(draw, json.loads(data[8 : 8 + length]))
    encoded = json.dumps(header).encode()
    length = draw.choice((len(encoded),) * 5 + (0, 1, 2**63, 2**64 - 1, len(encoded) - 1))
    file.write_bytes(struct.pack("<Q", length) + encoded + data[8 + len(encoded) :])
    return f"{file.name}: {words}, {length} bytes"


def _change_weights(draw: random.Random, folder: Path) -> str:
    file = _weights(draw, folder)
    data = bytearray(_read(file))
    filling = draw.choice((b"\xff", b"\0", b"\x7f\x80"))
    at = draw.randrange(len(data))
    data[at : at + 4096] = (filling * 4096)[: len(data[at : at + 4096])]
    file.write_bytes(data)
    return f"{file.name}: {filling!r} at {at}"


def _change_bytes(draw: random.Random, folder: Path) -> str:
    file = _any_file(draw, folder)
    data, words = changed_bytes(draw, _read(file))
    file.write_bytes(data)
    return f"{file.name}: {words}"


def _swap(draw: random.Random, folder: Path) -> str:
    one, other = _any_file(draw, folder), _any_file(draw, folder)
    shutil.copyfile(one, folder / "swapped")
    shutil.copyfile(other, one)
    (folder / "swapped").rename(other)
    return f"{one.name} ↔ {other.name}"


def _replace(draw: random.Random, folder: Path) -> str:
    """Put something in place of a file that is no file."""
    file = _any_file(draw, folder)
    kind = draw.choice(("nothing", "folder", "empty", "fifo", *_LINKS, file.name))
    file.unlink()
    match kind:
        case "nothing":
            pass
        case "folder":
            file.mkdir()
        case "empty":
            file.touch()
        case "fifo":
            os.mkfifo(file)
        case _:
            file.symlink_to(kind)
    return f"{file.name} → {kind}"


def _add_file(draw: random.Random, folder: Path) -> str:
    name, content = draw.choice(_NEW_FILES), draw.choice(_CONTENTS)
    (folder / name).write_bytes(content)
    return f"{name} = {content[:20]!r}"


def _any_file(draw: random.Random, folder: Path) -> Path:
    return draw.choice(sorted(filter(_is_plain, folder.iterdir())))


def _weights(draw: random.Random, folder: Path) -> Path:
    return draw.choice(sorted(filter(_is_plain, folder.glob("*.safetensors"))))


def _json(file: Path) -> Any:
    return json.loads(_read(file))


def _read(file: Path) -> bytes:
    """Return the bytes, but never of a device or a pipe."""
    if not _is_plain(file):
        raise FileNotFoundError(file.name)
    return file.read_bytes()


def _is_plain(file: Path) -> bool:
    return file.is_file() and not file.is_symlink()


_MUTATIONS: tuple[Mutation, ...] = (
    *(_change_config, _change_config, _scale_number, _change_settings, _change_tokenizer, _change_tokenizer),
    *(_change_template, _change_header, _change_weights, _change_bytes, _swap, _replace, _add_file, _make_hostile),
)
