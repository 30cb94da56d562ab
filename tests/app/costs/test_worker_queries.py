"""Requests to the worker while the user types: only the latest, one at a time; and the context meter."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from pytestqt.qtbot import QtBot

from app.answers.prompt import turns
from app.costs.context_meter import ContextMeter, ContextUse
from app.costs.worker_queries import FormatCheck, HookList, TokenCount, slices
from app.model.attachment import Attachment, unsent_files
from app.model.generation_settings import AnswerFormat, Hook
from app.model.message import Message, Role
from tests.app.desk import Desk
from tests.waiting import PATIENCE_MS
from worker.protocol import (
    Command,
    Failed,
    HookOption,
    HooksListed,
    ListedHook,
    ListHooks,
    Plan,
    Planned,
    PromptPlan,
    Tokenize,
    Tokenized,
    Validate,
    Validated,
)

_BRANCH = [Message(id=1, parent_id=None, role="root", text=""), Message(id=2, parent_id=1, role="user", text="u1")]


def _asked(desk: Desk, kind: type[Command]) -> Sequence[Command]:
    return [command for command in desk.link.commands if isinstance(command, kind)]


def _form(text: str) -> AnswerFormat:
    return AnswerFormat(kind="regex", text=text)


def test_only_the_last_of_formats_typed_quickly_is_checked(desk: Desk, qtbot: QtBot) -> None:
    check = FormatCheck(desk.session, desk.program)
    verdicts: list[str] = []
    check.checked.connect(verdicts.append)
    for end in range(1, 6):
        check.check(_form("(a|b)"[:end]))
    qtbot.waitUntil(lambda: bool(_asked(desk, Validate)), timeout=PATIENCE_MS)
    (asked,) = _asked(desk, Validate)
    assert isinstance(asked, Validate)
    assert asked.constraint.value == "(a|b)"
    desk.link.say(Validated(request_id=asked.request_id, ok=True, message=""))
    assert verdicts == [""]


def test_only_one_request_runs_and_overtaken_ones_are_not_answered(desk: Desk, qtbot: QtBot) -> None:
    check = FormatCheck(desk.session, desk.program)
    verdicts: list[str] = []
    check.checked.connect(verdicts.append)
    check.check(_form("("))
    qtbot.waitUntil(lambda: bool(_asked(desk, Validate)), timeout=PATIENCE_MS)
    check.check(_form("(a"))
    count = TokenCount(desk.session, desk.program)
    count.count("asked later, sent later")
    qtbot.waitUntil(lambda: bool(_asked(desk, Tokenize)), timeout=PATIENCE_MS)
    assert len(_asked(desk, Validate)) == 1
    desk.link.say(Validated(request_id=_asked(desk, Validate)[0].request_id, ok=False, message="It ends too early."))
    assert verdicts == []
    first, second = _asked(desk, Validate)
    assert first.request_id != second.request_id
    desk.link.say(Validated(request_id=second.request_id, ok=False, message="It lacks a parenthesis."))
    assert verdicts == ["It lacks a parenthesis."]


def test_a_format_that_was_removed_is_not_checked(desk: Desk, qtbot: QtBot) -> None:
    check, count = FormatCheck(desk.session, desk.program), TokenCount(desk.session, desk.program)
    check.check(_form("a"))
    check.check(None)
    count.count("later")
    qtbot.waitUntil(lambda: bool(_asked(desk, Tokenize)), timeout=PATIENCE_MS)
    assert _asked(desk, Validate) == []


def test_a_request_that_ran_when_a_worker_died_is_sent_to_the_next_one(desk: Desk, qtbot: QtBot) -> None:
    count = TokenCount(desk.session, desk.program)
    counts: list[int] = []
    count.counted.connect(counts.append)
    count.count("one")
    qtbot.waitUntil(lambda: bool(_asked(desk, Tokenize)), timeout=PATIENCE_MS)
    desk.link.die()
    desk.link.loaded()
    count.count("two")
    qtbot.waitUntil(lambda: len(_asked(desk, Tokenize)) == 2, timeout=PATIENCE_MS)
    asked = _asked(desk, Tokenize)[-1]
    desk.link.say(Tokenized(request_id=asked.request_id, token_ids=[], pieces=[], num_tokens=2))
    assert counts == [2]


def test_hooks_are_listed_as_their_files_describe_them(desk: Desk, qtbot: QtBot) -> None:
    hooks = HookList(desk.session, desk.program)
    seen: list[list[Hook]] = []
    hooks.listed.connect(seen.append)
    hooks.ask()
    qtbot.waitUntil(lambda: bool(_asked(desk, ListHooks)), timeout=PATIENCE_MS)
    listed = ListedHook(name="h", summary="S", options=[HookOption(name="times", kind="int", default=3)])
    desk.link.say(HooksListed(request_id=_asked(desk, ListHooks)[0].request_id, hooks=[listed]))
    ((hook,),) = seen
    assert (hook.name, hook.summary, hook.options[0].default) == ("h", "S", 3)


@pytest.mark.parametrize("seed", range(40))
def test_a_branch_in_slices_has_the_turns_of_the_whole(seed: int) -> None:
    draw = random.Random(seed)
    roles: tuple[Role, ...] = ("user", "user", "assistant", "assistant", "note", "system")
    path = [
        Message(id=number, parent_id=number - 1, role=draw.choice(roles), text=draw.choice(["", " ", f"t{number}"]))
        for number in range(draw.choice((0, 1, 99, 100, 101, 500)))
    ]
    parts = list(slices(path))
    assert [message for part in parts for message in part] == path
    assert [turn for part in parts for turn in turns(part)] == turns(path)
    assert len(parts) >= len(path) // 200


# --- the meter -----------------------------------------------------------------------------------------------


def _planned(desk: Desk, bot: QtBot, number: int, prompt: int, cached: int, pace: float | None = 100.0) -> Plan:
    bot.waitUntil(lambda: len(_asked(desk, Plan)) == number, timeout=PATIENCE_MS)
    plan = _asked(desk, Plan)[-1]
    assert isinstance(plan, Plan)
    desk.link.say(
        Planned(
            request_id=plan.request_id,
            plans=[PromptPlan(prompt_tokens=prompt, cached_tokens=cached, tier="warm")],
            prefill_tokens_per_s=pace,
        )
    )
    return plan


def _written(desk: Desk, bot: QtBot, number: int, text: str, prompt: int, cached: int) -> None:
    """Let the worker count the branch with the typed text below it."""
    plan = _planned(desk, bot, number, prompt, cached)
    assert isinstance(plan.prompts, list)
    assert isinstance(plan.prompts[0].messages, list)
    assert [message.content for message in plan.prompts[0].messages] == [text]


def test_the_meter_fills_while_the_user_types(desk: Desk, qtbot: QtBot) -> None:
    meter = ContextMeter(desk.session, desk.program)
    meter.show(lambda: _BRANCH, {})
    assert meter.use is None
    _written(desk, qtbot, 1, "u1\n\n?", 301, 200)
    assert meter.use == ContextUse(300, 200, 2048, 1.0)
    meter.write("some words")
    _written(desk, qtbot, 2, "u1\n\nsome words", 350, 220)
    use = meter.use
    assert use is not None
    assert use == ContextUse(350, 220, 2048, 1.3)
    assert (use.num_read, use.num_free) == (130, 1698)
    meter.write("some words", unsent_files([Attachment(name="n.py", text="x = 1\n")]), 7)
    _written(desk, qtbot, 3, "u1\n\nn.py:\n\n```py\nx = 1\n```\n\nsome words", 1950, 220)
    use = meter.use
    assert use is not None
    assert (use.num_used, use.is_nearly_full, use.is_over) == (1950, True, False)
    meter.write(" ")
    assert meter.use == ContextUse(300, 200, 2048, 1.0)


@pytest.mark.parametrize("what", ["files", "branch"])
def test_with_long_files_or_branches_only_the_typed_text_is_counted_again(desk: Desk, qtbot: QtBot, what: str) -> None:
    meter = ContextMeter(desk.session, desk.program)
    branch = _BRANCH if what == "files" else [*_BRANCH, *(_said(number) for number in range(3, 1500))]
    attached = unsent_files([Attachment(name="n.txt", text="x" * 200_000)] if what == "files" else [])
    meter.show(lambda: branch, {})
    _planned(desk, qtbot, 1, 301, 200)
    meter.write("some words", attached, 1600)
    qtbot.waitUntil(lambda: bool(_asked(desk, Tokenize)), timeout=PATIENCE_MS)
    desk.link.say(Tokenized(request_id=_asked(desk, Tokenize)[0].request_id, token_ids=[], pieces=[], num_tokens=50))
    use = meter.use
    assert use is not None
    assert (use.num_used, use.num_kept, use.num_read) == (1950, 200, 1750)
    meter.write(" ", attached, 1600)
    assert meter.use is not None
    assert meter.use.num_used == 1900
    assert len(_asked(desk, Plan)) == 1


def _said(number: int) -> Message:
    return Message(id=number, parent_id=number - 1, role="assistant" if number % 2 else "user", text=f"m{number}")


def test_a_late_count_of_another_conversation_is_ignored(desk: Desk, qtbot: QtBot) -> None:
    meter = ContextMeter(desk.session, desk.program)
    meter.show(lambda: _BRANCH, {})
    qtbot.waitUntil(lambda: bool(_asked(desk, Plan)), timeout=PATIENCE_MS)
    meter.show(list, {}, is_another=True)
    _planned(desk, qtbot, 1, 301, 200)
    assert meter.use is None
    _planned(desk, qtbot, 2, 11, 0)
    assert meter.use == ContextUse(10, 0, 2048, 10 / 100 * 11 / 11)


def test_a_prompt_that_the_model_refuses_leaves_the_meter_empty(desk: Desk, qtbot: QtBot) -> None:
    meter = ContextMeter(desk.session, desk.program)
    meter.show(lambda: _BRANCH, {})
    _planned(desk, qtbot, 1, 301, 200)
    meter.show(lambda: _BRANCH, {"enable_thinking": True})
    qtbot.waitUntil(lambda: len(_asked(desk, Plan)) == 2, timeout=PATIENCE_MS)
    plan = _asked(desk, Plan)[-1]
    assert isinstance(plan, Plan)
    assert isinstance(plan.prompts, list)
    assert plan.prompts[0].template_options == {"enable_thinking": True}
    desk.link.say(Failed(request_id=plan.request_id, kind="bad_request", message="It has no template."))
    assert meter.use is None


def test_another_model_counts_again(desk: Desk, qtbot: QtBot) -> None:
    meter = ContextMeter(desk.session, desk.program)
    meter.show(lambda: _BRANCH, {})
    _planned(desk, qtbot, 1, 301, 200)
    desk.session.load("/another")
    assert meter.use is None
    desk.link.loaded()
    _planned(desk, qtbot, 2, 21, 0, None)
    assert meter.use == ContextUse(20, 0, 2048, None)


# --- waiting -------------------------------------------------------------------------------------------------


def test_an_answer_waits_for_one_that_is_written_in_another_conversation(desk: Desk) -> None:
    desk.controller.send("Trip plans")
    first = desk.controller.shown.path[-1]
    assert desk.controller.shown.waits_for(first.id) is None
    desk.link.reading(desk.link.asked[-1], 0, 100, 0)
    desk.controller.shown.new_conversation()
    desk.controller.send("u2")
    second = desk.controller.shown.path[-1]
    assert desk.controller.shown.waits_for(second.id) == "Trip plans"
    desk.link.reading(desk.link.asked[-1], 0, 100, 0)
    assert desk.controller.shown.waits_for(second.id) is None


def test_no_answer_waits_for_one_that_has_ended(desk: Desk) -> None:
    desk.controller.send("u1")
    desk.link.chunk(desk.link.asked[-1], "a")
    desk.controller.shown.new_conversation()
    desk.controller.send("u2")
    second = desk.controller.shown.path[-1]
    assert desk.controller.shown.waits_for(second.id) == "u1"
    desk.link.finished(desk.link.asked[0], "a1")
    assert desk.controller.shown.waits_for(second.id) is None
