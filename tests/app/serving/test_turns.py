"""The ids of written turns, remembered behind their histories."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from app.serving.drop_rules import DropRuleError, DropRules
from app.serving.history import Requests, digest_of
from app.serving.messages import Client, Compared
from app.serving.problems import ProblemError
from app.serving.turns import Turns
from tests.app.serving.loaded import LOADED, OTHER
from worker.protocol import Message, Tool, ToolCall
from worker.tools.turn_parts import same_json

_USER = Message(role="user", content="What is the time?")
_CALL = ToolCall(name="clock", arguments={"zone": "UTC", "digits": 2}, id="call_1")
_WRITTEN = '<think>\nLook it up.\n</think>\n\nI look.\n<tool_call>{"name": "clock", …}</tool_call>'
_TURN = Message(role="assistant", content="I look.\n", reasoning="Look it up.\n", tool_calls=[_CALL])
_TOOLS = [Tool(name="clock")]


def _returned(content: str, *, arguments: dict[str, Any] | None = None, call_id: str = "other") -> Message:
    """Return `_TURN` as a client returns it."""
    given = {"digits": 2.0, "zone": "UTC"} if arguments is None else arguments
    return Message(role="assistant", content=content, tool_calls=[ToolCall(name="clock", arguments=given, id=call_id)])


@pytest.fixture
def turns(tmp_path: Path) -> Turns:
    kept = Turns(tmp_path / "turns.sqlite3")
    kept.add(LOADED, _TOOLS, [_USER], _TURN, _WRITTEN, [5, 6, 7])
    return kept


@pytest.mark.parametrize("content", ["I look.\n", "I look.", " I look. "])
def test_a_returned_turn_is_as_the_model_wrote_it(turns: Turns, content: str) -> None:
    result = Message(role="tool", content="12:00", tool_call_id="other")
    user, turn, last = turns.recalled(LOADED, _TOOLS, [_USER, _returned(content), result])
    assert (user, last) == (_USER, result)
    assert turn.token_ids == [5, 6, 7]
    assert turn.written == _WRITTEN
    assert (turn.content, turn.reasoning) == (_TURN.content, _TURN.reasoning)
    # A template that shows the ids of calls shows those that the results name.
    assert [call.id for call in turn.tool_calls] == ["other"]


@pytest.mark.parametrize(
    ("messages", "tools", "model"),
    [
        pytest.param([_USER, _returned("I looked.")], _TOOLS, LOADED, id="another text"),
        pytest.param([_USER, _returned("I look.", arguments={"zone": "UTC"})], _TOOLS, LOADED, id="another call"),
        pytest.param([_USER, Message(role="assistant", content="I look.")], _TOOLS, LOADED, id="without the call"),
        pytest.param([Message(role="user", content="Time?"), _returned("I look.")], _TOOLS, LOADED, id="other history"),
        pytest.param([_USER, _USER, _returned("I look.")], _TOOLS, LOADED, id="a longer history"),
        pytest.param([_USER, _returned("I look.")], [], LOADED, id="other tools"),
        pytest.param([_USER, _returned("I look.")], _TOOLS, OTHER, id="another model"),
    ],
)
def test_a_turn_is_recalled_behind_its_exact_history_only(
    turns: Turns, messages: list[Message], tools: list[Tool], model: Any
) -> None:
    assert turns.recalled(model, tools, messages) == messages


def test_a_plain_answer_needs_no_second_text(turns: Turns) -> None:
    turns.add(LOADED, [], [_USER], Message(role="assistant", content="Noon. "), "Noon. ", [1, 2])
    turn = turns.recalled(LOADED, [], [_USER, Message(role="assistant", content="Noon.")])[1]
    assert (turn.content, turn.token_ids, turn.written) == ("Noon. ", [1, 2], UNSET)


def test_turns_outlive_the_process_in_a_file_of_their_owner(turns: Turns, tmp_path: Path) -> None:
    turns.close()
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    turn = Turns(tmp_path / "turns.sqlite3").recalled(LOADED, _TOOLS, [_USER, _returned("I look.")])[1]
    assert turn.token_ids == [5, 6, 7]


def test_two_servers_share_the_file(turns: Turns, tmp_path: Path) -> None:
    other = Turns(tmp_path / "turns.sqlite3")
    other.add(LOADED, [], [_USER], Message(role="assistant", content="Noon."), "Noon.", [1, 2])
    turn = turns.recalled(LOADED, [], [_USER, Message(role="assistant", content="Noon.")])[1]
    assert turn.token_ids == [1, 2]


def test_a_damaged_file_is_set_aside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "turns.sqlite3"
    path.write_bytes(b"no database" * 500)
    kept = Turns(path)
    kept.add(LOADED, _TOOLS, [_USER], _TURN, _WRITTEN, [5])
    assert kept.recalled(LOADED, _TOOLS, [_USER, _returned("I look.")])[1].token_ids == [5]
    assert path.with_suffix(".damaged").read_bytes().startswith(b"no database")
    assert "Turns of earlier starts are not known" in caplog.text


def test_a_folder_in_place_of_the_file_does_not_prevent_answers(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept = Turns(tmp_path)
    kept.add(LOADED, _TOOLS, [_USER], _TURN, _WRITTEN, [5])
    assert kept.recalled(LOADED, _TOOLS, [_USER, _returned("I look.")])[1].token_ids == [5]
    assert "Turns of earlier starts are not known" in caplog.text


def test_turns_that_were_used_longest_ago_are_forgotten(tmp_path: Path) -> None:
    kept = Turns(tmp_path / "turns.sqlite3", max_bytes=5_000)
    texts = [f"Answer {number}." for number in range(20)]
    for text in texts:
        kept.add(LOADED, [], [_USER], Message(role="assistant", content=text), text, [1] * 100)
        # The first one is used again and again.
        kept.recalled(LOADED, [], [_USER, Message(role="assistant", content=texts[0])])
    known = [
        turn.token_ids is not UNSET
        for text in texts
        for turn in kept.recalled(LOADED, [], [_USER, Message(role="assistant", content=text)])[1:]
    ]
    assert known[0]
    assert known[-1]
    assert not any(known[1:10])


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text("aé", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)


def _is_same(one: Any, other: Any) -> bool:
    """Return whether JSON values are equal, by JSON's types."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_is_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return type(one) is not list and type(one) is not dict and one == other


