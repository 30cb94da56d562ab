"""Hostile model folders: each is loaded as it is meant, or refused in a sentence; the worker stays alive and small."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import io
import json
import math
import os
import pkgutil
import re
import shutil
import socket
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import mlx.core as mx
import pytest
from safetensors.numpy import load_file, save_file

from tests.architectures import ARCHITECTURES, small_llama, write_random_model
from tests.attacks.victim import Attack, Victim, rows
from tests.long import in_long_runs
from tests.models import byte_level_tokenizer
from worker import language_model
from worker.errors import ModelInvalidError
from worker.language_model import UnreadModel
from worker.models.folder import check_folder, find_model
from worker.trial import TrialProcess

Damage = Callable[[Path], None]

WORDS = "A long question with many words about trees and their branches. " * 40


def edit(name: str, **changes: Any) -> Damage:
    """Change values at the top of a JSON file."""

    def damage(folder: Path) -> None:
        file = folder / name
        file.write_text(json.dumps({**(json.loads(file.read_text()) if file.exists() else {}), **changes}))

    return damage


def both(*damages: Damage) -> Damage:
    def damage(folder: Path) -> None:
        for each in damages:
            each(folder)

    return damage


def in_place_of(name: str, make: Callable[[Path], None]) -> Damage:
    """Replace a file of the folder by something else."""

    def damage(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).parent.mkdir(exist_ok=True)
        make(folder / name)

    return damage


def a_link_to(target: str) -> Callable[[Path], None]:
    return lambda file: file.symlink_to(target)


def a_socket(file: Path) -> None:
    before = Path.cwd()
    os.chdir(file.parent)  # a socket's path must be short
    try:
        with socket.socket(socket.AF_UNIX) as opened:
            opened.bind(file.name)
    finally:
        os.chdir(before)


def a_hole(num_bytes: int) -> Callable[[Path], None]:
    """A file of zeros that takes no disk."""

    def make(file: Path) -> None:
        with file.open("wb") as stream:
            stream.truncate(num_bytes)

    return make


def header(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Change the header of the weight file; its values can be written as JSON texts in "raw:…"."""

    def damage(folder: Path) -> None:
        file = folder / "model.safetensors"
        data = file.read_bytes()
        (length,) = struct.unpack("<Q", data[:8])
        described = json.loads(data[8 : 8 + length])
        change(described)
        text = json.dumps(described).encode()
        file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])

    return damage


def of_kind(kind: str, **changes: Any) -> Damage:
    """Put a good model of another architecture in place, then change values of its config.json."""

    def damage(folder: Path) -> None:
        write_random_model(folder, byte_level_tokenizer(), ARCHITECTURES[kind])
        file = folder / "config.json"
        config = json.loads(file.read_text())
        (config.get("text_config") or config).update(changes)
        file.write_text(json.dumps(config))

    return damage


NORM = "model.norm.weight"
EMBED = "model.embed_tokens.weight"


def overlap(described: dict[str, Any]) -> None:
    begin, end = described[EMBED]["data_offsets"]
    size = described[NORM]["data_offsets"][1] - described[NORM]["data_offsets"][0]
    described[NORM]["data_offsets"] = [begin + 4, begin + 4 + size]
    assert begin + 4 + size < end


def entry(**changes: Any) -> Damage:
    return header(lambda described: described[NORM].update(changes))


def many_tensors(described: dict[str, Any]) -> None:
    end = max(each["data_offsets"][1] for name, each in described.items() if name != "__metadata__")
    empty = {"dtype": "F32", "shape": [0], "data_offsets": [end, end]}
    described.update({f"model.layers.{number}.x": empty for number in range(400_000)})


FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json", "special_tokens_map.json")
OTHER_FILES = ("chat_template.jinja", "model.safetensors", "model.safetensors.index.json", "hf_quant_config.json")
TEMPLATES = ("additional_chat_templates/tool_use.jinja", "chat_template.json", "added_tokens.json", "tokenizer.model")
NOT_ORDINARY: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "a device": a_link_to("/dev/zero"),
    "the terminal": a_link_to("/dev/tty"),
    "a socket": a_socket,
}

ODD_FILES = [
    *(
        Attack(f"{what} as {name}", in_place_of(name, make), "model_invalid", "not an ordinary file")
        for name in (*FILES, *OTHER_FILES, *TEMPLATES)
        for what, make in NOT_ORDINARY.items()
        if what in {"a pipe", "a device"} or name == "config.json"
    ),
    *(
        Attack(f"{name} of {num_bytes:,} bytes", in_place_of(name, a_hole(num_bytes)), "model_invalid", "at most")
        for name, num_bytes in (
            ("config.json", 10**12),
            ("tokenizer.json", 10**12),
            ("tokenizer.json", 80 << 20),
            ("tokenizer_config.json", 10**10),
            ("chat_template.jinja", 10**10),
            ("additional_chat_templates/tool_use.jinja", 10**10),
            ("special_tokens_map.json", 10**10),
            ("model.safetensors.index.json", 10**10),
        )
    ),
    *(
        Attack(f"{what} as {name}", in_place_of(name, a_link_to(target)), "model_invalid", "Finish the download")
        for name in ("tokenizer_config.json", "tokenizer.json", "generation_config.json", "chat_template.jinja")
        for what, target in (("a broken link", "nowhere"), ("a link to itself", name))
    ),
    Attack("weights of a terabyte of zeros", in_place_of("model.safetensors", a_hole(10**12)), "model_invalid"),
]


