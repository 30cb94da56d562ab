"""Small samples of other programs' exports: the important keys of their formats and some ignored ones."""

from __future__ import annotations

from typing import Any

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


def _node(node_id: str, parent: str | None, message: dict[str, Any] | None) -> dict[str, Any]:
    return {"id": node_id, "parent": parent, "children": [], "message": message}


def _said(role: str, text: str, time: float | None, **more: Any) -> dict[str, Any]:
    return {
        "id": "m",
        "author": {"role": role, "name": more.pop("name", None), "metadata": {}},
        "create_time": time,
        "content": more.pop("content", {"content_type": "text", "parts": [text]}),
        "status": "finished_successfully",
        "weight": 1.0,
        "metadata": more.pop("metadata", {}),
        "recipient": more.pop("recipient", "all"),
    }


CHATGPT = {
    "title": "Roll back <the> deploy & more",
    "create_time": 1_756_000_000.123,
    "update_time": 1_756_000_400.5,
    "mapping": {
        "root": _node("root", None, None),
        "sys": _node("sys", "root", _said("system", "", None)),
        "u1": _node("u1", "sys", _said("user", "How do I roll back?", 1_756_000_001.0)),
        "a1": _node(
            "a1", "u1", _said("assistant", "Run `helm rollback`.", 1_756_000_002.5, metadata={"model_slug": "gpt-5"})
        ),
        "a2": _node("a2", "u1", _said("assistant", "Ask SRE.", 1_756_000_003.0, metadata={"model_slug": "o4-mini"})),
        "call": _node(
            "call",
            "a1",
            _said(
                "assistant",
                "",
                1_756_000_004.0,
                content={"content_type": "code", "language": "python", "text": "print(1)"},
                recipient="python",
            ),
        ),
        "result": _node(
            "result",
            "call",
            _said(
                "tool", "", 1_756_000_005.0, name="python", content={"content_type": "execution_output", "text": "1\n"}
            ),
        ),
        "u2": _node(
            "u2",
            "result",
            _said(
                "user",
                "",
                1_756_000_006.0,
                content={
                    "content_type": "multimodal_text",
                    "parts": [
                        {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-CAT"},
                        "What is this?",
                    ],
                },
                metadata={"attachments": [{"id": "file-CAT", "name": "cat.png"}, {"id": "file-X", "name": "x.pdf"}]},
            ),
        ),
    },
    "current_node": "a2",
    "conversation_id": "c-1",
    "is_archived": False,
}

CLAUDE = {
    "uuid": "c-2",
    "name": "Plans",
    "created_at": "2025-06-01T10:00:00.000000Z",
    "updated_at": "2025-06-01T10:05:00.000000Z",
    "account": {"uuid": "x"},
    "chat_messages": [
        {
            "uuid": "1",
            "sender": "human",
            "text": "Read this",
            "content": [{"type": "text", "text": "Read this"}],
            "created_at": "2025-06-01T10:00:00.000000Z",
            "attachments": [{"file_name": "a.txt", "file_type": "txt", "extracted_content": "```\ninside\n```"}],
            "files": [{"file_name": "photo.jpg"}],
        },
        {
            "uuid": "2",
            "sender": "assistant",
            "text": "ignored where there are blocks",
            "content": [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "text", "text": "Done"},
                {"type": "tool_use", "name": "search", "input": {"q": "ä"}},
                {"type": "tool_result", "name": "search", "content": [{"type": "text", "text": "found"}]},
            ],
            "created_at": "2025-06-01T10:01:00.000000Z",
            "attachments": [],
            "files": [],
        },
        {"uuid": "3", "sender": "human", "text": "Thanks", "content": [], "created_at": "2025-06-01T10:02:00Z"},
    ],
}

OPEN_WEBUI = {
    "id": "c-3",
    "user_id": "u",
    "title": "Math",
    "chat": {
        "title": "Math",
        "models": ["r1"],
        "params": {"system": "Be exact."},
        "history": {
            "currentId": "a2",
            "messages": {
                "q": {
                    "id": "q",
                    "parentId": None,
                    "childrenIds": ["a1", "a2"],
                    "role": "user",
                    "content": "15·17?",
                    "timestamp": 1_700_000_000,
                    "files": [{"type": "image", "url": f"data:image/png;base64,{PNG}", "name": "p.png"}],
                },
                "a1": {
                    "id": "a1",
                    "parentId": "q",
                    "childrenIds": [],
                    "role": "assistant",
                    "content": '<details type="reasoning" done="true" duration="3">\n<summary>Thought</summary>\n'
                    "&gt; 10·17 &lt; 255\n</details>\n255",
                    "model": "r1",
                    "timestamp": 1_700_000_010,
                },
                "a2": {
                    "id": "a2",
                    "parentId": "q",
                    "childrenIds": [],
                    "role": "assistant",
                    "content": "shown otherwise",
                    "model": "gpt-4o",
                    "timestamp": 1_700_000_020,
                    "output": [
                        {"type": "function_call", "name": "calc", "arguments": '{"x":1}'},
                        {"type": "function_call_output", "output": [{"type": "input_text", "text": "255"}]},
                        {"type": "message", "content": [{"type": "output_text", "text": "It is 255."}]},
                    ],
                },
            },
        },
    },
    "created_at": 1_700_000_000,
    "updated_at": 1_700_000_030,
}

