"""Searching the hub and describing models, over real HTTP on loopback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.catalog.entry import RemoteModel
from app.catalog.hub import Hits, Hub, best_of, model_of_key
from app.catalog.hub_error import HubError
from tests.hub_server import Fault, HubServer, Repository
from tests.worker.gguf.files import write_llama

CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 64,
    "num_attention_heads": 4,
    "max_position_embeddings": 8192,
    "quantization": {"bits": 4, "group_size": 64},
}
FILES = {
    "config.json": json.dumps(CONFIG).encode(),
    "model.safetensors": b"weights",
    "tokenizer.json": b"{}",
    "chat_template.jinja": b"{{ messages }}",
    "LICENSE": b"Do as you like.",
    "modeling.py": b"print()",
    "original/consolidated.pth": b"pickle",
    "onnx/model.onnx": b"onnx",
}
MLX = ("mlx", "text-generation", "license:apache-2.0", "4-bit")


def failure(hub: Hub, repo: str = "") -> HubError:
    with pytest.raises(HubError) as failed:
        hub.details(repo) if repo else hub.search("llama")
    return failed.value


def test_the_models_of_mlx_community_come_first(hub_server: HubServer) -> None:
    counts = {"safetensors": {"parameters": {"BF16": 1_000_000, "U32": 4_000_000}}}
    hub_server.add(Repository("someone/big-4bit", FILES, MLX, downloads=900))
    hub_server.add(Repository("mlx-community/small-4bit", FILES, MLX, downloads=5, expand=counts))
    hub_server.add(Repository("someone/some-GGUF", {}, ("gguf",), downloads=9000, expand={"gguf": {"total": 7}}))
    hub_server.add(Repository("mlx-community/speech", FILES, ("mlx", "text-to-speech"), downloads=99))
    found = Hub(hub_server.url).search("").models
    assert [model.repo for model in found] == ["mlx-community/small-4bit", "someone/big-4bit", "someone/some-GGUF"]
    assert [model.format for model in found] == ["mlx", "mlx", "gguf"]
    small = found[0]
    assert (small.licence, small.num_downloads, small.is_gated) == ("apache-2.0", 5, False)
    assert (small.quantization, small.num_parameters, small.num_bytes) == ("4 bits", 32_000_000, 18_000_000)
    assert small.updated_ms == 1_777_629_600_000


def test_words_and_pages(hub_server: HubServer) -> None:
    hub_server.page_size = 7
    for number in range(20):
        hub_server.add(Repository(f"mlx-community/llama-{number:02}-4bit", FILES, MLX, downloads=100 - number))
        hub_server.add(Repository(f"someone/Llama-{number:02}-GGUF", {}, ("gguf",), downloads=100 - number))
        hub_server.add(Repository(f"someone/qwen-{number:02}-4bit", FILES, MLX, downloads=number))
    hub = Hub(hub_server.url)
    hits = hub.search(" LLAMA   4bit ")
    pages = [hits]
    while hits.more:
        hits = hub.search_more(hits)
        pages.append(hits)
    found = [model.repo for page in pages for model in page.models]
    assert len(pages) == 3
    assert list(dict.fromkeys(found)) == [f"mlx-community/llama-{number:02}-4bit" for number in range(20)]
    assert hub.search_more(Hits()) == Hits()


def test_details_name_the_files_that_bough_needs(hub_server: HubServer) -> None:
    repository = hub_server.add(Repository("mlx-community/small-4bit", FILES, MLX))
    (model,) = Hub(hub_server.url).details("mlx-community/small-4bit")
    needed = ["LICENSE", "chat_template.jinja", "config.json", "tokenizer.json", "model.safetensors"]
    assert [file.path for file in model.files] == needed
    assert model.num_bytes == sum(len(FILES[path]) for path in needed)
    assert model.revision == repository.commit
    assert (model.architecture, model.context_length, model.quantization) == ("llama", 8192, "4 bits")
    assert model.shape is not None
    assert model.shape.layers != ()
    assert model.problem is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"model_file": "modeling.py"}, "needs its own program code"), ({"model_type": "bert"}, "of the type bert")],
)
def test_a_problem_is_known_before_anything_is_downloaded(
    hub_server: HubServer, changes: dict[str, str], words: str
) -> None:
    config = json.dumps({**CONFIG, **changes}).encode()
    hub_server.add(Repository("someone/odd", {**FILES, "config.json": config}, MLX))
    (model,) = Hub(hub_server.url).details("someone/odd")
    assert words in str(model.problem)


def test_a_gguf_repository_has_a_model_for_each_quantization(hub_server: HubServer, tmp_path: Path) -> None:
    content = write_llama(tmp_path / "llama.gguf", "Q4_0").read_bytes()
    files = {
        "README.md": b"# Llama",
        "llama-Q4_K_M.gguf": content,
        "llama-Q8_0.gguf": content + bytes(9000),
        "BF16/llama-BF16-00001-of-00002.gguf": content,
        "BF16/llama-BF16-00002-of-00002.gguf": bytes(90_000),
        "llama-F32-00001-of-00002.gguf": content,  # its second part is missing
        "mmproj-F16.gguf": content,
    }
    hub_server.add(Repository("someone/llama-GGUF", files, ("gguf", "license:llama3"), expand={"gguf": {"total": 9}}))
    models = Hub(hub_server.url).details("someone/llama-GGUF")
    assert [(model.quantization, model.gguf) for model in models] == [
        ("Q4_K_M", "llama-Q4_K_M.gguf"),
        ("Q8_0", "llama-Q8_0.gguf"),
        ("BF16", "BF16/llama-BF16-00001-of-00002.gguf"),
    ]
    assert best_of(models).quantization == "Q4_K_M"
    assert models[2].num_bytes == len(content) + 90_000 + len(b"# Llama")
    assert {(model.architecture, model.licence, model.problem) for model in models} == {("llama", "llama3", None)}
    assert all(model.shape and model.shape.layers and model.context_length for model in models)


def test_repositories_that_are_gone_private_or_gated(hub_server: HubServer) -> None:
    hub = Hub(hub_server.url)
    hub_server.add(Repository("someone/private", FILES, MLX, is_private=True))
    hub_server.add(Repository("someone/gated", FILES, MLX, gated="manual"))
    assert failure(hub, "someone/nothing").kind == "gone"
    assert failure(hub, "someone/private").kind == "gone"
    assert failure(hub, "no-repository").kind == "gone"
    assert failure(hub, "../../etc/passwd").kind == "gone"
    (gated,) = hub.details("someone/gated")
    assert gated.is_gated
    assert gated.shape is None
    hub.tokens.enter(hub_server.token)
    assert hub.details("someone/private")[0].shape is not None
    assert hub.details("someone/gated")[0].shape is not None
    hub.tokens.enter("hf_wrong")
    refused = failure(hub, "someone/private")
    assert refused.kind == "refused"
    assert "hf_wrong" not in str(refused)


@pytest.mark.parametrize(
    ("fault", "kind", "words"),
    [
        (Fault("status", status=503), "failed", "has a problem (HTTP 503)"),
        (Fault("status", status=429, headers={"Retry-After": "55"}), "busy", "Try again in 55 seconds"),
        (Fault("status", status=429, headers={"ratelimit": '"api";r=0;t=7'}), "busy", "Try again in 7 seconds"),
        (Fault("status", status=429), "busy", "in a few minutes"),
        (Fault("status", status=200, body=b"<html>Please log in</html>"), "invalid", "does not seem to be a hub"),
        (Fault("status", status=200, body=b'{"models": []}'), "invalid", "does not seem to be a hub"),
        (Fault("cut", 1), "unreachable", "can't be reached"),
        (Fault("stall", 1), "unreachable", "did not answer in time"),
        (Fault("status", status=418), "invalid", "refused this request (HTTP 418)"),
    ],
    ids=lambda value: f"{value.kind}-{value.status}" if isinstance(value, Fault) else None,
)
def test_failures_have_sentences(hub_server: HubServer, fault: Fault, kind: str, words: str) -> None:
    hub_server.fail("/api/models", fault, times=3)
    # A busy machine may answer late.
    found = failure(Hub(hub_server.url, timeout_s=0.3 if fault.kind == "stall" else 60))
    assert found.kind == kind
    assert words in str(found)


def test_without_a_network(hub_server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub = Hub(hub_server.url)
    assert hub.is_offline
    assert failure(hub).kind == "offline"
    assert hub_server.requests == []
    monkeypatch.delenv("HF_HUB_OFFLINE")
    closed = Hub("http://127.0.0.1:9")
    assert failure(closed).kind == "unreachable"


def test_the_endpoint_and_the_proxy_are_those_of_the_environment(
    hub_server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import close_session

    hub_server.add(Repository("someone/big-4bit", FILES, MLX))
    monkeypatch.setenv("HF_ENDPOINT", "http://hub.example/")
    assert Hub().endpoint == "http://hub.example"
    # The proxy answers itself: it is the hub of this test.
    monkeypatch.setenv("HTTP_PROXY", hub_server.url)
    close_session()
    try:
        assert [model.repo for model in Hub().search("").models] == ["someone/big-4bit"]
    finally:
        close_session()
    assert {request.headers["Host"] for request in hub_server.requests} == {"hub.example"}


def test_a_page_that_leads_elsewhere_is_not_followed(hub_server: HubServer) -> None:
    link = {"Link": '<http://127.0.0.1:9/api/models?cursor=1>; rel="next"'}
    hub_server.fail("/api/models", Fault("status", status=200, headers=link, body=b"[]"), times=3)
    assert Hub(hub_server.url).search("") == Hits()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
_REPOSITORY = st.fixed_dictionaries(
    {},
    optional={
        "id": st.sampled_from(["a/b", "../b", "a/b/c", "", "a/..", "ä/b"]) | _JSON,
        "sha": st.just("0" * 40) | _JSON,
        "gguf": st.fixed_dictionaries({"total": st.integers()}) | _JSON,
        "safetensors": st.fixed_dictionaries({"parameters": st.dictionaries(st.text(max_size=4), st.integers())})
        | _JSON,
        "tags": st.lists(st.sampled_from(["gguf", "mlx", "license:mit", "4-bit"])) | _JSON,
        "lastModified": st.sampled_from(["2026-05-01T10:00:00.000Z", "", "9999-99-99"]) | _JSON,
        "siblings": st.lists(
            st.fixed_dictionaries(
                {
                    "rfilename": st.sampled_from(
                        ["config.json", "model.safetensors", "../model.safetensors", "/a.gguf", "a\\b.gguf", "x.gguf"]
                    )
                    | st.text(max_size=8)
                },
                optional={"size": st.integers() | _JSON, "blobId": _JSON},
            ),
            max_size=6,
        )
        | _JSON,
    },
)


@settings(max_examples=40)
@given(st.lists(_REPOSITORY | _JSON, max_size=4))
def test_any_answer_ends_in_models_or_a_sentence(found: list[object]) -> None:
    """This needs no server, which would only slow it down: the bytes of a response are parsed directly."""
    answers = [json.dumps(found).encode(), json.dumps(found[0] if found else None).encode()]

    class Answered(Hub):
        def _get(self, address: str, *_: object, **__: object) -> tuple[bytes, str]:
            return answers["/api/models/" in address], ""

    hub = Answered("http://127.0.0.1:9")
    for ask in (lambda: hub.search("x").models, lambda: hub.details("a/b")):
        try:
            models = ask()
        except HubError:
            continue
        for model in models:
            assert ".." not in model.repo
            assert all(".." not in file.path and not file.path.startswith("/") for file in model.files)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("mlx-community/small-4bit", "mlx-community/small-4bit"),
        (" https://huggingface.co/mlx-community/small-4bit/ ", "mlx-community/small-4bit"),
        ("https://huggingface.co/mlx-community/small-4bit/tree/main", "mlx-community/small-4bit"),
        ("someone/llama-GGUF:llama-Q4_0.gguf", "someone/llama-GGUF:llama-Q4_0.gguf"),
        ("https://hf.co/a/b/blob/main/x/c.gguf", "a/b:x/c.gguf"),
        ("small-4bit", None),
        ("../..", None),
    ],
)
def test_a_model_is_named_by_its_key_or_its_page(text: str, key: str | None) -> None:
    found = model_of_key(text)
    assert (None if found is None else found.key) == key
    assert found is None or isinstance(found, RemoteModel)
