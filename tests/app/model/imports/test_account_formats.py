"""Exports of accounts and folders of chats: a small one of each program, written as the program does."""

from __future__ import annotations

import base64
import io
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from app.model.exports.excerpt import whole_tree
from app.model.imports import gemini, grok
from app.model.imports.dates import date_in
from app.model.imports.json_stream import CountedFile
from app.model.store import Store
from tests.app.model.exports.excerpts import import_all
from tests.app.model.imports.drawn import drawn, imported, lines
from tests.app.model.imports.samples import PNG


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


_UPLOAD = "6f1c2a1e-0000-4000-8000-000000000001"
_GONE = "6f1c2a1e-0000-4000-8000-000000000002"


def _mongo(ms: int) -> dict[str, Any]:
    return {"$date": {"$numberLong": str(ms)}}


def _said(response_id: str, parent: str | None, sender: str, message: str, **more: Any) -> dict[str, Any]:
    response = {"_id": response_id, "conversation_id": "c", "parent_response_id": parent, "sender": sender,
                "message": message, "create_time": _mongo(1_767_261_600_000)}  # fmt: skip
    return {"response": response | more, "share_link": None}


def _cite(card_id: str) -> str:
    inner = '<argument name="citation_id">0</argument>'
    attributes = f'card_id="{card_id}" card_type="citation_card" type="render_inline_citation"'
    return f"<grok:render {attributes}>{inner}</grok:render>"


_CALL = (
    "<xai:tool_usage_card><xai:tool_usage_card_id>t</xai:tool_usage_card_id><xai:tool_name>web_search</xai:tool_name>"
    '<xai:tool_args><![CDATA[{"query":"moss"}]]></xai:tool_args></xai:tool_usage_card>'
)
_GROK: dict[str, Any] = {
    "conversations": [
        {
            "conversation": {"id": "c", "title": "Moss", "create_time": "2026-01-01T10:00:00.123456Z",
                             "modify_time": "2026-01-01T11:00:00.000000Z", "starred": True, "leaf_response_id": None},
            "responses": [
                _said("u", None, "human", "What is it?", file_attachments=[_UPLOAD, _GONE]),
                _said("a", "u", "ASSISTANT", f"Moss.{_cite('k')}{_cite('lost')} Really.", model="grok-4",
                      create_time=_mongo(1_767_261_605_250), xpost_ids=["17"],
                      steps=[{"tagged_text": {"summary": "Look it up.", "tool_usage_card": _CALL, "header": "Search"},
                              "tag_order": ["header", "summary", "tool_usage_card"],
                              "tool_usage_results": [{"tool_usage_card_id": "t", "text": "found"}]}],
                      thinking_trace=f"Search Look it up. {_CALL}",
                      agent_thinking_traces=[{"thinking_trace": "One more thought."}],
                      card_attachments_json=[json.dumps({"id": "k", "cardType": "citation_card",
                                                         "url": "https://example.org/moss"})],
                      web_search_results=[{"url": "https://example.org/all", "title": "All [moss]"}],
                      cited_web_search_results=[{"url": "https://example.org/moss", "title": "Moss"}]),
                _said("b", "u", "grok-3", "Lichen", partial=True, create_time=_mongo(1_767_261_606_000)),
                _said("v", "b", "human", "Draw it", create_time=_mongo(1_767_261_607_000)),
                _said("w", "v", "assistant", "", model="grok-3", create_time=_mongo(1_767_261_608_000),
                      generated_image_urls=["users/x/generated/y/image.jpg"], error="Failed to respond."),
            ],
        }
    ],
    "projects": [{"workspace_id": "p", "name": "Plants"}],
    "tasks": [],
    "media_posts": [{"id": "m", "original_prompt": "A cat"}, {"id": "n", "tags": [1]}],
}  # fmt: skip
_GROK_DRAWN = [
    "1<2 user: What is it?",
    f"2<3 note: Picture: {_UPLOAD}.png\n\n![{_UPLOAD}.png](data:image/png;base64,{PNG})",
    f"3<4 note: File: {_GONE}\n\nIt is not in the file that was imported.",
    "4<5 assistant: <think>\nSearch\n\nLook it up.\n</think>\n\n",
    '5<6 note: Tool call: web_search\n\n```\n{"query":"moss"}\n```',
    '6<7 note: Tool result: web_search\n\n```json\n{\n  "text": "found"\n}\n```',
    "7<8 assistant: <think>\nOne more thought.\n</think>\n\nMoss. ([example.org](https://example.org/moss)) Really.",
    "8<9 note: Sources\n\n- [Moss](https://example.org/moss)",
    (
        "9<10 note: Search results\n\n- [https://x.com/i/status/17](https://x.com/i/status/17)\n"
        "- [All (moss)](https://example.org/all)"
    ),
    "4<11 assistant: Lichen",
    "11<12 user: Draw it",
    "12<13 note: Picture: picture\n\nusers/x/generated/y/image.jpg",
    "13<14 note: Error\n\nFailed to respond.",
]