_LIBRECHAT_ANSWER = {
    "messageId": "m2",
    "parentMessageId": "m1",
    "isCreatedByUser": False,
    "sender": "Engineer",
    "model": "gpt-4-turbo",
    "text": "",
    "content": [
        {"type": "think", "think": "Hm."},
        {"type": "text", "text": {"value": "Make it."}},
        {"type": "tool_call", "tool_call": {"name": "sh", "args": "ls", "output": "venv"}},
    ],
    "createdAt": "2024-05-01T16:35:12.604Z",
}
_LIBRECHAT_OTHER = {
    "messageId": "m3",
    "parentMessageId": "m1",
    "isCreatedByUser": False,
    "sender": "Engineer",
    "model": "gpt-4-turbo",
    "text": "Or so.",
    "createdAt": "2024-05-01T16:36:00.000Z",
}
_LIBRECHAT_QUESTION = {
    "messageId": "m1",
    "parentMessageId": "00000000-0000-0000-0000-000000000000",
    "isCreatedByUser": True,
    "sender": "User",
    "model": None,
    "text": "venv?",
    "createdAt": "2024-05-01T16:35:11.530Z",
}
LIBRECHAT_TREE = {
    "conversationId": "c-4",
    "endpoint": "openAI",
    "title": "Environment",
    "branches": True,
    "recursive": True,
    "options": {"model": "gpt-4-turbo", "promptPrefix": "You are an engineer."},
    "messages": [_LIBRECHAT_QUESTION | {"children": [_LIBRECHAT_ANSWER | {"children": []}, _LIBRECHAT_OTHER]}],
}
LIBRECHAT_LIST = LIBRECHAT_TREE | {
    "recursive": False,
    "messages": [_LIBRECHAT_QUESTION, _LIBRECHAT_ANSWER, _LIBRECHAT_OTHER],
}

LLAMA_CPP = {
    "conv": {"id": "c-5", "name": "Scene", "lastModified": 1_765_279_699_684, "currNode": "4"},
    "messages": [
        {"id": "0", "convId": "c-5", "type": "root", "role": "system", "content": "", "parent": None, "timestamp": 1},
        {"id": "1", "convId": "c-5", "type": "text", "role": "system", "content": "Brief.", "parent": "0"},
        {
            "id": "2",
            "convId": "c-5",
            "type": "text",
            "role": "user",
            "content": "A scene",
            "parent": "1",
            "timestamp": 1_765_275_434_078,
            "extra": [
                {"type": "TEXT", "name": "n.txt", "content": "words"},
                {"type": "IMAGE", "name": "p.png", "base64Url": f"data:image/png;base64,{PNG}"},
            ],
        },
        {
            "id": "3",
            "type": "text",
            "role": "assistant",
            "content": "One",
            "parent": "2",
            "model": "qwen",
            "thinking": "",
        },
        {
            "id": "4",
            "type": "text",
            "role": "assistant",
            "content": "Two",
            "parent": "2",
            "model": "qwen",
            "reasoningContent": "Hm.",
            "toolCalls": '[{"function": {"name": "f", "arguments": "{}"}}]',
        },
    ],
}

LM_STUDIO = {
    "name": "Local",
    "pinned": False,
    "createdAt": 1_700_000_000_000,
    "systemPrompt": "",
    "perChatPredictionConfig": {"fields": [{"key": "llm.prediction.systemPrompt", "value": "Be kind."}]},
    "lastUsedModel": {"identifier": "gpt-oss-20b"},
    "messages": [
        {
            "currentlySelected": 0,
            "versions": [
                {
                    "type": "singleStep",
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "Hi"},
                        {"type": "file", "fileIdentifier": "17 - 4.jpg", "fileType": "image", "sizeBytes": 1},
                    ],
                }
            ],
        },
        {
            "currentlySelected": 1,
            "versions": [
                {
                    "type": "multiStep",
                    "role": "assistant",
                    "steps": [{"type": "contentBlock", "content": [{"type": "text", "text": "One"}]}],
                },
                {
                    "type": "multiStep",
                    "role": "assistant",
                    "steps": [
                        {
                            "type": "contentBlock",
                            "style": {"type": "thinking"},
                            "content": [{"type": "text", "text": "Hm."}],
                        },
                        {"type": "debugInfoBlock", "debugInfo": "…"},
                        {
                            "type": "contentBlock",
                            "genInfo": {"identifier": "qwen"},
                            "content": [{"type": "text", "text": "Two"}],
                        },
                    ],
                },
            ],
        },
        {
            "currentlySelected": 0,
            "versions": [{"type": "singleStep", "role": "user", "content": [{"type": "text", "text": "And?"}]}],
        },
    ],
}

OPENAI = {
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": '{"a": 1}'}}],
        },
        {"role": "tool", "tool_call_id": "1", "content": "2"},
        {"role": "assistant", "content": "It is 2."},
    ]
}
SHAREGPT = {
    "id": "x",
    "conversations": [
        {"from": "system", "value": "Be brief."},
        {"from": "human", "value": "Hi"},
        {"from": "gpt", "value": "Hello"},
    ],
}
PREFERENCE = {
    "prompt": [{"role": "user", "content": "Why?"}],
    "chosen": [{"role": "assistant", "content": "Because."}],
    "rejected": [{"role": "assistant", "content": "No."}],
}

ALL: dict[str, dict[str, Any]] = {
    "ChatGPT": CHATGPT,
    "Claude": CLAUDE,
    "Open WebUI": OPEN_WEBUI,
    "LibreChat, a tree": LIBRECHAT_TREE,
    "LibreChat, a list": LIBRECHAT_LIST,
    "llama.cpp": LLAMA_CPP,
    "LM Studio": LM_STUDIO,
    "OpenAI": OPENAI,
    "ShareGPT": SHAREGPT,
    "preference": PREFERENCE,
}
