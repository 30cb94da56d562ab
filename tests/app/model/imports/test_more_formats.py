"""Formats over several lines, Google's, and what is recognised: a small file of each, written as the program does."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from app.model.exports.excerpt import whole_tree
from app.model.imports import chat_records
from app.model.imports.source import REPLACED
from app.model.store import Store
from tests.app.model.exports.excerpts import import_all
from tests.app.model.imports import samples
from tests.app.model.imports.drawn import drawn, imported, lines
from tests.long import in_long_runs


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "c.sqlite3")
    yield store
    store.close()


def _llama(message_id: str, parent: str | None, role: str, content: str, **more: Any) -> dict[str, Any]:
    message = {"id": message_id, "convId": "c", "type": "text", "timestamp": 1_751_809_800_000, "role": role}
    return {"type": "message", "message": message | {"content": content, "parent": parent, "children": []} | more}


_LLAMA_CPP = [
    {"type": "session", "harness": "llama.app", "currNode": "a2", "id": "c", "lastModified": 1_751_809_805_123,
     "name": "Ownership", "pinned": True},
    _llama("r", None, "system", "", type="root"),
    _llama("s", "r", "system", "Be brief.", type="system"),
    _llama("u", "s", "user", "Why?"),
    _llama("a1", "u", "assistant", "One", reasoningContent="Hm.", model="qwen"),
    _llama("a2", "u", "assistant", "Two", toolCalls=[{"function": {"name": "f", "arguments": "{}"}}]),
]  # fmt: skip


def test_llama_cpp_writes_a_line_per_message(store: Store, tmp_path: Path) -> None:
    excerpt = imported(store, tmp_path / "c.jsonl", lines(_LLAMA_CPP))
    assert drawn(excerpt) == [
        "0<1 system: Be brief.",
        "1<2 user: Why?",
        "2<3 assistant: <think>\nHm.\n</think>\n\nOne",
        "2<4 assistant: Two",
        "4<5 note: Tool call: f\n\n```\n{}\n```",
    ]
    conversation = excerpt.conversation
    assert (conversation.name, conversation.updated_ms) == ("Ownership", 1_751_809_805_123)
    assert (conversation.created_ms, conversation.pinned_ms) == (1_751_809_800_000, 1_751_809_805_123)
    assert excerpt.path[-1].text.startswith("Tool call")


def test_a_file_may_have_several_sessions(store: Store, tmp_path: Path) -> None:
    second = [_LLAMA_CPP[0] | {"id": "d", "name": "Second"}, *_LLAMA_CPP[1:]]
    (tmp_path / "c.txt").write_text(lines([*_LLAMA_CPP, *second]))
    summary = import_all(store, tmp_path / "c.txt")
    assert [found.name for found in store.conversations.all()] == ["Second", "Ownership"]
    assert dict(summary.programs) == {"llama.cpp": 2}


def test_swipes_of_silly_tavern_are_versions(store: Store, tmp_path: Path) -> None:
    chat = [
        {"user_name": "You", "character_name": "Mara", "create_date": "2026-10-05@09h30m00s", "chat_metadata": {}},
        {"name": "Mara", "is_user": False, "send_date": "2026-10-05 @09h 30m 05s 120ms", "mes": "Hello.",
         "swipe_id": 0, "swipes": ["Hello.", "Hi."], "extra": {"model": "l3", "reasoning": "Greet."}},
        {"name": "You", "is_user": True, "send_date": "October 5, 2026 9:31am", "mes": "Can you?"},
        {"name": "Mara", "is_user": False, "send_date": 1_790_725_127_298, "mes": "No!", "swipes": ["Yes.", "No."]},
        {"name": "Note", "is_user": False, "is_system": True, "send_date": "2026-10-05T09:32:00.000Z", "mes": "Rain."},
    ]  # fmt: skip
    excerpt = imported(store, tmp_path / "Mara.jsonl", lines(chat))
    assert drawn(excerpt) == [
        "1<2 assistant: <think>\nGreet.\n</think>\n\nHello.",
        "1<3 assistant: Hi.",
        "2<4 user: Can you?",
        "4<5 assistant: Yes.",
        "4<6 assistant: No.",
        "4<7 assistant: No!",
        "7<8 note: Note\n\nRain.",
    ]
    assert excerpt.path[-1].text == "Note\n\nRain."
    assert excerpt.conversation.name == "Mara"
    assert excerpt.messages[4].created_ms == excerpt.conversation.created_ms + 60_000
    assert excerpt.messages[2].created_ms == excerpt.conversation.created_ms + 5_120


def _code(line_id: str, parent: str | None, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    inner = {"role": kind, "content": content, **({"model": "claude-x"} if kind == "assistant" else {})}
    return {"parentUuid": parent, "isSidechain": False, "type": kind, "message": inner, "uuid": line_id,
            "timestamp": "2026-02-03T18:11:42.209Z", "sessionId": "s", "version": "2.0.76"} | more  # fmt: skip


def test_a_session_of_claude_code_keeps_its_branches_and_the_order_of_its_tool_calls(
    store: Store, tmp_path: Path
) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Look."},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a"}},
    ]
    session = [
        {"type": "file-history-snapshot", "messageId": "u", "snapshot": {}},
        _code("u", None, "user", "Fix it"),
        _code("a", "u", "assistant", blocks),
        _code("t", "a", "user", [{"type": "tool_result", "tool_use_id": "t", "content": "text of a"}]),
        {"type": "progress", "uuid": "p", "parentUuid": "t", "sessionId": "s"},
        _code("b", "p", "assistant", [{"type": "text", "text": "Done."}]),
        _code("u2", None, "user", "Fix that", isMeta=True),
        {"type": "summary", "summary": "Fixing", "leafUuid": "b"},
    ]
    excerpt = imported(store, tmp_path / "s.jsonl", lines(session))
    assert drawn(excerpt) == [
        "1<2 user: Fix it",
        "2<3 assistant: <think>\nLook.\n</think>\n\nI look.",
        '3<4 note: Tool call: Read\n\n```json\n{\n  "path": "a"\n}\n```',
        "4<5 note: Tool result: Read\n\n```\ntext of a\n```",
        "5<6 assistant: Done.",
        "1<7 note: Claude Code\n\nFix that",
    ]
    assert excerpt.conversation.name == "Fixing"
    assert excerpt.conversation.created_ms == 1_770_142_302_209
    records = [message.record for message in excerpt.messages if message.role == "assistant"]
    assert [record and record.model for record in records] == ["claude-x"] * 2


def test_prompts_of_ai_studio_keep_thoughts_models_and_times(store: Store, tmp_path: Path) -> None:
    prompt = {
        "runSettings": {"model": "models/gemini-2.5-pro", "temperature": 1.0},
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "chunkedPrompt": {
            "chunks": [
                {"driveImage": {"id": "d1"}, "role": "user"},
                {"text": "What is it?", "role": "user", "createTime": "2026-02-03T18:11:42.209Z"},
                {"text": "Look.", "role": "model", "isThought": True},
                {"text": "A cat", "role": "model", "finishReason": "MAX_TOKENS"},
                {"text": "", "role": "user"},
                {"text": "black", "role": "model"},
            ],
            "pendingInputs": [{"text": "", "role": "user"}],
        },
    }
    excerpt = imported(store, tmp_path / "A prompt", json.dumps(prompt, indent=2))
    assert drawn(excerpt) == [
        "0<1 system: Be brief.",
        "1<2 note: File: d1\n\nIt is not in the file that was imported.",
        "2<3 user: What is it?",
        "3<4 assistant: <think>\nLook.\n</think>\n\nA cat",
        "4<5 assistant: black",
    ]
    answer = excerpt.messages[-2]
    assert (answer.state, answer.record and answer.record.model) == ("cut", "gemini-2.5-pro")


def _gemini_messages() -> list[Any]:
    result = [{"functionResponse": {"name": "read", "response": {"output": "text of a"}}}]
    return [
        {"id": "1", "timestamp": "2026-03-11T21:02:50.057Z", "type": "user", "content": [{"text": "Fix it"}]},
        {
            "id": "2", "timestamp": "2026-03-11T21:02:53.302Z", "type": "gemini", "content": "I look.",
            "thoughts": [{"subject": "Plan", "description": "Look."}], "model": "gemini-3",
            "toolCalls": [{"name": "read", "args": {"path": "a"}, "result": result}],
        },
        {"id": "3", "timestamp": "2026-03-11T21:03:00.000Z", "type": "error", "content": "[API Error]"},
    ]  # fmt: skip


@pytest.mark.parametrize("is_lines", [False, True])
def test_a_session_of_gemini_cli(store: Store, tmp_path: Path, *, is_lines: bool) -> None:
    head = {"sessionId": "s", "projectHash": "p", "startTime": "2026-03-11T21:02:50.057Z"}
    messages = _gemini_messages()
    content = lines([head, *messages]) if is_lines else json.dumps(head | {"messages": messages}, indent=1)
    excerpt = imported(store, tmp_path / "session-1.json", content)
    assert drawn(excerpt) == [
        "1<2 user: Fix it",
        "2<3 assistant: <think>\nPlan\n\nLook.\n</think>\n\nI look.",
        '3<4 note: Tool call: read\n\n```json\n{\n  "path": "a"\n}\n```',
        "4<5 note: Tool result: read\n\n```\ntext of a\n```",
        "5<6 note: Error\n\n[API Error]",
    ]


def test_citations_of_chatgpt_become_links_and_other_marks_are_removed(store: Store, tmp_path: Path) -> None:
    cite, image = "\ue200cite\ue202turn0search0\ue201", "\ue200i\ue202turn0image1\ue201"
    items = [{"title": "Lyon [city]", "url": "https://example.org/lyon"}]
    metadata = {"content_references": [{"matched_text": cite, "type": "grouped_webpages", "items": items}]}
    author = {"role": "assistant"}
    canvas = {"name": "Plan", "type": "code/python", "content": "print(1)"}
    mapping = {
        "q": {"parent": None, "message": {"author": {"role": "user"}, "content": {"parts": [
            {"content_type": "audio_transcription", "text": "Where to?"},
            {"content_type": "real_time_user_audio_video_asset_pointer",
             "audio_asset_pointer": {"asset_pointer": "sediment://file_1"}}]}}},
        "a": {"parent": "q", "message": {"author": author, "metadata": metadata, "content": {"parts": [
            f"Lyon.{cite}{image}"]}}},
        "c": {"parent": "a", "message": {"author": author, "recipient": "canmore.create_textdoc", "content": {
            "content_type": "code", "text": json.dumps(canvas)}}},
    }  # fmt: skip
    export = [{"id": "i", "mapping": mapping, "is_archived": True, "default_model_slug": "gpt-5", "update_time": 9e8}]
    excerpt = imported(store, tmp_path / "conversations.json", json.dumps(export))
    assert drawn(excerpt) == [
        "1<2 user: Where to?",
        "2<3 note: File: audio file_1\n\nIt is not in the file that was imported.",
        "3<4 assistant: Lyon. ([Lyon (city)](https://example.org/lyon))",
        "4<5 note: Canvas: Plan\n\n```python\nprint(1)\n```",
    ]
    assert (excerpt.conversation.archived_ms, excerpt.conversation.model) == (900_000_000_000, "gpt-5")


def _in_lines(records: list[Any], indent: int | None = None) -> bytes:
    return "\n".join(json.dumps(record, indent=indent) for record in records).encode()


_WRITTEN: dict[str, Callable[[list[Any]], bytes]] = {
    "array": lambda records: json.dumps(records).encode(),
    "indented": lambda records: json.dumps(records, indent=2).encode(),
    "lines": _in_lines,
    "indented values": lambda records: _in_lines(records, 1),
    "UTF-16": lambda records: json.dumps(records, ensure_ascii=False).encode("utf-16"),
    "UTF-16 without a mark": lambda records: json.dumps(records).encode("utf-16-le"),
    "a mark": lambda records: b"\xef\xbb\xbf" + json.dumps(records).encode(),
    "gzip": lambda records: gzip.compress(json.dumps(records).encode()),
}


@pytest.mark.parametrize(
    ("name", "how"),
    [
        *zip(["in.jsonl", "in.json", "in.bough", "in"] * 2, _WRITTEN, strict=True),
        *in_long_runs(itertools.product(["in.jsonl", "in.json", "in.bough", "in"], _WRITTEN)),
    ],
)
def test_a_file_is_recognised_regardless_of_its_name_and_encoding(
    store: Store, tmp_path: Path, name: str, how: str
) -> None:
    records = [samples.OPENAI, samples.SHAREGPT | {"title": "Grüße 😀"}]
    (tmp_path / name).write_bytes(_WRITTEN[how](records))
    summary = import_all(store, tmp_path / name)
    assert (summary.num_conversations, summary.problems, summary.remarks[REPLACED]) == (2, [], 0)
    assert "Grüße 😀" in {found.name for found in store.conversations.all()}


@pytest.mark.parametrize(
    "content",
    [
        {"messages": [{"sender": "human", "message": "q"}]},
        {"messages": [{"type": "user", "content": "q"}, {"type": "gemini", "content": "a"}]},
        {"messages": ["q", "a"]},
        {"conversations": [{"chat": "1", "answers": []}]},
        {"chosen": 7, "rejected": {}},
    ],
)
def test_an_unknown_format_is_refused_by_the_names_of_its_fields(store: Store, tmp_path: Path, content: Any) -> None:
    (tmp_path / "in.json").write_text(json.dumps(content))
    (problem,) = import_all(store, tmp_path / "in.json").problems
    assert problem.why == f"Bough does not support this format; its fields are {', '.join(sorted(content))}"
    assert store.conversations.all() == []


def test_characters_that_were_replaced_are_counted(store: Store, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b'{"messages": [{"role": "user", "content": "a\xff b \\ud83d \xef\xbf\xbd"}]}')
    summary = import_all(store, tmp_path / "in.jsonl")
    assert summary.remarks == {REPLACED: 2}


def test_a_question_that_both_answers_of_a_pair_repeat_is_kept_once(store: Store, tmp_path: Path) -> None:
    def turns(*texts: str) -> list[Any]:
        return [{"role": "assistant" if index % 2 else "user", "content": text} for index, text in enumerate(texts)]

    pairs = [
        {"chosen": turns("q", "yes"), "rejected": turns("q", "no")},
        {"prompt": "q", "chosen": turns("q", "yes"), "rejected": turns("q", "no!")},
        {"prompt": "another", "chosen": turns("q", "yes"), "rejected": turns("r", "no!")},
    ]
    (tmp_path / "in.jsonl").write_text(lines(pairs))
    summary = import_all(store, tmp_path / "in.jsonl")
    assert summary.remarks == {chat_records.REPEATED: 3}
    trees = [drawn(whole_tree(store, found)) for found in summary.conversation_ids]
    assert trees[0] == ["1<2 user: q", "2<3 assistant: no", "2<4 assistant: yes"]
    assert trees[1] == ["1<2 user: q", "2<3 assistant: no!", "2<4 assistant: yes"]
    assert len(trees[2]) == 5


_PICTURE = f"Picture: picture\n\n![picture](data:image/png;base64,{samples.PNG})"
_SHAPES: dict[str, tuple[Any, list[str]]] = {
    "an answer of LibreChat that Azure cut, and one that names its model only as its sender": (
        {
            "conversationId": "c",
            "title": "Story",
            "options": {"model": "gpt-4o"},
            "messages": [
                {"messageId": "1", "isCreatedByUser": True, "sender": "User", "text": "Tell",
                 "createdAt": "2024-05-28T18:08:55.014Z"},
                {"messageId": "2", "parentMessageId": "1", "isCreatedByUser": False, "model": "gpt-4o", "text": "Once",
                 "finish_reason": "incomplete", "createdAt": "2024-05-28T18:08:56.014Z"},
                {"messageId": "3", "parentMessageId": "1", "isCreatedByUser": False, "model": None, "text": "Upon",
                 "sender": "GPT-3.5", "createdAt": "2024-05-28T18:08:57.014Z"},
            ],
        },
        ["user complete : Tell", "assistant cut gpt-4o: Once", "assistant complete GPT-3.5: Upon"],
    ),
    "a session of Claude Code whose first line has no parent": (
        [
            {"type": "user", "uuid": "1", "sessionId": "s", "timestamp": "2026-07-01T10:00:00Z", "origin": {},
             "message": {"role": "user", "content": "Look"}},
            {"type": "assistant", "uuid": "2", "parentUuid": "1", "sessionId": "s", "timestamp": "2026-07-01T10:00:01Z",
             "message": {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "Done"}]}},
        ],
        ["user complete : Look", "assistant complete m: Done"],
    ),
    "an export of Grok without wrapped responses": (
        {"conversations": [{"conversation": {"title": "T", "create_time": "2026-08-01T10:00:00Z"}, "responses": [
            {"sender": "human", "message": "Hi", "create_time": "2026-08-01T10:00:01Z"},
            {"sender": "grok-4", "message": "Hello", "create_time": "2026-08-01T10:00:02Z"},
        ]}]},
        ["user complete : Hi", "assistant complete grok-4: Hello"],
    ),
    "thoughts of ChatGPT in parts": (
        {"title": "T", "id": "t", "current_node": "3", "mapping": {
            "1": {"id": "1", "parent": None, "message": {
                "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Why?"]}}},
            "2": {"id": "2", "parent": "1", "message": {
                "author": {"role": "assistant"}, "content": {"content_type": "thoughts", "parts": ["Hm."]}}},
            "3": {"id": "3", "parent": "2", "message": {"author": {"role": "assistant"}, "content": {
                "content_type": "reasoning_recap", "parts": ["Thought for 5 s"]}}},
        }},
        ["user complete : Why?", "note complete : Reasoning\n\nHm.", "note complete : Reasoning\n\nThought for 5 s"],
    ),
    "chat records whose content is an object, whose reasoning has another name, or with times": (
        {"messages": [
            {"role": "user", "content": "Hi", "created_at": "2026-08-01T10:00:01Z"},
            {"role": "assistant", "content": "Hello", "thinking": "Greet."},
            {"role": "user", "content": {"words": "Bye"}},
        ]},
        ["user complete : Hi", "assistant complete : <think>\nGreet.\n</think>\n\nHello", "user complete : ",
         'note complete : Content\n\n```json\n{\n  "words": "Bye"\n}\n```'],
    ),
    "a picture in the result of a tool of Claude": (
        {"uuid": "c", "name": "Shot", "chat_messages": [
            {"uuid": "1", "sender": "human", "text": "Look", "created_at": "2026-01-01T00:00:01Z"},
            {"uuid": "2", "sender": "assistant", "created_at": "2026-01-01T00:00:02Z", "content": [
                {"type": "tool_result", "name": "see", "content": [
                    {"type": "text", "text": "Here"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": samples.PNG}},
                ]},
            ]},
        ]},
        ["user complete : Look", f"note complete : Tool result: see\n\nHere\n\n{_PICTURE}"],
    ),
    "a question with a picture in Gemini CLI": (
        {"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00Z", "messages": [
            {"id": "1", "timestamp": "2026-01-01T00:00:01Z", "type": "user", "content": [
                {"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": samples.PNG}},
                {"fileData": {"fileUri": "gs://a"}}]},
        ]},
        ["user complete : Look", f"note complete : {_PICTURE}",
         "note complete : File: gs://a\n\nIt is not in the file that was imported."],
    ),
    "a prompt of Google AI Studio with ids and pages of a search": (
        {"displayName": "Cats", "chunkedPrompt": {"chunks": [
            {"id": "1", "role": "user", "text": "Why?", "createTime": "2026-08-01T10:00:01Z"},
            {"id": "2", "role": "model", "text": "So", "grounding": {
                "groundingChunks": [{"web": {"uri": "https://example.org", "title": "Cats"}}]}},
        ]}},
        ["user complete : Why?", "assistant complete : So ([Cats](https://example.org))"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(_SHAPES))
def test_shapes_that_other_tools_found_in_exports_lose_nothing(store: Store, tmp_path: Path, name: str) -> None:
    content, expected = _SHAPES[name]
    text = lines(cast("list[Any]", content)) if isinstance(content, list) else json.dumps(content)
    excerpt = imported(store, tmp_path / "file", text)
    assert [
        f"{message.role} {message.state} {message.record.model if message.record else ''}: {message.text}"
        for message in excerpt.messages
        if message.role not in {"root", "system"}
    ] == expected


def test_a_group_in_silly_tavern_keeps_its_speakers_swipes_and_files(store: Store, tmp_path: Path) -> None:
    when = "2025-01-19T18:50:17.000Z"
    chat = [
        {"user_name": "unused", "character_name": "unused", "chat_metadata": {"name": "Inn"}},
        {"name": "Mira", "is_user": False, "mes": "Welcome", "send_date": when, "swipe_id": 1,
         "swipes": ["Leave", "Welcome"],
         "swipe_info": [{"extra": {"model": "m1"}}, {"extra": {"model": "m2", "reasoning": "A guest."}}]},
        {"name": "Aren", "is_user": True, "mes": "Hi", "send_date": when, "extra": {
            "file": {"url": "/a.txt", "name": "a.txt", "text": "abc"}, "media": [{"url": "/b.png", "title": "b"}]}},
        {"name": "Bob", "is_user": False, "mes": "Yo", "send_date": when, "extra": {
            "tool_invocations": [{"name": "roll", "parameters": {"d": 6}, "result": "4"}], "display_text": "He"}},
    ]  # fmt: skip
    excerpt = imported(store, tmp_path / "chat.jsonl", lines(chat))
    assert drawn(excerpt) == [
        "1<2 assistant: Mira: Leave",
        "1<3 assistant: <think>\nA guest.\n</think>\n\nMira: Welcome",
        "3<4 user: Hi",
        "4<5 note: Picture: b\n\n/b.png",
        "5<6 note: File: a.txt\n\n```\nabc\n```",
        "6<7 assistant: Bob: Yo",
        "7<8 note: Translation\n\nHe",
        '8<9 note: Tool call: roll\n\n```json\n{\n  "d": 6\n}\n```',
        "9<10 note: Tool result: roll\n\n```\n4\n```",
    ]
    assert excerpt.path[1].text.endswith("Mira: Welcome")


def test_attachments_of_llama_cpp_keep_their_bytes_their_texts_and_where_they_are_from(
    store: Store, tmp_path: Path
) -> None:
    pdf = {"type": "PDF", "name": "a.pdf", "base64Data": "JVBERi0x", "content": "Words", "processedAsImages": False}
    pages = [f"data:image/png;base64,{samples.PNG}"]
    scan = {**pdf, "name": "b.pdf", "processedAsImages": True, "images": pages}
    sound = {"type": "AUDIO", "name": "c.wav", "base64Data": "UklGRg==", "mimeType": "audio/wav"}
    prompt = {"type": "MCP_PROMPT", "name": "p", "serverName": "s", "promptName": "q", "content": "Do it",
              "arguments": {"a": "1"}}  # fmt: skip
    message = _llama("m", "the root", "user", "Look", extra=[pdf, scan, sound, prompt])
    session = {"type": "session", "harness": "llama.app", "id": "c", "name": "Files", "currNode": "m"}
    other = {"type": "marker", "value": 1}
    path = tmp_path / "c.jsonl"
    path.write_text(lines([session, message, other]))
    summary = import_all(store, path)
    assert summary.problems == []
    assert {str(remark) for remark in summary.remarks} == {
        "pictures and files, stored with their messages",
        "tool calls, tool results and messages of other roles, kept as notes",
        "lines of llama.cpp that are not messages, left out",
    }
    assert [line.partition(" ")[2] for line in drawn(whole_tree(store, summary.conversation_ids[0]))] == [
        "user: Look\n\nFile: a.pdf\n\n```\nWords\n```\n\nFile: p\n\n```\nDo it\n```",
        "note: File: a.pdf\n\n![a.pdf](data:application/pdf;base64,JVBERi0x)",
        "note: File: b.pdf\n\n![b.pdf](data:application/pdf;base64,JVBERi0x)",
        f"note: Picture: b.pdf, page 1\n\n![b.pdf, page 1](data:image/png;base64,{samples.PNG})",
        "note: File: c.wav\n\n![c.wav](data:audio/wav;base64,UklGRg==)",
        (
            'note: Source: p\n\n```json\n{\n  "serverName": "s",\n  "promptName": "q",\n'
            '  "arguments": {\n    "a": "1"\n  }\n}\n```'
        ),
    ]


def _jan(message_id: str, role: str, text: str, when: int, **more: Any) -> dict[str, Any]:
    content = [{"type": "text", "text": {"value": text, "annotations": []}}]
    head = {"id": message_id, "object": "thread.message", "thread_id": "t", "role": role, "status": "ready"}
    return head | {"content": content, "created_at": when, "completed_at": when} | more


def test_questions_below_questions_in_jan_follow_the_answers_between_them(store: Store, tmp_path: Path) -> None:
    voice = [{"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}}]
    path = tmp_path / "messages.jsonl"
    path.write_text(lines([
        _jan("u1", "user", "One?", 1_000, metadata={"parentId": None}),
        _jan("a1", "assistant", "One.", 2_000, metadata={"parentId": "u1"}),
        _jan("u2", "user", "Two?", 3_000, metadata={"parentId": "a1"}),
        _jan("a2", "assistant", "Two.", 4_000),
        _jan("u3", "user", "", 5_000, metadata={"parentId": "u2"}, content=voice),
        _jan("a3", "assistant", "Thr", 6_000, metadata={"stopped": True}),
        _jan("u4", "user", "Four?", 7_000, metadata={"parentId": "a3"}),
        _jan("a4", "assistant", "", 8_000, metadata={"parentId": "u4"}, status="error", error_code="no_quota"),
    ]))  # fmt: skip
    summary = import_all(store, path)
    assert summary.problems == []
    excerpt = whole_tree(store, summary.conversation_ids[0])
    assert [message.text for message in excerpt.path if message.text] == [
        "One?", "One.", "Two?", "Two.", "File: voice.wav\n\n![voice.wav](data:audio/wav;base64,UklGRg==)", "Thr",
        "Four?", "Error\n\nno_quota",
    ]  # fmt: skip
    states = {message.text: message.state for message in excerpt.path}
    assert (states["Thr"], states["Error\n\nno_quota"]) == ("stopped", "failed")


def test_older_calls_and_refusals_of_chat_records_are_kept_and_other_fields_named(store: Store, tmp_path: Path) -> None:
    called = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    refused = {"role": "assistant", "content": "", "refusal": "I can't.", "weight": 1}
    record = {"messages": [{"role": "user", "content": "Do it"}, called, refused], "tools": [{"type": "function"}]}
    summary = import_all(store, _written_as(tmp_path / "r.jsonl", record))
    assert [line.partition(" ")[2] for line in drawn(whole_tree(store, summary.conversation_ids[0]))] == [
        "user: Do it",
        "assistant: ",
        "note: Tool call: f\n\n```\n{}\n```",
        "assistant: I can't.",
    ]
    assert {str(remark) for remark in summary.remarks} >= {
        "chat records or messages with other fields, left out (tools)",
        "chat records or messages with other fields, left out (weight)",
    }


def _written_as(path: Path, value: object) -> Path:
    path.write_text(json.dumps(value))
    return path


def test_a_step_of_lm_studio_can_name_the_model(store: Store, tmp_path: Path) -> None:
    call = {"type": "toolCallRequest", "name": "f", "arguments": {"a": 1}}
    steps = [
        {"type": "genInfo", "genInfo": {"identifier": "qwen", "stats": {"stopReason": "maxPredictedTokensReached"}}},
        {"type": "contentBlock", "content": [call, {"type": "text", "text": "So"}]},
    ]
    asked = {"type": "singleStep", "role": "user", "content": [{"type": "text", "text": "Why?"}]}
    answered = {"type": "multiStep", "role": "assistant", "steps": steps}
    messages = [{"versions": [found], "currentlySelected": 0} for found in (asked, answered)]
    chat = {"name": "Chat", "createdAt": 1_736_789_912_980, "messages": messages, "clientInput": "More", "notes": []}
    path = _written_as(tmp_path / "1736789912980.conversation.json", chat)
    summary = import_all(store, path)
    assert {str(remark) for remark in summary.remarks} >= {"notes and unsent texts of LM Studio, left out"}
    excerpt = whole_tree(store, summary.conversation_ids[0])
    assert [line.partition(" ")[2] for line in drawn(excerpt)][1:] == [
        'note: Tool call: f\n\n```json\n{\n  "a": 1\n}\n```',
        "assistant: So",
    ]
    last = excerpt.path[-1]
    assert (last.state, last.record and last.record.model) == ("cut", "qwen")


def test_recordings_of_gemini_are_named(store: Store, tmp_path: Path) -> None:
    record = {"header": "Gemini Apps", "products": ["Gemini Apps"], "time": "2026-05-01T08:00:00Z",
              "title": "Prompted Hello", "audioFiles": ["voice.ogg"], "description": "By voice",
              "safeHtmlItem": [{"html": "<p>Hi</p>"}]}  # fmt: skip
    summary = import_all(store, _written_as(tmp_path / "MyActivity.json", [record]))
    assert [line.partition(" ")[2] for line in drawn(whole_tree(store, summary.conversation_ids[0]))] == [
        "user: Hello",
        "note: File: voice.ogg\n\nIt is not in the file that was imported.",
        "note: Details\n\n- By voice",
        "assistant: Hi",
    ]


def test_searches_code_and_favourites_of_open_webui_are_kept(store: Store, tmp_path: Path) -> None:
    answer = {
        "id": "a", "parentId": "q", "childrenIds": [], "role": "assistant", "content": "So", "model": "m",
        "timestamp": 1_700_000_010, "favorite": True, "done": True, "merged": {"status": True, "content": "Both"},
        "embeds": ["<p>Result</p>"],
        "statusHistory": [
            {"action": "queries_generated", "queries": ["leaves"], "done": False},
            {"action": "web_search", "description": "Searched", "done": True, "query": "green",
             "items": [{"title": "Leaf", "link": "https://x.org"}], "urls": ["https://y.org"]},
            {"action": "thinking", "description": "Thinking"}],
        "code_executions": [{"id": "e", "name": "sum", "code": "1 + 1", "result": {"output": "2"}}],
    }  # fmt: skip
    asked = {"id": "q", "parentId": None, "childrenIds": ["a"], "role": "user", "content": "Why?"}
    history = {"currentId": "a", "messages": {"q": asked, "a": answer}}
    chat = {"id": "c", "title": "Leaves", "chat": {"title": "Leaves", "models": ["m"], "history": history}}
    excerpt = imported(store, tmp_path / "chat-export.json", json.dumps([chat]))
    assert [line.partition(" ")[2] for line in drawn(excerpt)] == [
        "user: Why?",
        "note: Search\n\n- leaves",
        "note: Search\n\n- green\n- [https://y.org](https://y.org)\n- [Leaf](https://x.org)",
        "assistant: So",
        "note: Tool call: sum\n\n```\n1 + 1\n```",
        'note: Tool result: sum\n\n```json\n{\n  "output": "2"\n}\n```',
        "note: Merged answer\n\nBoth",
        "note: Embedded page\n\n```html\n<p>Result</p>\n```",
    ]
    assert excerpt.messages[3].starred_ms == 1_700_000_010_000


@pytest.mark.parametrize("has_other", [False, True])
def test_calls_results_and_texts_of_llama_cpp_are_one_answer_unless_it_has_other_versions_inside(
    store: Store, tmp_path: Path, *, has_other: bool
) -> None:
    call = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    found = [
        {"type": "session", "harness": "llama.app", "id": "c", "name": "Agent", "currNode": "a2"},
        _llama("q", None, "user", "Why?"),
        _llama("a1", "q", "assistant", "I look.", toolCalls=call),
        _llama("t", "a1", "tool", "2", toolCallId="1"),
        _llama("a2", "t", "assistant", "So."),
        *([_llama("a3", "t", "assistant", "Or so.")] if has_other else []),
    ]
    path = tmp_path / "c.jsonl"
    path.write_text(lines(found))
    summary = import_all(store, path)
    assert summary.num_messages == (4 if has_other else 2)
    excerpt = whole_tree(store, summary.conversation_ids[0])
    first = next(message for message in excerpt.messages if message.text == "I look.")
    parts = [part.text.partition("\n")[0] for part in excerpt.tree.parts(first.id)]
    assert parts == ["I look.", "Tool call: f", "Tool result: 1", *([] if has_other else ["So."])]


def test_calls_results_and_texts_of_chatgpt_are_one_answer(store: Store, tmp_path: Path) -> None:
    def node(node_id: str, parent: str | None, role: str, text: str, **more: Any) -> dict[str, Any]:
        message = {"id": node_id, "author": {"role": role}, "content": {"content_type": "text", "parts": [text]}} | more
        return {"id": node_id, "parent": parent, "children": [], "message": message}

    nodes = [
        node("q", None, "user", "Why?"),
        node("a", "q", "assistant", "I look."),
        node("c", "a", "assistant", "leaves", recipient="search"),
        node("t", "c", "tool", "Chlorophyll"),
        node("b", "t", "assistant", "So."),
        node("m", "b", "user", "More"),
    ]
    chat = {"id": "c", "title": "Leaves", "current_node": "m", "mapping": {found["id"]: found for found in nodes}}
    summary = import_all(store, _written_as(tmp_path / "conversations.json", [chat]))
    assert summary.num_messages == 3
    excerpt = whole_tree(store, summary.conversation_ids[0])
    answer = next(message for message in excerpt.messages if message.text == "I look.")
    assert [part.role for part in excerpt.tree.parts(answer.id)] == ["assistant", "note", "note", "assistant"]