def _grok_archive(path: Path, backend: Any) -> None:
    folder = "ttl/30d/export_data/0d1c"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{folder}/prod-mc-auth-mgmt-api.json", "{}")
        archive.writestr(f"{folder}/prod-mc-billing.json", '{"balance": 0}')
        archive.writestr(f"{folder}/prod-grok-backend.json", json.dumps(backend))
        archive.writestr(f"{folder}/prod-mc-asset-server/{_UPLOAD}/content", base64.b64decode(PNG))


@pytest.mark.parametrize("how", ["archive", "folder"])
def test_the_export_of_a_grok_account_keeps_its_tree_and_all_parts(store: Store, tmp_path: Path, how: str) -> None:
    path = tmp_path / "export.zip"
    _grok_archive(path, _GROK)
    if how == "folder":
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path / "export")
        path = tmp_path / "export"
    summary = import_all(store, path)
    assert (summary.problems, dict(summary.programs)) == ([], {"Grok": 1})
    assert summary.remarks[grok.LEFT_OUT] == 3
    excerpt = whole_tree(store, summary.conversation_ids[0])
    assert drawn(excerpt) == _GROK_DRAWN
    conversation = excerpt.conversation
    assert (conversation.name, conversation.created_ms) == ("Moss", 1_767_261_600_123)
    assert (conversation.updated_ms, conversation.pinned_ms) == (1_767_265_200_000, 1_767_265_200_000)
    assert excerpt.path[-1].text.startswith("Error")
    answers = [message for message in excerpt.messages if message.role == "assistant"]
    assert [(answer.record and answer.record.model, answer.state) for answer in answers] == [
        ("grok-4", "complete"),
        ("grok-4", "complete"),
        ("grok-3", "stopped"),
    ]
    assert answers[0].created_ms == 1_767_261_605_250
    again = import_all(store, path)
    assert (again.num_conversations, again.updates, len(again.twins)) == (0, [], 1)


def test_a_grok_export_that_has_grown_updates_its_conversation(store: Store, tmp_path: Path) -> None:
    imported(store, tmp_path / "prod-grok-backend.json", json.dumps(_GROK))
    longer = json.loads(json.dumps(_GROK))
    longer["conversations"][0]["responses"].append(_said("x", "a", "human", "Thanks"))
    (tmp_path / "later.json").write_text(json.dumps(longer))
    (update,) = import_all(store, tmp_path / "later.json").updates
    assert (update.name, update.num_messages) == ("Moss", 1)


def test_a_grok_export_is_recognised_where_its_conversations_come_last(store: Store, tmp_path: Path) -> None:
    posts = [{"id": str(number), "original_prompt": "x" * 1_000} for number in range(100)]
    export = {"media_posts": posts, "conversations": _GROK["conversations"]}
    (tmp_path / "export.json").write_text(json.dumps(export))
    summary = import_all(store, tmp_path / "export.json")
    assert (summary.num_conversations, summary.problems, summary.remarks[grok.LEFT_OUT]) == (1, [], 100)


@pytest.mark.parametrize(
    "responses",
    [
        [],
        ["text", 42, None],
        [{"response": "text"}],
    ],
)
def test_a_grok_conversation_without_messages_is_refused_by_name(
    store: Store, tmp_path: Path, responses: list[Any]
) -> None:
    bad = {"conversation": {"id": "d", "title": "Empty"}, "responses": responses}
    export = {"conversations": [bad, *_GROK["conversations"]]}
    (tmp_path / "in.json").write_text(json.dumps(export))
    summary = import_all(store, tmp_path / "in.json")
    assert [problem.why for problem in summary.problems] == ["it has no messages"]
    assert summary.num_conversations == 1


