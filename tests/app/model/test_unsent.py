"""The unsent texts of a conversation."""

from __future__ import annotations

from app.model.unsent import NOTHING


def test_each_message_has_one_edit() -> None:
    unsent = NOTHING.with_edit(3, "a").with_edit(4, "b\ud83d").with_edit(3, "c").cleaned
    assert [unsent.edit_of(message_id) for message_id in (3, 4, 5)] == ["c", "b\ufffd", None]
    assert unsent.num_chars == 3
    assert unsent.with_edit(4, None).with_edit(3, None).with_edit(5, None) == NOTHING
