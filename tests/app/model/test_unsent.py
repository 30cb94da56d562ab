"""Files that go with a message: read as text or refused with a reason, in fences that their text can't close."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from app.model.unsent import MAX_BYTES, NOTHING, Attachment, NotAttachedError, read_attachment, with_attachments


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        (b"a\r\nb\rc\n", "a\nb\nc\n"),
        ("Füße 😀".encode(), "Füße 😀"),
        ("\ufeffmarked".encode(), "marked"),
        ("wide 😀".encode("utf-16"), "wide 😀"),
        ("wide".encode("utf-16-be").join([b"\xfe\xff", b""]), "wide"),
        ("Füße".encode("cp1252"), "Füße"),
        (b"\x1b[31mred\x1b[0m\x0c", "\x1b[31mred\x1b[0m\x0c"),
    ],
)
def test_a_text_file_is_read_whatever_program_wrote_it(tmp_path: Path, data: bytes, text: str) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(data)
    assert read_attachment(file) == Attachment(name="a.txt", text=text)


@pytest.mark.parametrize("data", [b"\x89PNG\r\n\x1a\n\x00\x00", b"a\x00b", b"\x81\x8d", bytes(range(256))])
def test_a_file_that_is_not_text_is_refused_by_name(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "picture.png"
    file.write_bytes(data)
    with pytest.raises(NotAttachedError, match=r"“picture\.png” is not a text file"):
        read_attachment(file)


def test_a_file_that_is_too_large_a_folder_or_missing_is_refused_with_a_reason(tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    big.write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(NotAttachedError, match=r"has 2 MiB.*Attach a part"):
        read_attachment(big)
    big.write_bytes(b"x" * MAX_BYTES)
    whole = read_attachment(big)
    (tmp_path / "one.txt").write_bytes(b"x")
    with pytest.raises(NotAttachedError, match="has 1 bytes"):
        read_attachment(tmp_path / "one.txt", [whole])
    with pytest.raises(NotAttachedError, match="is a folder"):
        read_attachment(tmp_path)
    with pytest.raises(NotAttachedError, match=r"can't be read \(No such file"):
        read_attachment(tmp_path / "gone.txt")
    assert os.path.lexists(big)


def test_a_message_with_files_reads_well() -> None:
    files = [Attachment(name="notes.py", text="x = 1\n"), Attachment(name="list", text="a")]
    assert with_attachments("Why?\n", files) == "Why?\n\nnotes.py:\n\n```py\nx = 1\n```\n\nlist:\n\n```text\na\n```"
    assert with_attachments("", files[1:]) == "list:\n\n```text\na\n```"
    assert with_attachments("As it is \n", []) == "As it is \n"


@pytest.mark.parametrize("seed", range(60))
def test_no_file_can_close_its_fence(seed: int) -> None:
    draw = random.Random(seed)
    pieces = ["`", "``", "```", "````", "~~~", "\n", "\n\n", "text", "# x", "    ", "- a", "```py", "<b>", "> "]
    files = [
        Attachment(name=f"f{number}.md", text="".join(draw.choices(pieces, k=draw.randint(0, 30))))
        for number in range(draw.randint(1, 3))
    ]
    tokens = MarkdownIt().parse(with_attachments("Question", files))
    fences = [token.content for token in tokens if token.type == "fence"]
    assert [fence.rstrip("\n") for fence in fences] == [file.text.rstrip("\n") for file in files]
    assert [token.content for token in tokens if token.type == "inline"] == [
        "Question",
        *(f"{file.name}:" for file in files),
    ]


def test_each_message_has_one_edit() -> None:
    unsent = NOTHING.with_edit(3, "a").with_edit(4, "b\ud83d").with_edit(3, "c").cleaned
    assert [unsent.edit_of(message_id) for message_id in (3, 4, 5)] == ["c", "b\ufffd", None]
    assert unsent.num_chars == 3
    assert unsent.with_edit(4, None).with_edit(3, None).with_edit(5, None) == NOTHING
