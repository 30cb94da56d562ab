"""Tests for the quicker import of transformers."""

import subprocess
import sys

_CODE = """
import os
os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"
from pathlib import Path
import transformers
utils = transformers.utils.import_utils
folder = Path(transformers.__file__).parent / "models"
plain = utils.define_import_structure(str(folder / "__init__.py"))
from worker.transformers_import import import_transformers
import_transformers()
searched = []
search, utils.create_import_structure_from_path = utils.create_import_structure_from_path, searched.append
assert utils.define_import_structure(str(folder / "__init__.py")) == plain
assert not searched
utils.create_import_structure_from_path = search
from transformers import AutoTokenizer, PreTrainedTokenizerFast
from transformers.models.llama import LlamaConfig
print(AutoTokenizer.__name__, LlamaConfig.__name__)
"""


def test_transformers_offers_the_same_names_and_searches_its_source_files_once() -> None:
    done = subprocess.run([sys.executable, "-c", _CODE], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("AutoTokenizer LlamaConfig\n", 0), done.stderr


def test_importing_transformers_prints_nothing() -> None:
    code = "from worker.transformers_import import import_transformers; import_transformers(); import mlx_lm"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
