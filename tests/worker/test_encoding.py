"""Lines and frames as messages: any input becomes a command or the one event that refuses it."""

from __future__ import annotations

import json
import random
from typing import Any

import msgspec
import pytest

from worker.encoding import command_from_json, command_from_msgpack, to_json, to_msgpack
from worker.protocol import CacheStats, Cancel, Command, Event, Failed, Generate, Message, Plan

DEEP = "[" * 100_000 + "]" * 100_000


def refused(line: str | bytes) -> Failed:
    answer = command_from_json(line.encode() if isinstance(line, str) else line)
    assert isinstance(answer, Failed), answer
    assert answer.kind == "bad_request"
    # The refusal itself can always be encoded.
    assert msgspec.json.decode(to_json(answer), type=Event) == answer
    return answer


_USER = {"role": "user", "content": "Hi"}
_CALLED = {"id": "1", "name": "f", "arguments": "{}"}
_TOOL = {"name": "f", "parameters": {}}


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("generate", {"messages": [{**_USER, "reasoning": "Hm"}]}, "`reasoning` and `written` belong to the role"),
        ("generate", {"messages": [{**_USER, "tool_call_id": "1"}]}, "`tool_call_id` belongs to the role `tool`"),
        ("generate", {"messages": [{**_USER, "role": "assistant", "written": "Hi"}]}, "goes with `token_ids` only"),
        ("tokenize", {"text": "a", "template_options": {}}, "`template_options` goes with `messages` only"),
        ("tokenize", {"text": "a", "tools": [_TOOL]}, "`tools` goes with `messages` only"),
        ("tokenize", {"messages": [_USER], "tools": [_TOOL, _TOOL]}, "`tools` names a tool twice"),
        ("tokenize", {"text": "a", "token_ids": [1]}, "exactly one"),
        ("generate", {"text": "a", "continuation": {"token_ids": [1], "known_ids": [1]}}, "goes with `text` only"),
        ("generate", {"text": "a", "overflow": "drop_oldest"}, "`overflow` goes with `messages` only"),
        ("generate", {"text": "a", "segments": []}, "`segments` is empty"),
        ("generate", {"text": "a", "segments": [{}], "stop": ["b"]}, "belong into each of the `segments`"),
        (
            "generate",
            {"messages": [_USER], "segments": [{}], "tools": [_TOOL]},
            "`tools` does not go with `segments`",
        ),
        ("generate", {"messages": [_USER], "tool_choice": "required"}, "there are no `tools`"),
        ("generate", {"messages": [_USER], "tools": [_TOOL], "tool_choice": {"name": "g"}}, "not among `tools`"),
        ("plan", {"paths": [[0]], "messages": [_USER], "continuation": {"text": "a"}}, "goes with `prompts` only"),
        ("plan", {"paths": [[0]]}, "`messages` and `paths` go together"),
        ("plan", {"prompts": [], "template_options": {}}, "`template_options` goes with `messages` only"),
        ("plan", {"prompts": [], "tools": [_TOOL]}, "`tools` goes with `messages` only"),
        ("plan", {"paths": [[0], [0, 1]], "messages": [_USER]}, "`paths[1]` names message 1 of 1"),
    ],
)
def test_fields_that_do_not_go_together_are_refused(kind: str, fields: dict[str, Any], words: str):
    assert words in refused(json.dumps({"type": kind, "request_id": "a", **fields})).message


