"""Invalid model folders: each is refused with the problem and a remedy, and the previous model stays loaded."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.places import Places
from tests.driver import ROOT, StdioWorker
from worker.errors import ModelInvalidError, ModelNotFoundError, WorkerError
from worker.models.folder import check_folder, find_model, starter_path
from worker.values import STARTER_FOLDER

Damage = Callable[[Path], None]


def edit_json(name: str, **changes: object) -> Damage:
    def damage(folder: Path) -> None:
        file = folder / name
        described = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps({**described, **changes}))

    return damage


def write(name: str, content: str | bytes) -> Damage:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    return damage


def remove(name: str) -> Damage:
    return lambda folder: (folder / name).unlink()


def truncate(name: str, num_bytes: int) -> Damage:
    def damage(folder: Path) -> None:
        file = folder / name
        file.write_bytes(file.read_bytes()[:-num_bytes])

    return damage


def header(described: object) -> bytes:
    data = json.dumps(described).encode()
    return struct.pack("<Q", len(data)) + data


def index_of(*files: str) -> str:
    return json.dumps({"weight_map": {f"weight.{number}": file for number, file in enumerate(files)}})


def without_a_weight(folder: Path) -> None:
    import numpy as np
    from safetensors.numpy import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["model.norm.weight"]
    weights["model.layers.0.odd.weight"] = np.zeros((4, 4), dtype=np.float32)
    save_file(weights, folder / "model.safetensors", metadata={"format": "mlx"})


def with_weights_of_another_shape(folder: Path) -> None:
    edit_json("config.json", hidden_size=128)(folder)


def with_a_link_that_leads_nowhere(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to(folder / "blobs" / "gone")


# By name: the damage to a good folder, the kind of failure, words of the message. These are seen in the files.
SEEN_IN_FILES: dict[str, tuple[Damage, str, str]] = {
    "no config": (remove("config.json"), "model_invalid", "no config.json"),
    "broken config": (write("config.json", "{"), "model_invalid", "can't be read"),
    "config is a list": (write("config.json", "[]"), "model_invalid", "not a JSON object"),
    "config is no text": (write("config.json", b"\xff\xfe\x00"), "model_invalid", "can't be read"),
    "config is deep": (write("config.json", "[" * 100_000), "model_invalid", "can't be read"),
    "no kind": (edit_json("config.json", model_type=None), "model_invalid", "`model_type`"),
    "program": (edit_json("config.json", model_file="run.py"), "model_untrusted", "(run.py, named"),
    "no weights": (remove("model.safetensors"), "model_invalid", "no weights"),
    "dead link": (with_a_link_that_leads_nowhere, "model_invalid", "no weights"),
    "no tokenizer": (remove("tokenizer.json"), "model_invalid", "no tokenizer"),
    "cut weights": (truncate("model.safetensors", 100), "model_invalid", "100 bytes are missing"),
    "empty weights": (write("model.safetensors", b""), "model_invalid", "is damaged"),
    "short weights": (write("model.safetensors", b"\x05\x00\x00"), "model_invalid", "is damaged"),
    "huge header": (write("model.safetensors", b"\xff" * 64), "model_invalid", "is damaged"),
    "header is a list": (write("model.safetensors", header([1])), "model_invalid", "is damaged"),
    "odd header": (write("model.safetensors", header({"a": {"shape": "x"}})), "model_invalid", "is damaged"),
    "odd offsets": (
        write("model.safetensors", header({"a": {"data_offsets": ["x", "y"]}})),
        "model_invalid",
        "is damaged",
    ),
    "no shard": (
        write("model.safetensors.index.json", index_of("model.safetensors", "model-00002-of-00002.safetensors")),
        "model_invalid",
        "lacks 1 of 2 weight files",
    ),
    "broken index": (write("model.safetensors.index.json", "{"), "model_invalid", "can't be read"),
    "odd index": (write("model.safetensors.index.json", '{"weight_map": [1]}'), "model_invalid", "can't be read"),
}
# These are only seen when the model is built, still before the previous one is unloaded.
SEEN_WHEN_BUILT: dict[str, tuple[Damage, str, str]] = {
    "unknown kind": (edit_json("config.json", model_type="perceptron"), "model_invalid", "of the type perceptron"),
    "kind that is a module": (edit_json("config.json", model_type="cache"), "model_invalid", "can't be loaded"),
    "kind with a path": (edit_json("config.json", model_type="../os"), "model_invalid", "does not support"),
    "kind that ends the program": (edit_json("config.json", model_type="olmo"), "model_invalid", "can't be loaded"),
    "missing setting": (edit_json("config.json", hidden_size=None), "model_invalid", "can't be loaded"),
    "missing weight": (without_a_weight, "model_invalid", "can't be loaded"),
    "other shape": (with_weights_of_another_shape, "model_invalid", "can't be loaded"),
    "damaged tokenizer": (write("tokenizer.json", "{"), "model_invalid", "The tokenizer in"),
    "odd tokenizer": (write("tokenizer.json", '{"model": 5}'), "model_invalid", "The tokenizer in"),
    "tokenizer's program": (
        edit_json(
            "tokenizer_config.json",
            tokenizer_class="OddTokenizer",
            auto_map={"AutoTokenizer": ["tokenization_odd.OddTokenizer", None]},
        ),
        "model_untrusted",
        "its own program code",
    ),
}
ALL = SEEN_IN_FILES | SEEN_WHEN_BUILT


@pytest.fixture
def folder(random_llama: Path, tmp_path: Path) -> Path:
    shutil.copytree(random_llama, tmp_path / "model")
    # A model's own program, if it ran, would leave a trace.
    for name in ("run.py", "tokenization_odd.py"):
        (tmp_path / "model" / name).write_text(f"open({str(tmp_path / 'was-run')!r}, 'w')\n")
    return tmp_path / "model"


@pytest.fixture(scope="module")
def loaded(shared_worker: StdioWorker, random_llama: Path) -> StdioWorker:
    shared_worker.load(random_llama)
    return shared_worker


@pytest.mark.parametrize("name", ALL)
def test_a_damaged_folder_is_refused_with_a_message_and_the_previous_model_stays(
    loaded: StdioWorker, folder: Path, name: str
):
    damage, kind, words = ALL[name]
    damage(folder)
    before = loaded.result("generate", text="Hello", max_tokens=9)["choices"][0]["token_ids"]
    failed = loaded.result("load_model", model=str(folder))
    assert (failed["type"], failed["kind"]) == ("failed", kind), failed
    assert words in failed["message"]
    assert str(folder) in failed["message"]
    assert len(failed["message"]) < 1000
    # The message says what to do and is not that of a bug.
    assert any(verb in failed["message"] for verb in ("Choose", "choose", "Download", "download")), failed["message"]
    assert loaded.result("generate", text="Hello", max_tokens=9)["choices"][0]["token_ids"] == before
    assert not (folder.parent / "was-run").exists()


@pytest.mark.parametrize("name", SEEN_IN_FILES)
def test_damaged_files_are_found_without_loading_the_model(folder: Path, name: str):
    damage, kind, words = SEEN_IN_FILES[name]
    damage(folder)
    with pytest.raises(WorkerError) as caught:
        check_folder(folder)
    assert caught.value.kind == kind
    assert words in str(caught.value)


def test_unreadable_weights_leave_no_model_and_the_message_says_so(loaded: StdioWorker, folder: Path):
    # The list of tensors matches the file's length, but MLX does not read the last tensor.
    file = folder / "model.safetensors"
    data = file.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    described = json.loads(data[8 : 8 + length])
    last = max((name for name in described if name != "__metadata__"), key=lambda name: described[name]["data_offsets"])
    described[last]["dtype"] = "F6_E3M2"
    file.write_bytes(header(described) + data[8 + length :])
    failed = loaded.result("load_model", model=str(folder))
    assert failed["kind"] == "model_invalid"
    assert "can't be loaded" in failed["message"]
    still_there = loaded.result("tokenize", text="a")["type"] == "tokenized"
    assert still_there == ("No model is loaded now." not in failed["message"])
    loaded.load("guide")


def test_a_configuration_that_names_its_own_programs_is_loaded_without_them(loaded: StdioWorker, folder: Path):
    # Many models of a built-in kind come with programs for other libraries.
    edit_json("config.json", auto_map={"AutoConfig": "run.Config", "AutoModelForCausalLM": "run.Model"})(folder)
    assert loaded.load(folder)["architecture"] == "llama"
    assert not (folder.parent / "was-run").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/nowhere/at/all", "no folder and no downloaded model"),
        ("nobody/nothing", "no folder and no downloaded model"),
        ("not a name at all", "no folder and no downloaded model"),
        ("~nobody-of-this-name/model", "There is no model"),
        ("nul\0", "NUL"),
        ("x" * 5000, "There is no"),
        ("a/b/c/d", "no folder and no downloaded model"),
        (".", "config.json"),
    ],
)
def test_an_unknown_name_is_refused_with_a_message(loaded: StdioWorker, name: str, words: str):
    failed = loaded.result("load_model", model=name)
    assert failed["kind"] in {"model_not_found", "model_invalid"}
    assert words in failed["message"]
    assert len(failed["message"]) < 600
    assert loaded.result("tokenize", text="a")["type"] == "tokenized"


def test_a_file_is_refused_with_a_hint_to_choose_its_folder(folder: Path):
    with pytest.raises(ModelNotFoundError, match=r"model\.safetensors is a file\. Choose the folder"):
        find_model(str(folder / "model.safetensors"))


def test_an_unreadable_folder_is_refused(folder: Path):
    if os.geteuid() == 0:
        (folder / "config.json").unlink()
        (folder / "config.json").mkdir()
    else:
        (folder / "config.json").chmod(0)
    with pytest.raises(ModelInvalidError, match="can't be read"):
        find_model(str(folder))


# --- downloaded models -----------------------------------------------------------------------------------------


def _downloaded(home: Path, folder: Path, files: list[str]) -> dict[str, str]:
    """Make a cache of downloaded models with some files of a model; return an environment that points to it."""
    repository = home / "hub" / "models--someone--small"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("0" * 40)
    snapshot = repository / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    for name in files:
        shutil.copy(folder / name, snapshot / name)
    return {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}


FIND = (
    "from worker.models.folder import find_model\n"
    "from worker.errors import WorkerError\n"
    "try: print(find_model('someone/small').num_parameters)\n"
    "except WorkerError as error: print(error)\n"
)


def test_a_downloaded_model_is_found_by_its_name(folder: Path, tmp_path: Path):
    files = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    environment = _downloaded(tmp_path / "home", folder, files)
    found = subprocess.run([sys.executable, "-c", FIND], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert int(found.stdout) > 100_000


def test_an_unfinished_download_is_refused_with_the_missing_files(folder: Path, tmp_path: Path):
    environment = _downloaded(tmp_path / "home", folder, ["config.json", "tokenizer.json"])
    found = subprocess.run([sys.executable, "-c", FIND], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert b"no weights" in found.stdout


def test_the_starter_has_a_name(random_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    place = starter_path()
    place.parent.mkdir(parents=True)
    place.symlink_to(random_llama)
    assert find_model("starter").path == place
    if place.is_relative_to(tmp_path):  # not on macOS, which has one folder for this
        assert place == Places.of_user().models / STARTER_FOLDER