_WEBUI: dict[str, Any] = {
    "internal": [
        ["<|BEGIN-VISIBLE-CHAT|>", "Hello."],
        ["Is 1 < 2 & why?", "<think>\nHm.\n</think>\n\nYes & no."],
        ["Look it up", "It is 2."],
        ["And?", ""],
    ],
    "visible": [
        ["", "Hello."],
        ["Is 1 &lt; 2 &amp; why?", "Yes &amp; no."],
        ["Look it up", "<tool_call>calc(x=1)\n2\n</tool_call>\n\nIt is 2."],
        ["And?", "Shown &lt;only&gt;"],
    ],
    "metadata": {
        "assistant_0": {"timestamp": "Feb 03, 2026 09:00"},
        "user_1": {
            "timestamp": "Feb 03, 2026 09:01",
            "attachments": [
                {"name": "p.png", "type": "image", "image_data": f"data:image/png;base64,{PNG}", "image_id": 1},
                {"name": "n.txt", "type": "text/plain", "content": "words"},
            ],
        },
        "assistant_1": {
            "timestamp": "Feb 03, 2026 09:02",
            "model_name": "qwen.gguf",
            "versions": [
                {"content": "No.", "visible_content": "No.", "timestamp": "Feb 03, 2026 09:01"},
                {"content": "<think>\nHm.\n</think>\n\nYes & no.", "visible_content": "Yes &amp; no.",
                 "timestamp": "Feb 03, 2026 09:02"},
            ],
            "current_version_index": 1,
        },
        "user_2": {"timestamp": "Feb 03, 2026 09:03"},
        "assistant_2": {
            "timestamp": "Feb 03, 2026 09:04",
            "model_name": "qwen.gguf",
            "tool_sequence": [
                {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "calc", "arguments": "{}"}}],
                 "content": "I calculate."},
                {"role": "tool", "content": "2", "tool_call_id": "c"},
            ],
        },
        "user_3": {"timestamp": ""},
    },
}  # fmt: skip


def test_chats_of_text_generation_webui_keep_versions_tools_and_attachments(store: Store, tmp_path: Path) -> None:
    excerpt = imported(store, tmp_path / "20260203-08-59-30.json", json.dumps(_WEBUI, indent=4))
    assert drawn(excerpt) == [
        "1<2 assistant: Hello.",
        "2<3 user: Is 1 < 2 & why?",
        f"3<4 note: Picture: p.png\n\n![p.png](data:image/png;base64,{PNG})",
        "4<5 user: File: n.txt\n\n```\nwords\n```",
        "5<6 assistant: No.",
        "5<7 assistant: <think>\nHm.\n</think>\n\nYes & no.",
        "7<8 user: Look it up",
        "8<9 assistant: I calculate.",
        "9<10 note: Tool call: calc\n\n```\n{}\n```",
        "10<11 note: Tool result: calc\n\n```\n2\n```",
        "11<12 assistant: It is 2.",
        "12<13 user: And?",
        "13<14 assistant: Shown <only>",
    ]
    first, answers = excerpt.messages[2], excerpt.messages[6:8]
    assert [message.created_ms - first.created_ms for message in answers] == [60_000, 120_000]
    assert [answer.record and answer.record.model for answer in answers] == [None, "qwen.gguf"]
    assert first.created_ms - excerpt.conversation.created_ms == 30_000
    assert excerpt.path[-1].text == "Shown <only>"