@pytest.mark.parametrize(
    "command",
    [
        CacheStats(request_id="a"),
        CacheStats(request_id=-(2**63)),
        Cancel(request_id="", target=2**63 - 1, choice=3),
        Generate(request_id="ü\x00😀", messages=[Message(role="tool", content="\x00", token_ids=[0])], stop=["\n"]),
    ],
)
def test_a_command_survives_both_encodings(command: Command):
    assert command_from_json(to_json(command)) == command
    assert command_from_msgpack(to_msgpack(command)) == command


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"request_id": "r", "type": "nonsense"}', "$.type"),
        ('{"request_id": "r", "type": ["generate"]}', "$.type"),
        ('{"request_id": "r"}', "`type`"),
        ('{"request_id": "r", "type": "generate"}', "`messages`, `text`, `token_ids`"),
        ('{"request_id": "r", "type": "generate", "text": "a", "token_ids": [1]}', "`text`, `token_ids`"),
        ('{"request_id": "r", "type": "generate", "text": null}', "$.text"),
        ('{"request_id": "r", "type": "generate", "text": "a", "template_options": {}}', "`template_options`"),
        ('{"request_id": "r", "type": "generate", "text": "a", "temperature": 1}', "`temperature`"),
        ('{"request_id": "r", "type": "generate", "text": "a", "sampling": {"top-p": 1}}', "`top-p`"),
        ('{"request_id": "r", "type": "generate", "text": "a", "sampling": {"temperature": -1}}', "temperature"),
        ('{"request_id": "r", "type": "generate", "text": "a", "sampling": {"temperature": 1e999}}', "temperature"),
        ('{"request_id": "r", "type": "generate", "text": "a", "sampling": {"seed": -1}}', "$.sampling.seed"),
        ('{"request_id": "r", "type": "generate", "text": "a", "sampling": {"seed": 9223372036854775808}}', "seed"),
        ('{"request_id": "r", "type": "generate", "text": "a", "max_tokens": 0}', "$.max_tokens"),
        ('{"request_id": "r", "type": "generate", "text": "a", "max_tokens": "5"}', "$.max_tokens"),
        (f'{{"request_id": "r", "type": "generate", "text": "a", "max_tokens": {"9" * 5000}}}', "$.max_tokens"),
        ('{"request_id": "r", "type": "generate", "text": "a", "stop": [""]}', "$.stop"),
        ('{"request_id": "r", "type": "generate", "text": "a", "stop": "x"}', "$.stop"),
        ('{"request_id": "r", "type": "generate", "text": "a", "top_logprobs": 21}', "$.top_logprobs"),
        ('{"request_id": "r", "type": "generate", "text": "a", "continuation": {}}', "`text`, `token_ids`"),
        (
            '{"request_id": "r", "type": "generate", "text": "a", "continuation": {"text": "", "token_ids": []}}',
            "`text`",
        ),
        ('{"request_id": "r", "type": "generate", "token_ids": [-1]}', "$.token_ids"),
        ('{"request_id": "r", "type": "generate", "token_ids": [2147483648]}', "$.token_ids"),
        ('{"request_id": "r", "type": "generate", "token_ids": [1.5]}', "$.token_ids"),
        ('{"request_id": "r", "type": "generate", "messages": [{"role": "admin", "content": "a"}]}', "role"),
        ('{"request_id": "r", "type": "generate", "messages": [{"role": "user", "content": null}]}', "content"),
        ('{"request_id": "r", "type": "generate", "messages": [{"role": "user"}]}', "`content`"),
        ('{"request_id": "r", "type": "plan", "prompts": [{"text": "a"}, {}]}', "$.prompts[1]"),
        ('{"request_id": "r", "type": "load_model", "model": ""}', "$.model"),
        ('{"request_id": "r", "type": "load_model", "model": "a", "draft_model": ""}', "$.draft_model"),
        ('{"request_id": "r", "type": "load_model", "model": "a", "cache": {"limit_bytes": -1}}', "limit_bytes"),
        (
            f'{{"request_id": "r", "type": "load_model", "model": "a", "cache": {{"limit_bytes": {2**70}}}}}',
            "limit_bytes",
        ),
        (
            f'{{"request_id": "r", "type": "load_model", "model": "a", "cache": {{"disk_limit_bytes": {10**400}}}}}',
            "disk_limit_bytes",
        ),
        ('{"request_id": "r", "type": "cancel"}', "`target`"),
        ('{"request_id": "r", "type": "cancel", "target": "a", "choice": -1}', "$.choice"),
    ],
)
def test_an_invalid_field_is_named_and_the_id_is_repeated(line: str, expected: str):
    failed = refused(line)
    assert failed.request_id == "r"
    assert expected in failed.message


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b'{"request_id": "r", "type": "generate", "text": "\\ud800"}', "$.text"),
        (b'{"request_id": "r", "type": "generate", "text": "a\\udc00b"}', "$.text"),
        (b'{"request_id": "r", "type": "generate", "text": "\\ud83d\\u0041 and much more text behind it"}', "$.text"),
        (b'{"request_id": "r", "type": "generate", "text": "\xff"}', "$.text"),
        (b'{"request_id": "r", "type": "generate", "text": "\xed\xa0\x80"}', "$.text"),
        (b'{"request_id": "r", "type": "generate", "text": "a", "stop": ["b", "\\udfff"]}', "$.stop[1]"),
        (
            b'{"type": "generate", "messages": [{"role": "user", "content": "\\uDEAD"}], "request_id": "r"}',
            "$.messages[0].content",
        ),
        (b'{"request_id": "r", "type": "generate", "text": "a", "\\ud800": 1}', "$"),
    ],
)
def test_invalid_unicode_is_refused_with_its_path_and_the_id(line: bytes, expected: str):
    failed = refused(line)
    assert failed.request_id == "r"
    assert f"`{expected}`" in failed.message


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "nonsense",
        "[]",
        "null",
        '"r"',
        "17",
        '{"type": "cache_stats"}',
        '{"request_id": null, "type": "cache_stats"}',
        '{"request_id": true, "type": "cache_stats"}',
        '{"request_id": 1.5, "type": "cache_stats"}',
        '{"request_id": ["r"], "type": "cache_stats"}',
        '{"request_id": 9223372036854775808, "type": "cache_stats"}',
        '{"request_id": -9223372036854775809, "type": "cache_stats"}',
        f'{{"request_id": {"9" * 5000}, "type": "cache_stats"}}',
        '{"request_id": "\\ud800", "type": "cache_stats"}',
        b'{"request_id": "r\xff", "type": "cache_stats"}',
        b'{"request_id": "\\ud800\xd7", "type": "cache_stats"}',
        '{"request_id": "r", "type": "cache_stats"} {}',
        DEEP,
        "[" * 100_000,
        '{"messages": [{"request_id": "not mine"}], "deep": ' + DEEP + "}",
    ],
)
def test_a_line_without_a_readable_id_is_refused_without_an_id(line: str | bytes):
    assert refused(line).request_id is None