def _bytes(name: str, data: bytes) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(data)

    return damage


_INDEX = "model.safetensors.index.json"
INDEXES = [
    Attack(f"an index with {name}", damage, "model_invalid", "can't be read")
    for name, damage in {
        "names of mixed types": edit(_INDEX, weight_map={NORM: "model.safetensors", EMBED: 1, "a": None, "b": []}),
        "a name that is a number": edit(_INDEX, weight_map={NORM: 7}),
        "a name that is a list": edit(_INDEX, weight_map={NORM: ["model.safetensors"]}),
        "a list of names": edit(_INDEX, weight_map=["model.safetensors", 1]),
        "no names": edit(_INDEX, metadata={}),
        "names that are not UTF-8": _bytes(_INDEX, b'{"weight_map": {"a": "\xff"}}'),
    }.items()
]

HEADERS = [
    *(
        Attack(f"a header with {name}", damage, "model_invalid", "is damaged")
        for name, damage in {
            "negative offsets": entry(data_offsets=[-8, 248]),
            "offsets beyond 64 bits": entry(data_offsets=[2**64, 2**64 + 256]),
            "offsets of a thousand digits": entry(data_offsets=[10**1000, 10**1000 + 256]),
            "reversed offsets": entry(data_offsets=[512, 256]),
            "an offset that is a fraction": entry(data_offsets=[0.5, 256.5]),
            "three offsets": entry(data_offsets=[0, 256, 512]),
            "overlapping tensors": header(overlap),
            "a negative shape": entry(shape=[-64]),
            "a huge shape": entry(shape=[2**31 - 1, 2**31 - 1]),
            "a shape beyond 64 bits": entry(shape=[2**64 + 64]),
            "a shape that wraps around": entry(shape=[2**31 - 1, 2**31 - 1, 4, 16]),
            "ten thousand dimensions": entry(shape=[1] * 10_000),
            "a shape of null": entry(shape=None),
            "a type that is a number": entry(dtype=7),
            "more keys": entry(more=[[[[]]]]),
            "metadata that is a list": header(lambda described: described.update(__metadata__=[1])),
            "deep metadata": header(lambda described: described.update(__metadata__={"a": {"b": {}}})),
        }.items()
    ),
    Attack(
        "a header of four hundred thousand tensors", header(many_tensors), "model_invalid", "is damaged", is_long=True
    ),
]

CONFIGS = [
    *(
        Attack(f"{key} of {number:.3g}", edit("config.json", **{key: number}), "model_invalid")
        for key in ("num_hidden_layers", "num_attention_heads", "num_key_value_heads", "head_dim", "hidden_size")
        for number in (0, -1, 10**7, 2**31, 10**18)
        # The library takes no heads of keys and values for as many as there are of queries.
        if (key, number) not in {("num_key_value_heads", 0), ("head_dim", 0)}
    ),
    *(
        Attack(f"{key} of {number:.3g}", edit("config.json", **{key: number}), "model_invalid")
        for key in ("vocab_size", "intermediate_size")
        for number in (0, -1, 10**7, 10**18, 10**300)
    ),
    *(
        Attack(f"{key} in a {kind}", edit("config.json", **{**more, "model_type": kind}), "model_invalid", "tensors")
        for kind, key, more in (
            ("gpt2", "n_layer", {"n_layer": 10**7}),
            ("mixtral", "num_local_experts", {"num_local_experts": 10**9}),
            ("qwen3_moe", "num_experts", {"num_experts": 10**9}),
            ("deepseek_v3", "n_routed_experts", {"n_routed_experts": 10**9}),
            ("gemma3", "num_hidden_layers", {"text_config": {"num_hidden_layers": 10**7}}),
            ("openelm", "num_transformer_layers", {"num_transformer_layers": 10**7}),
            ("dbrx", "moe_num_experts", {"ffn_config": {"moe_num_experts": 10**9}}),
            ("llama", "layer_types", {"layer_types": ["full_attention"] * 300_000}),
            ("nemotron_h", "hybrid_override_pattern", {"hybrid_override_pattern": "M" * 1_000_000}),
        )
    ),
    *(
        Attack(
            f"heads that are a {type(heads).__name__}, and very wide",
            edit("config.json", num_key_value_heads=heads, head_dim=160_000_001),
            "model_invalid",
            "num_key_value_heads",
            is_long=isinstance(heads, list),
        )
        for heads in ("[" * 40, ["["])
    ),
    Attack("a deep config", lambda folder: _write(folder / "config.json", '{"a":' * 100_000), "model_invalid"),
    Attack(
        "numbers of many digits",
        lambda folder: _write(folder / "config.json", '{"model_type": "llama", "a": ' + "9" * 10**6 + "}"),
        "model_invalid",
    ),
]


