"""Finds files that hold a secret in any form, also in what is packed in them."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote


def forms_of(key: str) -> set[bytes]:
    """Return a key, or another secret, as text, in a URL, in JSON, and in Base64 wherever it begins in the bytes."""
    forms = {key.encode(), quote(key).encode(), quote(key, safe="").encode(), json.dumps(key)[1:-1].encode()}
    for before in range(3):
        # The first and the last characters also hold bits of the neighbours.
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            forms.add(encode(bytes(before) + key.encode()).rstrip(b"=")[-(-before * 8 // 6) : -1])
    return forms


def _contents(file: Path) -> Iterator[bytes]:
    """Yield the bytes of a file, and what is packed in it. A file may end meanwhile: a copy that gets its last name."""
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return
    yield content
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as packed:
            yield from map(packed.read, packed.namelist())
    if content.startswith(b"%PDF"):
        for stream in re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
            with contextlib.suppress(zlib.error):
                yield zlib.decompressobj().decompress(stream)


def holders(folder: Path, forms: set[bytes]) -> list[Path]:
    """Return the files below a folder in which a form of a key stands."""
    files = [Path(top) / name for top, _, names in os.walk(folder) for name in names]
    return [
        file
        for file in files
        if file.is_file() and any(form in content for content in _contents(file) for form in forms)
    ]