@pytest.mark.parametrize("request_id", ["r", 7, -7, 'quo"te\\', "{[:", "ü😀"])
@pytest.mark.parametrize("comes_first", [True, False])
def test_a_message_nested_too_deeply_is_refused_with_its_id(request_id: str | int, comes_first: bool):
    own = f'"request_id": {json.dumps(request_id)}'
    if comes_first:
        line = f'{{"inner": {{"request_id": 1}}, {own}, "type": "generate", "template_options": {{"a": {DEEP}}}}}'
    else:
        line = f'{{"type": "generate", "template_options": {{"a": {"[" * 40_000 + "]" * 40_000}}}, {own}}}'
    failed = refused(line)
    assert failed.request_id == request_id
    assert "nested" in failed.message


def test_the_last_of_two_ids_counts_as_in_a_command():
    assert refused('{"request_id": "a", "request_id": "b", "type": "nonsense"}').request_id == "b"


def test_every_frame_is_a_command_or_a_refusal():
    assert command_from_msgpack(b"").request_id is None
    assert command_from_msgpack(b"\xff" * 9).request_id is None
    nested = b"\x83\xa4type\xa8generate\xaarequest_id\xa1a\xa4text" + b"\x91" * 100_000
    assert isinstance(command_from_msgpack(nested), Failed)
    wrong = msgspec.msgpack.encode({"type": "generate", "request_id": 5})
    assert command_from_msgpack(wrong).request_id == 5


def _damaged(data: bytes, dice: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(len(damaged) + 1)
        damaged[at : at + dice.randint(0, 2)] = dice.choice(
            [b"", bytes([dice.randrange(256)]), b'"', b"[", b"{", b"\\ud800", b"null", b"1e400", b"\\", b"\x00"]
        )
    return bytes(damaged)


def test_damaged_messages_are_commands_or_refusals_that_can_be_encoded():
    dice = random.Random(7)
    whole: list[dict[str, Any]] = [
        {
            "type": "generate",
            "request_id": "r",
            "messages": [{"role": "user", "content": "Hi 😀", "token_ids": [1, 2]}],
            "sampling": {"temperature": 1.0, "seed": 3},
            "stop": ["a"],
            "max_tokens": 4,
        },
        {"type": "plan", "request_id": 4, "prompts": [{"text": "a"}, {"token_ids": [1]}]},
        {"type": "cancel", "request_id": "c", "target": "r", "choice": 0},
    ]
    num_refused = num_commands = 0
    for _ in range(20_000):
        message = dice.choice(whole)
        read = command_from_json(_damaged(json.dumps(message).encode(), dice))
        framed = command_from_msgpack(_damaged(msgspec.msgpack.encode(message), dice))
        for answer, encode in ((read, to_json), (framed, to_msgpack)):
            encode(answer)
            num_refused += isinstance(answer, Failed)
            num_commands += not isinstance(answer, Failed)
    assert num_refused > 1000
    assert num_commands > 300


def test_a_plan_takes_prompts_of_all_three_kinds():
    line = (
        '{"type": "plan", "request_id": 1, "prompts": [{"text": "a"}, {"token_ids": [1]}, '
        '{"messages": [{"role": "user", "content": "a"}], "template_options": {"b": 1}}]}'
    )
    command = command_from_json(line.encode())
    assert isinstance(command, Plan)
    assert len(command.prompts or []) == 3
