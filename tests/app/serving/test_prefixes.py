"""Requests through the local API read what no request before them has read, and nothing else."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET
from tokenizers import AddedToken

from tests.app.serving.agent import Agent, Session, random_text
from tests.app.serving.owned import Owned
from tests.app.serving.running import KEY, Bough
from tests.models import byte_level_tokenizer, write_scripted_model
from worker.protocol import Chunk

_END = 2
"""The guide's token that ends an answer."""


def test_a_session_that_grows_is_cut_and_changes_reads_each_token_once() -> None:
    agent = Agent()
    with Owned("guide") as owner:
        session = Session(owner.ready())
        for _ in range(30):
            agent.ask()
            agent.take(session.ask(agent.messages))
        assert session.num_read == session.num_ideal


def test_a_request_that_comes_while_another_reads_the_same_prompt_shares_it() -> None:
    messages: list[Any] = [{"role": "user", "content": random_text(random.Random(3), 600)}]
    with Owned("guide") as owner:
        client = owner.ready().openai()
        # It does not end while the other one is answered.
        first = client.chat.completions.create(
            model="guide", messages=messages, temperature=0, stream=True, logit_bias={str(_END): -100}
        )
        owner.event(Chunk)
        second = client.chat.completions.create(model="guide", messages=messages, max_tokens=2, temperature=0)
        first.close()
        assert second.usage is not None
        assert second.usage.prompt_tokens_details is not None
        # One more: the token that ended the answer.
        assert second.usage.prompt_tokens_details.cached_tokens == second.usage.prompt_tokens - 1


def test_a_session_continues_after_a_restart(tmp_path: Path) -> None:
    messages: list[Any] = [{"role": "user", "content": random_text(random.Random(5), 80)}]
    known = 0
    for answers in (2, 1):
        with Bough(tmp_path) as bough:
            model = bough.wait_until_ready()
            client = bough.openai(KEY)
            for number in itertools.count():
                reply = client.chat.completions.create(model=model, messages=messages, max_tokens=8, temperature=0.9)
                assert reply.usage is not None
                details = reply.usage.prompt_tokens_details
                assert details is not None
                # The last token of an answer that was cut by its length was not computed.
                assert (details.cached_tokens or 0) >= known
                known = reply.usage.total_tokens - 2
                messages += [
                    {"role": "assistant", "content": reply.choices[0].message.content},
                    {"role": "user", "content": "And then?"},
                ]
                if number + 1 == answers:
                    break
            assert bough.end() == 0


def test_the_reply_and_the_log_say_what_changed(bough: Bough) -> None:
    client = bough.openai()

    def headers(*contents: str) -> Any:
        roles = ("system", "user", "assistant", "user")
        messages: Any = [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]
        return client.chat.completions.with_raw_response.create(
            model="guide", messages=messages, max_tokens=1, extra_headers={"User-Agent": "agent/7"}
        ).headers

    assert "x-bough-changed" not in headers("You are an agent.", "How do I fork?")
    assert "x-bough-changed" not in headers("You are an agent.", "How do I fork?", "By a key.", "Which?")
    assert (
        headers("You are an agent.", "How do I edit?", "By a key.", "Which?")["x-bough-changed"] == "message 2 (user)"
    )
    assert headers("It is noon.", "How do I edit?", "By a key.", "Which?")["x-bough-changed"] == "system text"
    assert bough.line("(agent/7: prompt of .* changed: system text, wrote 1 at)")


def test_a_rule_leaves_out_the_text_that_changes_each_time(tmp_path: Path) -> None:
    with Bough(tmp_path, "--port", "0", "--drop", r"^It is \d+ o'clock\. ") as bough:
        bough.wait_until_ready()
        client = bough.openai()
        for hour in (7, 8):
            messages: Any = [
                {"role": "system", "content": f"It is {hour} o'clock. You are an agent."},
                {"role": "user", "content": "How do I fork a conversation?"},
            ]
            raw = client.chat.completions.with_raw_response.create(model="guide", messages=messages, max_tokens=1)
            usage = raw.parse().usage
        assert raw.headers["x-bough-left-out"].startswith("%5EIt%20is")
        assert usage is not None
        assert usage.prompt_tokens_details is not None
        assert usage.prompt_tokens_details.cached_tokens == usage.prompt_tokens - 1
        assert bough.line("(left out .*o'clock)")