@given(_json, _json)
def test_calls_are_compared_as_json_values(one: Any, other: Any) -> None:
    def digest(value: Any) -> bytes:
        call = ToolCall(name="f", arguments={"value": value})
        return digest_of(Message(role="assistant", content="", tool_calls=[call]))

    assert (digest(one) == digest(other)) is _is_same(one, other)
    assert _is_same(same_json(one), one)


# --- what has changed since --------------------------------------------------------------------------------

_SYSTEM = Message(role="system", content="You are an agent.")
_MESSAGES = [_SYSTEM, _USER, Message(role="assistant", content="Noon."), Message(role="user", content="And now?")]
_ME = Client(program="agent/1.0", address="127.0.0.1")


def _changed(messages: list[Message], tools: list[Tool] | None = None, client: Client = _ME) -> Compared:
    requests = Requests()
    _, note = requests.compare(_ME, "guide", _TOOLS, _MESSAGES)
    note(40)
    # Another session of the same client.
    requests.compare(_ME, "guide", _TOOLS, [Message(role="user", content="Something else")])
    return requests.compare(client, "guide", _TOOLS if tools is None else tools, messages)[0]


def test_the_first_part_that_changed_is_named() -> None:
    other = Message(role="user", content="Other")
    on = [*_MESSAGES, Message(role="assistant", content="Still noon."), other]
    assert _changed(on) == Compared(is_known=True, num_known_tokens=40)
    assert _changed(_MESSAGES[:2]) == Compared(is_known=True)
    assert _changed(_MESSAGES, tools=[]).changed == "tools"
    assert _changed([Message(role="system", content="It is Monday."), *on[1:]]).changed == "system text"
    assert _changed([*_MESSAGES[:3], other]).changed == "message 4 (user)"
    assert _changed([_SYSTEM, other, *_MESSAGES[1:]]).changed == "message 2 (user)"
    assert _changed([other]) == Compared()
    assert _changed(on, client=Client(program="other", address="127.0.0.1")) == Compared()


# --- parts that change with each request -------------------------------------------------------------------


def test_rules_leave_out_the_text_that_a_client_changes_each_time() -> None:
    rules = DropRules([r"(?m)^x-[a-z-]*header: .*\n", r"Today is \S+ "])
    system = Message(role="system", content="x-billing-header: abc=123;\nYou are an agent.")
    first = Message(role="user", content="Today is 2026-11-22 and all is well.")
    later = Message(role="user", content="Today is 2026-11-23 and all is well.")
    left, dropped = rules.applied([system, first, later])
    assert [message.content for message in left] == ["You are an agent.", "and all is well.", later.content]
    assert dropped == (r"(?m)^x-[a-z-]*header: .*\n", r"Today is \S+ ")
    assert rules.applied([later]) == ([Message(role="user", content="and all is well.")], (r"Today is \S+ ",))
    assert DropRules([]).applied([system]) == ([system], ())


def test_a_rule_that_is_not_a_regular_expression_is_refused() -> None:
    with pytest.raises(DropRuleError, match=r"The rule “\(” is not a regular expression"):
        DropRules(["("])


def test_a_rule_that_takes_too_long_is_named() -> None:
    with pytest.raises(ProblemError, match="takes too long"):
        DropRules([r"(a|aa)+$"]).applied([Message(role="system", content="a" * 60 + "b")])