NO_NUMBERS = [
    Attack(
        f"{key} of {value}",
        edit("config.json", **{key: value}),
        "model_invalid",
        f"is wrong: `{named}",
        is_long=is_long,
    )
    for key, value, named, is_long in (
        ("rope_theta", 0, "rope_theta`: 0", False),
        ("rope_theta", -1, "rope_theta`: -1", True),
        ("rope_theta", math.nan, "rope_theta`: nan", True),
        ("rope_theta", -math.inf, "rope_theta`: -inf", True),
    )
]


# All architectures were tried with large numbers in every key; these break the library.
UNUSUAL = [
    Attack(
        f"{key} of {value} in a {kind}",
        of_kind(kind, **{key: value}),
        "model_invalid",
        f"config.json: `{key}`: {value}",
        is_long=is_long,
    )
    for kind, key, value, is_long in (
        ("deepseek_v41", "hc_mult", 10**9, False),
        ("deepseek_v41", "hc_mult", 20_000, True),
        ("deepseek_v41", "hc_sinkhorn_iters", 10**9, True),
        ("gemma3n", "altup_num_inputs", 30_000, True),
        ("gemma3n", "altup_active_idx", 10**9, True),
        ("nanbeige", "num_loops", 10**9, True),
    )
]


def packed(**changes: Any) -> Damage:
    """Put a quantized model in place, then change values of its config.json."""

    def damage(folder: Path) -> None:
        tokenizer = byte_level_tokenizer()
        quantized = {"group_size": 32, "bits": 4}
        write_random_model(folder, tokenizer, small_llama(tokenizer.get_vocab_size()), quantized=quantized)
        edit("config.json", **changes)(folder)

    return damage


# MLX divides by the size of a group, in whole numbers.
GROUPS = [
    Attack(name, packed(**changes), "model_invalid", "a group would have no numbers", is_long=is_long)
    for name, changes, is_long in (
        ("fewer numbers than the weights have groups", {"intermediate_size": 2}, False),
        (
            "groups of no numbers in a layer",
            {"quantization": {"group_size": 32, "bits": 4, "model.layers.0.mlp.up_proj": {"group_size": 0, "bits": 4}}},
            True,
        ),
    )
]


# Several tokens pass the last of these, or a single one the others.
WINDOWS = [
    Attack(
        f"{key} of {value} in a {kind}", of_kind(kind, **{key: value}), "model_invalid", "fails when it reads a prompt"
    )
    for kind, key, value in (
        ("gemma3", "sliding_window", 0),
        ("gpt_oss", "sliding_window", 0),
        ("deepseek_v32", "index_topk", -1),
    )
]


def _write(file: Path, text: str) -> None:
    file.write_text(text)


@pytest.mark.parametrize("attack", rows([*ODD_FILES, *INDEXES, *HEADERS]))
def test_odd_files_and_headers_are_refused_before_anything_reads_them(folder: Path, attack: Attack):
    attack.damage(folder)
    with pytest.raises(ModelInvalidError) as caught:
        check_folder(folder)
    assert attack.words in str(caught.value)
    assert str(folder) in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "attack", rows([*ODD_FILES[::9], INDEXES[0], HEADERS[2], *CONFIGS, *WINDOWS, *NO_NUMBERS, *UNUSUAL, *GROUPS])
)
def test_a_hostile_folder_is_refused_and_the_worker_continues(victim: Victim, folder: Path, attack: Attack):
    failed = victim.attack(folder, attack)
    assert len(failed["message"]) < 1000


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/stdin", "/proc/self/mem"])
def test_a_device_is_not_a_model(victim: Victim, name: str):
    assert victim.end_of("load_model", model=name)["kind"] in {"model_not_found", "model_invalid"}
    victim.check()


def test_a_link_in_a_cache_of_downloads_is_an_ordinary_file(victim: Victim, folder: Path):
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (folder.parent / name).write_bytes((folder / name).read_bytes())
        (folder / name).unlink()
        (folder / name).symlink_to(folder.parent / name)
    assert victim.end_of("load_model", model=str(folder))["type"] == "model_loaded"


# --- tokenizers that explode ---------------------------------------------------------------------------------------


def tokenizer(**changes: Any) -> Damage:
    return edit("tokenizer.json", **changes)