def test_a_chat_of_text_generation_webui_grows_by_its_file_name(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "20260203-08-59-30.json"
    imported(store, path, json.dumps(_WEBUI))
    longer = json.loads(json.dumps(_WEBUI))
    longer["internal"].append(["More", "Yes"])
    longer["visible"].append(["More", "Yes"])
    path.write_text(json.dumps(longer))
    (update,) = import_all(store, path).updates
    assert update.num_messages == 2


def test_the_oldest_chats_of_text_generation_webui_are_read(store: Store, tmp_path: Path) -> None:
    chat = {"data": [["Hi", "Hello"]], "data_visible": [["Hi", "Hello"]]}
    excerpt = imported(store, tmp_path / "A story.json", json.dumps(chat))
    assert drawn(excerpt) == ["1<2 user: Hi", "2<3 assistant: Hello"]
    assert excerpt.conversation.name == "A story"


@pytest.mark.parametrize(
    "chat",
    [
        {"internal": [], "visible": []},
        {"internal": [["<|BEGIN-VISIBLE-CHAT|>", ""]], "visible": [["", ""]], "metadata": {"assistant_0": 7}},
        {"internal": [7, None, [], [None, {}]], "visible": [], "metadata": []},
    ],
)
def test_a_chat_of_text_generation_webui_without_messages_is_refused_by_name(
    store: Store, tmp_path: Path, chat: Any
) -> None:
    (tmp_path / "in.json").write_text(json.dumps(chat))
    (problem,) = import_all(store, tmp_path / "in.json").problems
    assert problem.why == "it has no messages"


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("Feb 3, 2026, 6:11:42 PM UTC", "2026-02-03T18:11:42+00:00"),
        ("Feb 3, 2026, 12:00:00\u202fAM EST", "2026-02-03T05:00:00+00:00"),
        ("1 Apr 2026, 18:39:35 WEST", "2026-04-01T17:39:35+00:00"),
        ("03.02.2026, 18:11:42 MEZ", "2026-02-03T17:11:42+00:00"),
        ("October 5, 2026 9:31am", "2026-10-05T09:31:00+00:00"),
        ("Sept 5, 2026 at 09:31 GMT+05:30", "2026-09-05T04:01:00+00:00"),
        ("Feb 30, 2026, 6:11:42 PM UTC", None),
        ("Foo 3, 2026, 6:11 PM", None),
        ("3 Feb 2026", None),
        ("", None),
    ],
)
def test_a_date_is_read_as_people_write_it(text: str, iso: str | None) -> None:
    found = date_in(text)
    assert (found and found.isoformat()) == iso


def _jan(message_id: str, role: str, content: list[Any], **more: Any) -> dict[str, Any]:
    message = {"id": message_id, "object": "thread.message", "thread_id": "01J", "role": role, "content": content,
               "status": "ready", "created_at": 1_767_261_600_000, "completed_at": 0, "metadata": {}}  # fmt: skip
    return message | more


def _value(text: str, kind: str = "text") -> dict[str, Any]:
    return {"type": kind, "text": {"value": text, "annotations": []}}


_THREAD = {
    "id": "01J", "object": "thread", "title": "Moss", "created": 1_767_261_600, "updated": 1_767_265_200.5,
    "assistants": [{"id": "jan", "name": "Jan", "instructions": "Be brief.",
                    "model": {"id": "qwen", "name": "qwen", "settings": {}}}],
    "metadata": {"is_favorite": True, "project": {"id": "p", "name": "Plants"}},
}  # fmt: skip
_JAN_LINES = [
    _jan("u", "user", [_value("What is it?"),
                       {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "auto"}}],
         metadata={"parentId": None, "activeChildId": "a", "inline_file_contents": [{"name": "n", "content": "w"}]}),
    _jan("a", "assistant", [_value("Hm.", "reasoning"), _value("I look."),
                            {"type": "tool_call", "tool_call_id": "t", "tool_name": "search", "input": {"q": "moss"},
                             "output": {"content": [{"type": "text", "text": "found"}]}},
                            _value("Moss.")],
         metadata={"parentId": "u"}, created_at=1_767_261_601_000),
    _jan("b", "assistant", [_value("Lichen")], metadata={"parentId": "u"}, status="stopped",
         created_at=1_767_261_602_000),
    _jan("v", "user", [_value("Sure?")], metadata={"parentId": "a"}, created_at=1_767_261_603_000),
    _jan("w", "assistant", [_value("Yes")], metadata={"parentId": None}, created_at=1_767_261_604_000),
]  # fmt: skip


def _jan_folder(root: Path) -> None:
    thread = root / "threads" / "01J"
    thread.mkdir(parents=True)
    (thread / "thread.json").write_text(json.dumps(_THREAD, indent=2))
    (thread / "messages.jsonl").write_text(lines(_JAN_LINES) + "\n")