def test_an_invalid_rule_ends_the_start_with_a_sentence(tmp_path: Path) -> None:
    with (
        Bough(tmp_path, "--port", "0", "--drop", "(") as bough,
        pytest.raises(EOFError, match="not a regular expression"),
    ):
        bough.wait_until_ready()


_TEMPLATE = """\
{%- if tools %}{{- "Write <tool_call>\\n{\\"name\\": …, \\"arguments\\": …}\\n</tool_call>\\n" }}
{%- for tool in tools %}{{- tool | tojson }}{%- endfor %}{%- endif %}
{%- for message in messages %}
    {{- "<|im_start|>" + message.role + "\\n" + (message.content or "") }}
    {%- for call in message.tool_calls or [] %}
        {{- "\\n<tool_call>\\n" + ({"name": call.function.name, "arguments": call.function.arguments} | tojson) }}
        {{- "\\n</tool_call>" }}
    {%- endfor %}
    {{- "<|im_end|>\\n" }}
{%- endfor %}
{%- if add_generation_prompt %}{{- "<|im_start|>assistant\\n" }}{%- endif %}"""
# Neither the spaces nor the tokens are those of the template's own JSON.
_PIECES = ("I ask", " for it.", "\n<tool_call>", '"city":"R', 'ome","days":2}}', "\n</tool_call>")


def test_a_returned_call_has_the_ids_that_the_model_wrote(tmp_path: Path) -> None:
    tokenizer = byte_level_tokenizer()
    tokenizer.add_tokens([AddedToken(piece, normalized=False) for piece in _PIECES])
    (*pieces,) = itertools.chain.from_iterable(tokenizer.encode(piece).ids for piece in _PIECES)
    # The grammar of calls forces the text between the marker and the arguments.
    before = {tokenizer.encode("{").ids[0]: pieces[3], tokenizer.encode("\n").ids[0]: pieces[0]}
    chain = dict(itertools.pairwise(pieces)) | before
    write_scripted_model(tmp_path / "caller", tokenizer, chain, chat_template=_TEMPLATE)
    properties = {"city": {"type": "string"}, "days": {"type": "integer"}}
    tool = {"name": "weather", "parameters": {"type": "object", "properties": properties}}
    with Owned(tmp_path / "caller") as owner:
        model = owner.ready().status.model.id
        asked: dict[str, Any] = {
            "model": model,
            "messages": [{"role": "user", "content": "Will it rain in Rome?"}],
            "tools": [{"type": "function", "function": tool}],
            "temperature": 0,
        }
        first = owner.openai().chat.completions.create(**asked)
        written = owner.exchange().finished.choices[0].turn_token_ids
        message = first.choices[0].message
        assert message.content == "I ask for it."
        assert message.tool_calls is not None
        call: Any = message.tool_calls[0]
        assert call.function.name == "weather"
        # The client writes the call in its own way.
        given = {"days": 2.0, "city": "Rome"}
        assert given == json.loads(call.function.arguments)
        returned = {"name": "weather", "arguments": json.dumps(given, indent=1)}
        asked["messages"] += [
            {
                "role": "assistant",
                "content": "I ask for it. ",
                "tool_calls": [{"type": "function", "id": call.id, "function": returned}],
            },
            {"role": "tool", "tool_call_id": call.id, "content": "Rain."},
        ]
        second = owner.openai().chat.completions.create(**asked)
        exchange = owner.exchange()
        assert exchange.generate.messages is not UNSET
        assert exchange.generate.messages[1].token_ids == written
        assert first.usage is not None
        assert second.usage is not None
        assert second.usage.prompt_tokens_details is not None
        # The token that ended the answer was read, too, if the next step was launched ahead. A busy machine does not.
        num_more = second.usage.prompt_tokens_details.cached_tokens - first.usage.prompt_tokens - len(written)
        assert num_more in {0, 1}
