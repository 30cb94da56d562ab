"""Models are found in the folders of Bough and other programs, in their real layouts."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import pytest

from app.catalog.entry import LocalModel
from app.catalog.on_disk import find_models, model_at
from app.catalog.places_of_models import Root, usual_roots
from tests.app.catalog.layouts import LLAMA, gguf_bytes, write_hub_model, write_model, write_ollama_model


def models_in(home: Path, **environment: str) -> dict[str, LocalModel]:
    """Return the models below a home folder, by title."""
    found = list(find_models(usual_roots(home / "bough" / "models", environment=environment, home=home)))
    assert len({model.title for model in found}) == len(found)
    return {model.title: model for model in found}


def below(folder: Path) -> list[LocalModel]:
    return list(find_models([Root(folder, "added")]))


# --- layouts -----------------------------------------------------------------------------------------------


def test_a_folder_and_a_gguf_file_of_bough(tmp_path: Path):
    folder = write_model(tmp_path / "bough" / "models" / "owner" / "little")
    (tmp_path / "bough" / "models" / "small-Q4_K_M.gguf").write_bytes(gguf_bytes(general__license="mit"))
    found = models_in(tmp_path)
    little, small = found["little"], found["small-Q4_K_M"]
    assert (little.name, little.path, little.source, little.format) == (str(folder), folder, "bough", "mlx")
    assert (little.repo, little.architecture, little.context_length) == ("owner/little", "llama", 4096)
    assert (little.num_parameters, little.quantization, little.problem) == (6400, "F16", None)
    assert (small.format, small.quantization, small.licence) == ("gguf", "Q4_K_M", "mit")
    assert (small.architecture, small.context_length, small.problem) == ("llama", 2048, None)


def test_the_cache_of_huggingface_hub(tmp_path: Path):
    cache = tmp_path / "hf" / "hub"
    snapshot = write_hub_model(cache, "owner/name", write_model(tmp_path / "a"))
    other = write_hub_model(cache, "someone/else", write_model(tmp_path / "b"), main=False)
    (cache / "models--no--files" / "refs").mkdir(parents=True)
    (cache / "datasets--owner--name").mkdir()
    gguf = tmp_path / "c"
    gguf.mkdir()
    (gguf / "m-Q8_0.gguf").write_bytes(gguf_bytes())
    (gguf / "mmproj-m-f16.gguf").write_bytes(gguf_bytes())
    write_hub_model(cache, "owner/m-GGUF", gguf)
    found = models_in(tmp_path, HF_HOME=str(tmp_path / "hf"))
    assert set(found) == {"name", "else", "m-Q8_0"}
    assert (found["name"].name, found["name"].path, found["name"].repo) == ("owner/name", snapshot, "owner/name")
    # `load_model` finds only the branch main by the repository's name.
    assert found["else"].name == str(other)
    assert found["m-Q8_0"].repo == "owner/m-GGUF"
    assert {model.source for model in found.values()} == {"hub"}


@pytest.mark.parametrize("variable", ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", ""])
def test_the_places_of_the_hubs_cache(tmp_path: Path, variable: str):
    cache = {
        "HF_HOME": tmp_path / "x" / "hub",
        "XDG_CACHE_HOME": tmp_path / "x" / "huggingface" / "hub",
        "": tmp_path / ".cache" / "huggingface" / "hub",
    }.get(variable, tmp_path / "x")
    write_hub_model(cache, "owner/name", write_model(tmp_path / "a"))
    assert set(models_in(tmp_path, **({variable: str(tmp_path / "x")} if variable else {}))) == {"name"}


def test_lm_studio(tmp_path: Path):
    write_model(tmp_path / ".lmstudio" / "models" / "mlx-community" / "one-4bit")
    chosen = tmp_path / "disk" / "models"
    for part in range(1, 4):
        (chosen / "owner" / "two").mkdir(parents=True, exist_ok=True)
        (chosen / "owner" / "two" / f"two-Q6_K-{part:05}-of-00003.gguf").write_bytes(gguf_bytes())
    (tmp_path / ".lmstudio" / "settings.json").write_text(json.dumps({"downloadsFolder": str(chosen)}))
    moved = tmp_path / "moved"
    (tmp_path / ".lmstudio-home-pointer").write_text(f"{moved}\n")
    write_model(moved / "models" / "owner" / "three")
    found = models_in(tmp_path)
    assert {title: model.repo for title, model in found.items()} == {
        "one-4bit": "mlx-community/one-4bit",
        "two-Q6_K": "owner/two",
        "three": "owner/three",
    }
    assert {model.source for model in found.values()} == {"lm_studio"}
    two = found["two-Q6_K"]
    assert len(two.files) == 3
    assert two.num_bytes == sum(file.stat().st_size for file in two.files)
    assert two.path == two.files[0]


def test_ollama(tmp_path: Path):
    models = tmp_path / "ollama"
    blob = write_ollama_model(models, "little", "1b", gguf_bytes(general__file_type=15))
    # A second tag of the same weights.
    write_ollama_model(models, "little", "latest", gguf_bytes(general__file_type=15))
    write_ollama_model(models, "me/mine", "q8", gguf_bytes(general__file_type=7))
    write_ollama_model(models, "bart/Tiny-GGUF", "Q4_0", gguf_bytes(general__license="mit"), host="hf.co")
    write_ollama_model(models, "embed", "latest", gguf_bytes(general__architecture="nomic-bert"))
    gone = write_ollama_model(models, "gone", "latest", gguf_bytes(general__name="gone"))
    gone.unlink()
    found = models_in(tmp_path, OLLAMA_MODELS=str(models))
    assert set(found) == {"little:1b", "me/mine:q8", "hf.co/bart/Tiny-GGUF:Q4_0"}
    little = found["little:1b"]
    assert (little.path, little.source, little.format, little.quantization) == (blob, "ollama", "gguf", "Q4_K_M")
    assert found["hf.co/bart/Tiny-GGUF:Q4_0"].repo == "bart/Tiny-GGUF"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"layers": 3}', '{"layers": [{"digest": "sha256:../../x"}]}'])
def test_a_damaged_manifest(tmp_path: Path, text: str):
    write_ollama_model(tmp_path / ".ollama" / "models", "good", "1", gguf_bytes())
    folder = tmp_path / ".ollama" / "models" / "manifests" / "registry.ollama.ai" / "library" / "bad"
    folder.mkdir(parents=True)
    (folder / "latest").write_text(text)
    assert set(models_in(tmp_path)) == {"good:1"}


def test_llama_cpp(tmp_path: Path):
    cache = tmp_path / ".cache" / "llama.cpp"
    cache.mkdir(parents=True)
    (cache / "ggml-org_tiny-GGUF_tiny-Q8_0.gguf").write_bytes(gguf_bytes())
    (cache / "ggml-org_tiny-GGUF_tiny-Q8_0.gguf.json").write_text("{}")
    (cache / "manifest=ggml-org=tiny-GGUF=latest.json").write_text("{}")
    (cache / "other_other.gguf.downloadInProgress").write_bytes(b"GG")
    found = models_in(tmp_path)
    assert {title: model.source for title, model in found.items()} == {"ggml-org_tiny-GGUF_tiny-Q8_0": "llama_cpp"}
    moved = tmp_path / "elsewhere"
    cache.rename(moved)
    assert set(models_in(tmp_path, LLAMA_CACHE=str(moved))) == set(found)


def test_folders_that_the_user_added(tmp_path: Path):
    write_model(tmp_path / "plain" / "a" / "b" / "one")
    write_hub_model(tmp_path / "cache", "owner/two", write_model(tmp_path / "x"))
    write_ollama_model(tmp_path / "ollama", "three", "1", gguf_bytes())
    added = [tmp_path / name for name in ("plain", "cache", "ollama", "missing")]
    roots = usual_roots(tmp_path / "models", added, environment={}, home=tmp_path / "home")
    found = {model.title: model for model in find_models(roots)}
    assert set(found) == {"one", "two", "three:1"}
    assert {model.source for model in found.values()} == {"added"}
    # It is not in the cache that `load_model` looks in.
    assert found["two"].name == str(found["two"].path)


# --- facts -------------------------------------------------------------------------------------------------


def test_the_facts_in_a_folder(tmp_path: Path):
    config = LLAMA | {"quantization": {"group_size": 64, "bits": 4}, "eos_token_id": None}
    readme = '---\nlanguage: en\nlicense: other\nlicense_name: "gemma"\n---\nlicense: not-this\n'
    folder = write_model(tmp_path / "a", config, README_md=readme)
    (folder / "tokenizer_config.json").write_text("{}")
    (model,) = below(tmp_path)
    assert (model.quantization, model.licence) == ("4 bits", "gemma")
    assert not model.has_template
    assert not model.has_end_token
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    (folder / "generation_config.json").write_text('{"eos_token_id": [7]}')
    (model,) = below(tmp_path)
    assert model.has_template
    assert model.has_end_token
    (folder / "README.md").unlink()
    (folder / "bough.json").write_text('{"licence": "apache-2.0"}')
    assert [model.licence for model in below(tmp_path)] == ["apache-2.0"]


def test_the_model_at_a_path(tmp_path: Path):
    folder = write_model(tmp_path / "a")
    (tmp_path / "b.gguf").write_bytes(gguf_bytes())
    (tmp_path / "c.gguf").write_bytes(gguf_bytes())
    found = [model_at(path) for path in (folder, tmp_path / "c.gguf", tmp_path / "gone", tmp_path)]
    assert [model and model.title for model in found] == ["a", "c", None, "b"]


# --- what is no model, or a broken one ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "files"),
    [
        ({"architectures": ["BertModel"], "model_type": "bert"}, []),
        ({"architectures": ["CLIPModel"], "model_type": "clip"}, []),
        ({"architectures": ["Qwen3ForSequenceClassification"], "model_type": "qwen3"}, []),
        ({"architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "is_encoder_decoder": True}, []),
        (LLAMA, ["modules.json"]),
        (LLAMA, ["model_index.json"]),
        ({"_class_name": "UNet2DConditionModel"}, []),
    ],
)
def test_models_that_are_not_for_chats_are_hidden(tmp_path: Path, config: dict[str, object], files: list[str]):
    folder = write_model(tmp_path / "a", config)
    for name in files:
        (folder / name).write_text("{}")
    assert below(tmp_path) == []


def test_adapters_are_hidden(tmp_path: Path):
    folder = write_model(tmp_path / "a")
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    (folder / "adapter_config.json").write_text("{}")
    (tmp_path / "a-lora-f16.gguf").write_bytes(gguf_bytes())
    (tmp_path / "b.gguf").write_bytes(gguf_bytes(general__type="adapter"))
    (tmp_path / "c.gguf").write_bytes(gguf_bytes(general__architecture="clip"))
    assert below(tmp_path) == []


def test_broken_models_are_listed_with_their_problem(tmp_path: Path):
    (write_model(tmp_path / "unknown", LLAMA | {"model_type": "novel"})).touch()
    (write_model(tmp_path / "config") / "config.json").write_text("{")
    (write_model(tmp_path / "code", LLAMA | {"model_file": "model.py"})).touch()
    pickles = write_model(tmp_path / "pickles")
    (pickles / "model.safetensors").rename(pickles / "pytorch_model.bin")
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    write_model(tmp_path / "part", model_safetensors_index_json=json.dumps(index))
    cut = write_model(tmp_path / "cut") / "model.safetensors"
    cut.write_bytes(cut.read_bytes()[:-100])
    (tmp_path / "bad.gguf").write_bytes(b"no such thing")
    (tmp_path / "novel.gguf").write_bytes(gguf_bytes(general__architecture="novel"))
    (tmp_path / "half-00001-of-00002.gguf").write_bytes(gguf_bytes())
    found = {model.title: str(model.problem) for model in below(tmp_path)}
    assert {title: word in found[title] for title, word in (
        ("unknown", "models of the type novel"),
        ("config", "can't be read"),
        ("code", "program code"),
        ("pickles", "safetensors"),
        ("part", "lacks 2 of 2 weight files"),
        ("cut", "incomplete"),
        ("bad", "not a GGUF file"),
        ("novel", "architecture novel"),
        ("half", "1 of the 2 parts"),
    )} == dict.fromkeys(found, True)  # fmt: skip


def test_folders_that_can_not_be_listed(tmp_path: Path):
    write_model(tmp_path / "good")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "good" / "loop").symlink_to(tmp_path / "good")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    (tmp_path / "self").symlink_to(tmp_path / "self")
    (tmp_path / "file.safetensors").write_text("")
    write_model(tmp_path / ".hidden" / "model")
    write_model(tmp_path / "b" / "model.partial")
    closed = write_model(tmp_path / "closed")
    closed.chmod(0)
    deep = tmp_path
    for _ in range(12):
        deep /= "d"
    write_model(deep)
    os.mkfifo(tmp_path / "pipe.gguf")
    try:
        titles = {model.title for model in below(tmp_path)}
    finally:
        closed.chmod(0o700)
    # Root may list every folder.
    assert titles - {"closed"} == {"good"}


def test_hostile_names_are_cleaned(tmp_path: Path):
    write_model(tmp_path / "a\x1b[31m\nb\u202e")
    (tmp_path / "\udcff.gguf").write_bytes(gguf_bytes(general__name="x\x1b]0;y\x07"))
    titles = {model.title for model in below(tmp_path)}
    assert len(titles) == 2
    assert not any(character in title for title in titles for character in "\x1b\n\u202e\x07\udcff")


def test_random_bytes_end_in_a_problem(tmp_path: Path):
    draw = random.Random(0)
    good = {path.name: path.read_bytes() for path in write_model(tmp_path / "good").iterdir()}
    for number in range(60):
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, data in good.items():
            spoilt = bytearray(data)
            for _ in range(draw.randrange(3)):
                spoilt[draw.randrange(len(spoilt))] = draw.randrange(256)
            (folder / name).write_bytes(spoilt[: draw.choice([len(spoilt), draw.randrange(len(spoilt))])])
        whole = bytearray(gguf_bytes())
        whole[draw.randrange(24, len(whole))] = draw.randrange(256)
        (folder / "m.gguf").write_bytes(whole)
    assert len(below(tmp_path)) > 60