@pytest.mark.parametrize("how", ["folder", "archive", "file"])
def test_threads_of_jan_keep_branches_parts_and_metadata(store: Store, tmp_path: Path, how: str) -> None:
    path = tmp_path / "jan"
    _jan_folder(path)
    if how == "archive":
        path = Path(shutil.make_archive(str(tmp_path / "jan"), "zip", tmp_path, "jan"))
    elif how == "file":
        path = path / "threads" / "01J" / "messages.jsonl"
    summary = import_all(store, path)
    assert (summary.problems, dict(summary.programs)) == ([], {"Jan": 1})
    excerpt = whole_tree(store, summary.conversation_ids[0])
    assert drawn(excerpt) == [
        "0<1 system: Be brief.",
        "1<2 user: What is it?",
        f"2<3 note: Picture: picture\n\n![picture](data:image/png;base64,{PNG})",
        "3<4 user: File: n\n\n```\nw\n```",
        "4<5 assistant: <think>\nHm.\n</think>\n\nI look.",
        '5<6 note: Tool call: search\n\n```json\n{\n  "q": "moss"\n}\n```',
        "6<7 note: Tool result: search\n\nfound",
        "7<8 assistant: Moss.",
        "4<9 assistant: Lichen",
        "8<10 user: Sure?",
        "10<11 assistant: Yes",
    ]
    conversation = excerpt.conversation
    assert (conversation.name, conversation.folder, conversation.model) == ("Moss", "Plants", "qwen")
    assert (conversation.created_ms, conversation.updated_ms) == (1_767_261_600_000, 1_767_265_200_500)
    assert conversation.pinned_ms == conversation.updated_ms
    assert excerpt.path[-1].text == "Yes"
    assert {message.state for message in excerpt.messages if message.text == "Lichen"} == {"stopped"}
    again = import_all(store, path)
    assert (again.num_conversations, again.updates, len(again.twins)) == (0, [], 1)


def test_a_thread_of_jan_from_before_its_branches_is_one_chain(store: Store, tmp_path: Path) -> None:
    call = {"tool": {"id": "t", "type": "function", "function": {"name": "search", "arguments": "{}"}},
            "state": "completed", "response": {"content": [{"type": "text", "text": "found"}]}}  # fmt: skip
    old = [
        _jan("u", "user", [_value("Hi")], created_at=1_767_261_600),
        _jan("a", "assistant", [_value("Hello")], metadata={"tool_calls": [call]}, created_at=1_767_261_601),
        _jan("v", "user", [{"type_": "text", "text": {"value": "And?", "annotations": []}}]),
    ]
    excerpt = imported(store, tmp_path / "messages.jsonl", lines(old))
    assert drawn(excerpt) == [
        "1<2 user: Hi",
        "2<3 assistant: Hello",
        "3<4 note: Tool call: search\n\n```\n{}\n```",
        "4<5 note: Tool result: search\n\nfound",
        "5<6 user: And?",
    ]
    assert excerpt.messages[2].created_ms == 1_767_261_600_000


def test_jans_export_of_one_thread_keeps_its_branches(store: Store, tmp_path: Path) -> None:
    keys = ("id", "role", "content", "created_at", "metadata")
    messages = [{key: line[key] for key in keys} for line in _JAN_LINES]
    export = {"title": "Moss", "exported_at": "2026-01-02T00:00:00.000Z", "messages": messages}
    excerpt = imported(store, tmp_path / "Moss.json", json.dumps(export, indent=2))
    # It lacks the thread's system prompt, and each message's state.
    assert [line for line in drawn(excerpt) if "assistant" in line] == [
        "4<5 assistant: <think>\nHm.\n</think>\n\nI look.",
        "7<8 assistant: Moss.",
        "4<9 assistant: Lichen",
        "10<11 assistant: Yes",
    ]
    assert excerpt.path[-1].text == "Yes"