def normalizers(*each: dict[str, Any]) -> Damage:
    return tokenizer(normalizer={"type": "Sequence", "normalizers": list(each)})


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def split(pattern: str) -> Damage:
    """Split words at a regular expression, then spell them in bytes."""
    words = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    spell = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return tokenizer(pre_tokenizer={"type": "Sequence", "pretokenizers": [words, spell]})


def table(longest: str) -> str:
    """A table of SentencePiece without entries in its index, whose longest replacement is this text."""
    return base64.b64encode(struct.pack("<I", 4) + bytes(4) + longest.encode() + b"\0").decode()


def deep(folder: Path) -> None:
    file = folder / "tokenizer.json"
    file.write_text(
        file.read_text().replace('"normalizer": null', '"normalizer": ' + '{"a":' * 50_000 + "1" + "}" * 50_000)
    )


def many_values(folder: Path) -> None:
    file = folder / "tokenizer.json"
    file.write_text(file.read_text().replace('"version"', '"more": [' + "[]," * 9_000_000 + '[]], "version"', 1))


def wide_wordpiece(folder: Path) -> None:
    model = {"type": "WordPiece", "unk_token": "a", "continuing_subword_prefix": "", "max_input_chars_per_word": 10**9}
    tokenizer(model={**model, "vocab": {"a": 0, "<|im_start|>": 1, "<|im_end|>": 2}})(folder)


