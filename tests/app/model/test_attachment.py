"""Files that go with a message: what the model reads of them, in fences that their text can't close."""

from __future__ import annotations

import random

import pytest
from markdown_it import MarkdownIt

from app.answers.prompt import turns
from app.costs.prompt_size import question
from app.model.attachment import Attachment, FilePart, file_message, split_file, text_read, unsent_files


def test_files_stand_before_the_question_in_one_turn() -> None:
    files = [Attachment(name="notes.py", text="x = 1\n"), Attachment(name="list", text="a")]
    (turn,) = turns([*unsent_files(files), question("Why?")])
    assert (turn.role, turn.content) == ("user", "notes.py:\n\n```py\nx = 1\n```\n\nlist:\n\n```text\na\n```\n\nWhy?")
    (turn,) = turns([*unsent_files(files[1:]), question("")])
    assert turn.content == "list:\n\n```text\na\n```"


def test_the_chosen_parts_are_sent_under_their_titles() -> None:
    parts = tuple(FilePart(title=f"page {number}", text=f"text {number}") for number in (1, 2, 3))
    whole = Attachment(name="a\nb.pdf", parts=parts, num_parts=3)
    assert whole.chosen == "[page 1]\ntext 1\n\n[page 2]\ntext 2\n\n[page 3]\ntext 3"
    (file,) = unsent_files([Attachment(name="a\nb.pdf", parts=parts, num_parts=3, left_out=(0, 2))])
    assert split_file(file) == ("a b.pdf", "[page 2]\ntext 2")
    assert text_read(file) == "a b.pdf:\n\n```text\n[page 2]\ntext 2\n```"
    assert file_message(whole).startswith("a b.pdf\n[page 1]")


@pytest.mark.parametrize("seed", range(60))
def test_no_file_can_close_its_fence(seed: int) -> None:
    draw = random.Random(seed)
    pieces = ["`", "``", "```", "````", "~~~", "\n", "\n\n", "text", "# x", "    ", "- a", "```py", "<b>", "> "]
    files = [
        Attachment(name=f"f{number}.md", text="".join(draw.choices(pieces, k=draw.randint(0, 30))))
        for number in range(draw.randint(1, 3))
    ]
    (turn,) = turns([*unsent_files(files), question("Question")])
    tokens = MarkdownIt().parse(turn.content)
    fences = [token.content for token in tokens if token.type == "fence"]
    assert [fence.rstrip("\n") for fence in fences] == [file.text.rstrip("\n") for file in files]
    assert [token.content for token in tokens if token.type == "inline"] == [
        *(f"{file.name}:" for file in files),
        "Question",
    ]