def test_hostile_threads_of_jan_are_refused_by_name_and_the_others_are_kept(store: Store, tmp_path: Path) -> None:
    _jan_folder(tmp_path)
    for name, thread, messages in [
        ("empty", json.dumps(_THREAD), None),
        ("damaged", "{", lines(_JAN_LINES)[:-30]),
        ("odd", "[]", lines([_jan("u", "user", []) | {"content": 7, "metadata": 7, "thread_id": None}])),
    ]:
        folder = tmp_path / "threads" / name
        folder.mkdir()
        (folder / "thread.json").write_text(thread)
        if messages is not None:
            (folder / "messages.jsonl").write_text(messages)
    summary = import_all(store, tmp_path / "threads")
    whys = [str(problem.why) for problem in summary.problems]
    assert len(whys) == 2
    assert "describes a thread of Jan" in whys[-1]
    assert "is not valid JSON" in whys[0]
    # The damaged thread has the id of the whole one, which gains nothing from it.
    assert summary.num_conversations == 2


def _activity(when: str, title: str, html: str | None = None, **more: Any) -> dict[str, Any]:
    record: dict[str, Any] = {"header": "Gemini Apps", "title": title, "titleUrl": "https://gemini.google.com/app",
                              "time": when, "products": ["Gemini Apps"],
                              "activityControls": ["Gemini Apps Activity"]}  # fmt: skip
    return record | ({} if html is None else {"safeHtmlItem": [{"html": html}]}) | more


_ACTIVITY = [
    _activity("2026-02-03T20:00:00.500Z", "Prompted Later", "<p>Yes</p>"),
    _activity("2026-02-03T18:21:00Z", "Created Gemini Canvas titled Plan"),
    _activity("2026-02-03T18:20:00Z", "Prompted And in a table?",
              "<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"),
    _activity("2026-02-03T18:11:42.209Z", "Prompted What is this?", "<p>It is <b>moss</b>.</p><ul><li>x</li></ul>",
              subtitles=[{"name": "Attached 2 files."}, {"name": "-  p.png", "url": "p-1.png"},
                         {"name": "-  gone.pdf", "url": "gone.pdf"}, {"name": "Model: 3 Pro"}]),
    _activity("2026-02-02T10:05:00Z", "Used Gemini Apps", titleUrl="https://gemini.google.com/app/c/c-1",
              details=[{"name": "Request", "value": "More"}, {"name": "Response", "value": "2"}]),
    _activity("2026-02-02T09:00:00Z", "Used Gemini Apps", titleUrl="https://gemini.google.com/app/c/c-1",
              details=[{"name": "Request", "value": "Begin"}, {"name": "Response", "value": "1"}]),
    {"header": "Search", "title": "Searched for moss", "time": "2026-02-02T08:00:00Z", "products": ["Search"]},
]  # fmt: skip


def _takeout(root: Path, content: str, name: str) -> Path:
    folder = root / "Takeout" / "My Activity" / "Gemini Apps"
    folder.mkdir(parents=True)
    (folder / name).write_text(content, encoding="utf-8")
    (folder / "p-1.png").write_bytes(base64.b64decode(PNG))
    return root / "Takeout"


_GEMINI_DRAWN = [
    ["1<2 user: Begin", "2<3 assistant: 1", "3<4 user: More", "4<5 assistant: 2"],
    [
        "1<2 user: What is this?",
        f"2<3 note: Picture: p-1.png\n\n![p-1.png](data:image/png;base64,{PNG})",
        "3<4 note: File: gone.pdf\n\nIt is not in the file that was imported.",
        "4<5 assistant: It is **moss**.\n\n- x",
        "5<6 user: And in a table?",
        "6<7 assistant: | a |\n| --- |\n| 1 |",
        "7<8 note: Activity\n\nCreated Gemini Canvas titled Plan",
    ],
    ["1<2 user: Later", "2<3 assistant: Yes"],
]