SLOW_EXPLOSIONS = {
    "a regular expression that replaces nothing",
    "a normalizer that prepends fifty megabytes",
    "nine million values",
}
EXPLOSIONS = [
    Attack(f"tokenizer: {name}", damage, "model_invalid", "The tokenizer in", is_long=name in SLOW_EXPLOSIONS)
    for name, damage in {
        "a normalizer that doubles forty times": normalizers(*[replace("a", "aa")] * 40),
        "a normalizer that grows on spaces": normalizers(*[replace(" ", " " * 60)] * 6),
        "a normalizer that replaces nothing": normalizers(*[replace("", "ab")] * 30),
        "a regular expression that replaces nothing": normalizers(*[replace("(?=.)", "a" * 60, "Regex")] * 5),
        "a normalizer that prepends fifty megabytes": normalizers({"type": "Prepend", "prepend": "a" * (50 << 20)}),
        "a normalizer that prepends again and again": normalizers(
            *[{"type": "Prepend", "prepend": "a" * 60}] * 2, *[replace("a", "a" * 60)] * 5
        ),
        "an expression that explodes": split("(a+a+)+!"),
        "an expression that explodes on spaces": split("( + +)+!"),
        "an expression that is wrong": split("(((("),
        "a table that is no table": normalizers({"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
        "a table with another index": normalizers({"type": "Precompiled", "precompiled_charsmap": table("a" * 500)}),
        "words of any length": wide_wordpiece,
        "a deep normalizer": deep,
        "nine million values": many_values,
    }.items()
]
HARMLESS: dict[str, Damage] = {
    "an unknown expression": split("[a-m]+|[n-z]+|."),
    "ten thousand special tokens around a text": tokenizer(
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {},
        }
    ),
}


@pytest.mark.parametrize("attack", rows(EXPLOSIONS))
def test_a_tokenizer_that_explodes_is_refused(victim: Victim, folder: Path, attack: Attack):
    failed = victim.attack(folder, attack)
    assert len(failed["message"]) < 1000


@pytest.mark.parametrize("name", HARMLESS)
def test_an_unusual_tokenizer_is_tried_out_and_loaded(victim: Victim, folder: Path, name: str):
    HARMLESS[name](folder)
    ended = victim.end_of("load_model", model=str(folder))
    assert ended["type"] == "model_loaded", ended
    victim.check()


# The first limit is that of the trial, the second one that of all trials of a folder.
ENDLESS: dict[str, tuple[Damage, str, str]] = {
    "a model": (
        of_kind("deepseek_v41", hc_sinkhorn_iters=10**9),
        "worker.model_trial._LIMITS",
        "it takes too long to build",
    ),
    # It goes back a little less often than the library allows, at each character: about 10^10 times in one text.
    "a tokenizer": (
        split("[ab]*[ac]*(?=[!?])|a"),
        "worker.models.tokenizer_file._LIMITS",
        "it takes too long for short texts",
    ),
}


@pytest.mark.parametrize(
    ("name", "is_of_all"),
    [("a model", True), ("a tokenizer", False), ("a tokenizer", True), *in_long_runs([("a model", False)])],
)
def test_endless_files_in_a_folder_are_given_up_at_the_time_limit_with_a_sentence(
    folder: Path, name: str, is_of_all: bool, monkeypatch: pytest.MonkeyPatch
):
    damage, limits, words = ENDLESS[name]
    damage(folder)
    present = pkgutil.resolve_name(limits)
    assert max(present.seconds, language_model._TRIALS_S) <= 30  # pyright: ignore[reportPrivateUsage]
    if is_of_all:
        monkeypatch.setattr(language_model, "_TRIALS_S", 0.0)
    else:
        monkeypatch.setattr(limits, dataclasses.replace(present, seconds=0.3))
    trials = TrialProcess(language_model.TRIAL_MODULES)
    with contextlib.closing(trials), pytest.raises(ModelInvalidError, match=words):
        UnreadModel(find_model(str(folder)), trials)
    assert trials.pid is None


def test_a_load_that_tries_a_tokenizer_can_be_replaced(victim: Victim, folder: Path):
    normalizers(*[replace("(?=.)", "a" * 60, "Regex")] * 5)(folder)
    first = victim.send("load_model", model=str(folder))
    second = victim.send("load_model", model="guide")
    ends = [victim.events_until_end(request_id)[-1] for request_id in (first, second)]
    assert ends[0]["kind"] == "superseded", ends
    assert ends[1]["type"] == "model_loaded", ends


def _lengthen(described: dict[str, Any]) -> None:
    """Make tokens longer than the library for answer formats can take: a piece, an added one and a control token."""
    model = described["model"]
    ids = [model["vocab"].pop("".join(model["merges"].pop())) for _ in range(3)]
    model["vocab"]["x" * 1_500] = ids[0]
    for number, content, special in ((ids[1], "y" * 2_000, False), (ids[2], f"<|{'z' * 3_000}|>", True)):
        options = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        described["added_tokens"].append({"id": number, "content": content, "special": special, **options})


def test_answers_follow_a_format_though_some_tokens_are_very_long(victim: Victim, folder: Path):
    _edit_tokenizer(folder, _lengthen)
    assert victim.end_of("load_model", model=str(folder))["type"] == "model_loaded"
    long = "y" * 2_003
    for constraint, pattern in (
        ({"kind": "choice", "value": [long, f"{long}!"]}, "y{2003}!?"),
        ({"kind": "regex", "value": "[a-f]{20}"}, "[a-f]{20}"),
        ({"kind": "regex", "value": "y{2003}!?"}, "y{2003}!?"),
    ):
        finished = victim.end_of("generate", text="Hello", constraint=constraint, max_tokens=3_000)
        assert finished["type"] == "finished", finished
        assert re.fullmatch(pattern, finished["choices"][0]["text"]), finished
    victim.check()


# --- panics ------------------------------------------------------------------------------------------------------

EXPLODING = "(☃+☃+)+!"
TRIGGER = "☃" * 40


COMMANDS: dict[str, dict[str, Any]] = {
    "tokenize text": {"type": "tokenize", "text": TRIGGER},
    "the composer's count": {"type": "tokenize", "text": TRIGGER, "counts_only": True},
    "tokenize messages": {"type": "tokenize", "messages": [{"role": "user", "content": TRIGGER}]},
    "tokenize a typed control token": {
        "type": "tokenize",
        "messages": [{"role": "user", "content": f"<|im_end|>{TRIGGER}"}],
    },
    "plan": {"type": "plan", "prompts": [{"text": TRIGGER}]},
    "plan paths": {"type": "plan", "messages": [{"role": "user", "content": TRIGGER}], "paths": [[0]]},
    "generate": {"type": "generate", "messages": [{"role": "user", "content": TRIGGER}], "max_tokens": 2},
    "generate with dropping": {
        "type": "generate",
        "messages": [{"role": "user", "content": TRIGGER}],
        "overflow": "drop_oldest",
        "max_tokens": 2,
    },
    "continue": {"type": "generate", "text": "a", "continuation": {"text": TRIGGER}, "max_tokens": 2},
}


@pytest.fixture(scope="module")
def exploding(victim: Victim, random_llama: Path, tmp_path_factory: pytest.TempPathFactory) -> Victim:
    """The worker with a model whose tokenizer panics on snowmen."""
    folder = Path(shutil.copytree(random_llama, tmp_path_factory.mktemp("models") / "exploding"))
    split(EXPLODING)(folder)
    victim.load(folder)
    return victim


@pytest.mark.parametrize("name", COMMANDS)
def test_a_panic_fails_its_request_alone(exploding: Victim, name: str):
    fields = dict(COMMANDS[name])
    failed = exploding.end_of(fields.pop("type"), **fields)
    assert (failed["type"], failed.get("kind")) == ("failed", "model_invalid"), failed
    assert "can't read this text" in failed["message"]
    exploding.check()


def test_a_panic_in_one_answer_leaves_the_others(exploding: Victim):
    running = exploding.send("generate", text="Hello", max_tokens=40)
    failed = exploding.result("generate", text=TRIGGER, max_tokens=4)
    assert failed["kind"] == "model_invalid"
    assert exploding.events_until_end(running)[-1]["type"] == "finished"


def test_a_tokenizer_that_cannot_spell_a_text_fails_its_request(victim: Victim, folder: Path):
    """The class in its settings makes WordPiece of it, without a token for unknown words."""
    edit("tokenizer_config.json", tokenizer_class="BertTokenizer")(folder)
    victim.load(folder)
    for prompt in ({"text": "Hello ☃"}, {"messages": [{"role": "user", "content": "Hello ☃"}]}):
        assert victim.end_of("generate", **prompt, max_tokens=1)["kind"] == "model_invalid"
        assert victim.end_of("tokenize", **prompt)["kind"] == "model_invalid"


# --- what the model is given -------------------------------------------------------------------------------------

TRUNCATION = {"direction": "Right", "max_length": 64, "strategy": "LongestFirst", "stride": 0}
PADDING = {
    "strategy": {"Fixed": 4000},
    "direction": "Right",
    "pad_to_multiple_of": 64,
    "pad_id": 0,
    "pad_type_id": 0,
    "pad_token": "<|im_start|>",
}
UNSEEN_CHANGES: dict[str, Damage] = {
    "truncation": edit("tokenizer.json", truncation=TRUNCATION),
    "truncation on the left": edit("tokenizer.json", truncation={**TRUNCATION, "direction": "Left"}),
    "padding": edit("tokenizer.json", padding=PADDING),
    "both": edit("tokenizer.json", truncation=TRUNCATION, padding=PADDING),
    "truncation in tokenizer_config.json": edit(
        "tokenizer_config.json",
        tokenizer_truncation={"max_length": 64, "stride": 0, "strategy": "longest_first", "direction": "right"},
    ),
    "padding in tokenizer_config.json": edit(
        "tokenizer_config.json",
        tokenizer_padding={**PADDING, "direction": "right", "strategy": None, "length": 4000} | {"strategy": None},
    ),
    "a short model_max_length": edit("tokenizer_config.json", model_max_length=16, truncation_side="left"),
    "options of encode": edit("tokenizer_config.json", truncation=True, padding="max_length", max_length=16),
    "split control tokens": edit("tokenizer_config.json", split_special_tokens=True),
    "dropout": lambda folder: _edit_tokenizer(folder, lambda described: described["model"].update(dropout=0.9)),
}


def _edit_tokenizer(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    file = folder / "tokenizer.json"
    described = json.loads(file.read_text())
    change(described)
    file.write_text(json.dumps(described))


def prompts(victim: Victim) -> Sequence[Sequence[int]]:
    """The ids of the same text in every form of a prompt."""
    turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": WORDS}]
    return [
        victim.end_of("tokenize", **prompt)["token_ids"]
        for prompt in (
            {"text": WORDS},
            {"text": "a"},
            {"messages": [{"role": "user", "content": WORDS}]},
            {"messages": [*turns, {"role": "user", "content": WORDS + "<|im_end|>"}]},
        )
    ]


@pytest.fixture(scope="module")
def untouched(victim: Victim, random_llama: Path) -> Sequence[Sequence[int]]:
    victim.load(random_llama)
    return prompts(victim)


@pytest.mark.parametrize("name", UNSEEN_CHANGES)
def test_a_change_of_the_prompt_by_a_folder_is_reported(
    victim: Victim, folder: Path, untouched: Sequence[Sequence[int]], name: str
):
    UNSEEN_CHANGES[name](folder)
    loaded = victim.end_of("load_model", model=str(folder))
    if loaded["type"] == "failed":
        assert loaded["kind"] == "model_invalid"
        victim.check()
    else:
        assert prompts(victim) == untouched


def template(text: str) -> Damage:
    def damage(folder: Path) -> None:
        (folder / "chat_template.jinja").write_text(text)
        edit("tokenizer_config.json", chat_template=text)(folder)

    return damage


def each_message(text: str) -> Damage:
    return template("{% for m in messages %}" + text + "{% endfor %}<|im_start|>assistant\n")


def added(content: str, **more: bool) -> Damage:
    """Make a token of the vocabulary an added one, which is found in text before all others."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}

    def add(described: dict[str, Any]) -> None:
        token_id = described["model"]["vocab"][content]
        described["added_tokens"].append({"id": token_id, "content": content, **flags, **more})

    return lambda folder: _edit_tokenizer(folder, add)


TURN = "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
CONVERSATION = [
    {"role": "system", "content": "You are a pirate."},
    {"role": "user", "content": "Hello there, who are you?"},
    {"role": "assistant", "content": "<think>Who am I?</think>A pirate."},
    {"role": "user", "content": "Say it:\n    café  twice"},
]
# By name: the damage, and words of each notice.
SAID: dict[str, tuple[Damage, list[str]]] = {
    "no system prompt": (each_message("{% if m.role != 'system' %}" + TURN + "{% endif %}"), ["system prompt"]),
    "the last message alone": (
        template("{{ messages[-1].content }}"),
        ["system prompt", "“Hello there, who are you?”"],
    ),
    "cut messages": (each_message("{{ m.content[:9] }}"), ["system prompt", "“Hello there"]),
    "unknown roles": (each_message("{% if m.role == 'user' %}" + TURN + "{% endif %}"), ["system prompt", "“<think>"]),
    "other words": (each_message("{{ m.content | replace('pirate', 'robot') }}"), ["system prompt", "“<think>"]),
    "nothing": (template("<|im_start|>"), ["system prompt", "“Hello"]),
    "a normalizer that deletes": (normalizers(replace("twice", "")), ["some characters"]),
    "a normalizer that replaces": (normalizers(replace("pirate", "robot")), ["some characters"]),
    "a normalizer that adds": (normalizers(replace("are a", "are not a")), ["adds or moves"]),
    "a normalizer that moves letters": (normalizers(replace("pirate", "ripate")), ["adds or moves"]),
    "a normalizer that prepends a text": (normalizers({"type": "Prepend", "prepend": "Never say: "}), ["adds or"] * 3),
    "another order": (template("{% for m in messages | reverse %}" + TURN + "{% endfor %}"), ["“<think>"]),
    "a normalizer that strips lines": (normalizers(replace("\n    ", " ")), ["white space"]),
    "a token that swallows space": (added("c", lstrip=True), ["white space"]),
    "a normalizer that joins words": (normalizers(replace(" ", "")), ["white space"]),
    "a normalizer that parts words": (normalizers(replace("who", "w ho")), ["w ho are you?”"]),
    "lines that a template joins": (each_message("{{ m.content | replace('\n', ' ') }}"), ["white space inside"]),
    "words that a template joins": (each_message("{{ m.content | replace(' ', '') }}"), ["white space inside"]),
    "text that disappears": (split("[a-m]+"), []),
    "removed text": (
        tokenizer(
            pre_tokenizer={
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Split", "pattern": {"String": "twice"}, "behavior": "Removed", "invert": False},
                    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
                ],
            }
        ),
        ["some characters"],
    ),
}
NOT_SAID: dict[str, Damage] = {
    "trimmed messages": each_message("<|im_start|>{{ m.role }}\n{{ m.content | trim }}<|im_end|>\n"),
    "no earlier reasoning": each_message("<|im_start|>{{ m.role }}\n{{ m.content.split('</think>')[-1] }}<|im_end|>"),
    "a system prompt in the question": template(
        "{% if messages[0].role == 'system' %}{{ raise_exception('no') }}{% endif %}"
        "{% for m in messages %}" + TURN + "{% endfor %}<|im_start|>assistant\n"
    ),
    "composed characters": tokenizer(normalizer={"type": "NFKC"}),
    "lower case": tokenizer(normalizer={"type": "Lowercase"}),
    "no accents": normalizers({"type": "NFD"}, {"type": "StripAccents"}),
    "nothing odd": each_message(TURN),
}


def notices(victim: Victim, folder: Path, messages: Sequence[dict[str, str]]) -> list[str]:
    loaded = victim.end_of("load_model", model=str(folder))
    assert loaded["type"] == "model_loaded", loaded
    finished = victim.end_of("generate", messages=messages, max_tokens=1)
    assert finished["type"] == "finished", finished
    return [notice["message"] for notice in finished["notices"]]


@pytest.mark.parametrize("name", SAID)
def test_text_that_a_folder_leaves_out_of_a_prompt_is_reported(victim: Victim, folder: Path, name: str):
    damage, words = SAID[name]
    damage(folder)
    found = notices(victim, folder, CONVERSATION)
    assert len(found) == len(words), found
    for notice, expected in zip(found, words, strict=True):
        assert expected in notice, found


def without(index: int) -> Damage:
    return each_message(f"{{% if loop.index0 != {index} %}}{TURN}{{% endif %}}")


@pytest.mark.parametrize(
    ("damage", "quoted"),
    [
        (without(0), "“Yes”"),
        (without(1), "“<think>Yes?</think>Or”"),
        (without(2), "“Yes, or”"),
        (without(4), "“Yes”"),
        (each_message("{% if loop.first %}{{ m.content[:1] }}{% else %}" + TURN + "{% endif %}"), "“Yes”"),
        (each_message("{% if loop.first %}{{ m.content[-2:] }}{% else %}" + TURN + "{% endif %}"), "“Yes”"),
        (each_message(TURN), ""),
        # Nothing is known of a template that treats texts by their first character.
        (each_message("{% if m.content[0] == 'Y' %}" + TURN + "{% endif %}" + TURN), ""),
    ],
    ids=["first", "answer", "third", "last", "cut", "cut before", "none", "by character"],
)
def test_a_short_message_that_is_left_out_is_reported_although_its_text_occurs_again(
    victim: Victim, folder: Path, damage: Damage, quoted: str
):
    damage(folder)
    texts = ["Yes", "<think>Yes?</think>Or", "Yes, or", "No", "Yes", "Or", "Yes, or no: Yes, or"]
    messages = [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]
    found = notices(victim, folder, messages)
    assert len(found) == bool(quoted), found
    assert all(f"The first begins with {quoted}." in notice for notice in found), found


@pytest.mark.parametrize("name", NOT_SAID)
def test_changes_that_models_make_on_purpose_are_not_reported(victim: Victim, folder: Path, name: str):
    NOT_SAID[name](folder)
    assert notices(victim, folder, CONVERSATION) == []


RAW = "Hello <|im_start|> there, you are a pirate"
"""A prompt without a template; a control token in it is one."""


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (normalizers(replace("are a", "are not a")), ["saw “not a pirate”"]),
        (
            tokenizer(
                post_processor={
                    "type": "TemplateProcessing",
                    "single": [
                        {"SpecialToken": {"id": "<|im_start|>", "type_id": 0}},
                        {"Sequence": {"id": "A", "type_id": 0}},
                        {"SpecialToken": {"id": "a", "type_id": 0}},
                    ],
                    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                    "special_tokens": {
                        "<|im_start|>": {"id": "<|im_start|>", "ids": [0], "tokens": ["<|im_start|>"]},
                        "a": {"id": "a", "ids": [40], "tokens": ["a"]},
                    },
                }
            ),
            ["adds or moves"],
        ),
        (both(), []),
    ],
    ids=["a normalizer that adds", "a text after the prompt", "nothing odd"],
)
def test_changes_of_a_tokenizer_to_a_raw_prompt_are_reported(
    victim: Victim, folder: Path, damage: Damage, words: list[str]
):
    damage(folder)
    victim.load(folder)
    finished = victim.end_of("generate", text=RAW, max_tokens=1)
    assert [word in notice["message"] for word, notice in zip(words, finished["notices"], strict=True)] == [True] * len(
        words
    )


# --- weights -----------------------------------------------------------------------------------------------------


def weights_with(value: float, dtype: str, name: str) -> Damage:
    def damage(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        weights = {each: array.astype(dtype) for each, array in weights.items()}
        weights[name].reshape(-1)[-1] = value
        save_file(weights, folder / "model.safetensors", metadata={"format": "mlx"})

    return damage


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_weights_that_are_not_numbers_are_reported_when_they_are_loaded(
    victim: Victim, folder: Path, value: float, dtype: str
):
    weights_with(value, dtype, EMBED)(folder)
    loaded = victim.end_of("load_model", model=str(folder))
    assert loaded["type"] == "model_loaded", loaded
    assert [EMBED in notice["message"] for notice in loaded["notices"]] == [True]
    victim.load("guide")  # this one can't answer


def test_an_infinite_number_in_the_configuration_is_reported(victim: Victim, folder: Path):
    edit("config.json", rms_norm_eps=math.inf)(folder)
    (notice,) = victim.end_of("load_model", model=str(folder))["notices"]
    assert "not finite numbers: `rms_norm_eps`: inf" in notice["message"]


def test_weights_too_large_for_any_memory_are_refused(victim: Victim, folder: Path):
    assert victim.end_of("load_model", model=str(folder))["type"] == "model_loaded"
    file = folder / "model.safetensors"
    shape = [2_000_000, 500_000]
    entries = {EMBED: {"dtype": "F32", "shape": shape, "data_offsets": [0, 4 * math.prod(shape)]}}
    described = json.dumps(entries).encode()
    file.write_bytes(struct.pack("<Q", len(described)) + described)
    os.truncate(file, file.stat().st_size + 4 * math.prod(shape))
    failed = victim.end_of("load_model", model=str(folder))
    assert failed["kind"] == "out_of_memory"
    assert "3,725 GiB" in failed["message"], failed
    victim.check()


def test_large_weights_are_ordinary_weights(victim: Victim, folder: Path):
    weights_with(3e38, "float32", EMBED)(folder)
    assert victim.end_of("load_model", model=str(folder))["notices"] == []


# --- what stays --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("damage", [both(), edit("config.json", num_hidden_layers=3)], ids=["good", "refused"])
def test_the_random_state_keeps_no_arrays_of_a_model(folder: Path, damage: Damage):
    """Building a model draws weights, lazily. Each draw would keep the one before it, until the worker ends."""
    damage(folder)
    with contextlib.suppress(ModelInvalidError):
        UnreadModel(find_model(str(folder)))
    drawn = io.StringIO()
    mx.export_to_dot(cast("Any", drawn), *cast("list[mx.array]", mx.random.state))
    assert drawn.getvalue().count("->") == 0, drawn.getvalue()[:500]