def test_the_activity_of_gemini_becomes_conversations(store: Store, tmp_path: Path) -> None:
    path = _takeout(tmp_path, json.dumps(_ACTIVITY), "MyActivity.json")
    summary = import_all(store, path)
    assert (summary.problems, dict(summary.programs)) == ([], {"Gemini": 3})
    trees = [whole_tree(store, found) for found in summary.conversation_ids]
    assert [drawn(tree) for tree in trees] == _GEMINI_DRAWN
    assert trees[1].messages[2].created_ms == 1_770_142_302_209
    answer = trees[1].messages[5]
    assert answer.record is not None
    assert answer.record.model == "3 Pro"
    assert [tree.conversation.name for tree in trees] == ["Begin", "What is this?", "Later"]
    remarks = {str(remark): number for remark, number in summary.remarks.items()}
    assert remarks["records of activity other than Gemini's, left out"] == 1
    assert remarks["conversations of Gemini that were grouped by time, because the file does not name them"] == 2
    # A month later the conversation with an id has grown, and there is a new one.
    grown = [
        _activity("2026-03-03T20:00:00Z", "Prompted New", "<p>Yes</p>"),
        _activity("2026-03-03T12:00:00Z", "Used", titleUrl="https://gemini.google.com/app/c/c-1",
                  details=[{"name": "Request", "value": "Again"}]),
    ]  # fmt: skip
    (path / "My Activity" / "Gemini Apps" / "MyActivity.json").write_text(json.dumps([*grown, *_ACTIVITY]))
    again = import_all(store, path)
    assert (again.num_conversations, [update.num_messages for update in again.updates], len(again.twins)) == (1, [1], 2)


_PAGE = """<html><head><title>My Activity History</title><style>/* much */</style></head><body>
<div class="mdl-grid"><div class="outer-cell mdl-cell"><div class="mdl-grid">
<div class="header-cell mdl-cell"><p class="mdl-typography--title">Gemini Apps<br></p></div>
<div class="content-cell mdl-cell mdl-typography--body-1">Prompted\u00a0And?<br>Feb 3, 2026, 6:20:00\u202fPM UTC<br>
<p>It is <b>moss</b> \u2026</p><pre><code>x = 1</code></pre></div>
<div class="content-cell mdl-cell mdl-typography--body-1 mdl-typography--text-right"></div>
<div class="content-cell mdl-cell mdl-typography--caption"><b>Products:</b><br>&emsp;Gemini Apps</div></div></div>
<div class="outer-cell mdl-cell"><div class="mdl-grid"><div class="header-cell mdl-cell"><p>Gemini Apps<br></p></div>
<div class="content-cell mdl-cell mdl-typography--body-1">Prompted\u00a01 &lt; 2?<br>Sure?<br>Attached 1 file.<br>
-&nbsp;<a href="p-1.png">p.png</a><br>3 Feb 2026, 18:11:42 UTC<br>Yes</div></div></div>
<div class="outer-cell mdl-cell"><div class="mdl-grid"><div class="header-cell mdl-cell"><p>Search<br></p></div>
<div class="content-cell mdl-cell mdl-typography--body-1">Searched for x<br>3 Feb 2026, 18:11:42 UTC<br></div></div>
</div></div></body></html>"""


def test_the_activity_of_gemini_is_read_from_a_web_page(store: Store, tmp_path: Path) -> None:
    path = _takeout(tmp_path, _PAGE, "My Activity.html")
    summary = import_all(store, path)
    assert (summary.problems, dict(summary.programs)) == ([], {"Gemini": 1})
    excerpt = whole_tree(store, summary.conversation_ids[0])
    assert drawn(excerpt) == [
        "1<2 user: 1 < 2?\nSure?",
        f"2<3 note: Picture: p-1.png\n\n![p-1.png](data:image/png;base64,{PNG})",
        "3<4 assistant: Yes",
        "4<5 user: And?",
        "5<6 assistant: It is **moss** \u2026\n\n```\nx = 1\n```",
    ]
    assert [message.created_ms for message in excerpt.messages[2::3]] == [1_770_142_302_000, 1_770_142_800_000]


def test_a_date_in_another_language_still_separates_the_prompt_from_the_answer(store: Store, tmp_path: Path) -> None:
    page = _PAGE.replace("Feb 3, 2026, 6:20:00\u202fPM UTC", "3 de fev. de 2026, 18:20:00 BRT")
    (tmp_path / "in.html").write_text(page)
    summary = import_all(store, tmp_path / "in.html")
    trees = [whole_tree(store, found) for found in summary.conversation_ids]
    assert [[line.split(": ")[1][:5] for line in drawn(tree)] for tree in trees] == [
        ["And?", "It is"],
        ["1 < 2", "File", "Yes"],
    ]
    assert {str(remark) for remark in summary.remarks} >= {"records of Gemini whose time can't be read"}


@settings(max_examples=20)
@given(size=st.integers(1, 3_000))
def test_records_of_a_page_are_found_in_chunks_of_any_size(size: int) -> None:
    file = CountedFile(io.BytesIO(_PAGE.encode()), lambda _: None)
    whole = list(gemini.records_of_page(file))

    class Chunks(io.BytesIO):
        """A file that reads `size` bytes at a time."""

        @override
        def read(self, _: int | None = -1, /) -> bytes:
            return super().read(size)

    chunks = Chunks(_PAGE.encode())
    assert list(gemini.records_of_page(CountedFile(chunks, lambda _: None))) == whole
    assert len(whole) == 3


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("<html><body>Hello</body></html>", "it is a web page, but not a record of activity from Google Takeout"),
        ('<!DOCTYPE html><div class="outer-cell">', "it contains no conversations"),
        ('[{"header": "Search", "title": "x", "time": 7, "products": []}]', "it contains no conversations"),
        ('[{"header": "Gemini", "title": 7, "time": {}, "products": 7}]', "it has no messages"),
        ('{"conversation_turns": [7, {}, {"user_turn": 7}]}', "it has no messages"),
    ],
)
def test_a_file_without_activity_of_gemini_is_refused_by_name(
    store: Store, tmp_path: Path, content: str, why: str
) -> None:
    (tmp_path / "in.html").write_text(content)
    (problem,) = import_all(store, tmp_path / "in.html").problems
    assert problem.why == why


def test_the_history_of_conversations_of_gemini_keeps_versions_and_thoughts(store: Store, tmp_path: Path) -> None:
    def user(index: int, prompt: str) -> dict[str, Any]:
        return {"user_turn": {"prompt": prompt, "turn_index": index, "turn_last_modified": "2026-02-03T18:11:42Z"}}

    def system(index: int, text: str, **more: Any) -> dict[str, Any]:
        return {"system_turn": {"text": [{"data": text}], "turn_index": index, "images": []} | more}

    history = {
        "title": "Moss", "creation_time": "2026-02-03T18:11:42Z", "last_modification_time": "2026-02-03T19:00:00Z",
        "conversation_turns": [
            user(0, "What is it?"),
            system(1, "Lichen"),
            system(1, "Moss", model_thoughts=[{"headline": "Look", "description": "Green."}]),
            user(2, "Sure?"),
            system(3, "Yes", images=["conversation_1_turn_3_images_0"]),
        ],
    }  # fmt: skip
    folder = tmp_path / "Conversation History"
    folder.mkdir()
    (folder / "conversation_1.txt").write_text(json.dumps(history))
    summary = import_all(store, folder)
    assert (summary.problems, dict(summary.programs)) == ([], {"Gemini": 1})
    excerpt = whole_tree(store, summary.conversation_ids[0])
    assert drawn(excerpt) == [
        "1<2 user: What is it?",
        "2<3 assistant: Lichen",
        "2<4 assistant: <think>\nLook\n\nGreen.\n</think>\n\nMoss",
        "4<5 user: Sure?",
        "5<6 assistant: Yes",
        "6<7 note: File: conversation_1_turn_3_images_0\n\nIt is not in the file that was imported.",
    ]
    assert (excerpt.conversation.name, excerpt.conversation.updated_ms) == ("Moss", 1_770_145_200_000)
    assert len(import_all(store, folder).twins) == 1


def test_prompts_of_ai_studio_are_found_in_takeout_by_their_folder(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "Drive" / "Google AI Studio"
    folder.mkdir(parents=True)
    prompt = {
        "runSettings": {},
        "chunkedPrompt": {"chunks": [{"text": "Hi", "role": "user", "branchParent": {"promptId": "p"}}]},
    }
    (folder / "Version 1.2 of it").write_text(json.dumps(prompt))
    (folder / "p.png").write_bytes(base64.b64decode(PNG))
    summary = import_all(store, tmp_path / "Drive")
    assert (summary.problems, dict(summary.programs)) == ([], {"Google AI Studio": 1})
    assert [str(remark) for remark in summary.remarks] == [
        "branches of prompts in Google AI Studio; each joins its prompt when that is imported too"
    ]
