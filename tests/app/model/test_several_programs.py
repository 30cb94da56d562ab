"""Several programs use one store at once: all their messages are there, in order, and none is lost."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

from app.model.backups import Backups
from app.model.store import Store
from tests.app.model.stores import INTEGRITY_CHECK, sql, trashed_ids, write_first_version
from tests.app.trees import plant
from tests.driver import ROOT

_NUM_PROGRAMS = 4
_NUM_MESSAGES = 40

# Writes like the window: questions, streamed answers, choices; it also searches, and moves conversations to the trash.
_WRITES = """
import sys
from pathlib import Path
from app.model.store import Store
from app.model.open_conversation import OpenConversation
from worker.sentence import verbatim
path, who, num = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
store = Store(path, patience_ms=60_000)
print("open", flush=True)
sys.stdin.readline()
shared = OpenConversation(store, store.conversations.get(1))
own, question = store.create_conversation(f"of {who}", "", f"{who} begins")
for number in range(num):
    answer = store.add(own.id, question.id, "assistant", "", state="streaming")
    store.messages.append({answer.id: f"{who} says "})
    store.messages.append({answer.id: f"{number}"})
    (said,) = [message for message in store.messages.shown_by(own.id) if message.id == answer.id]
    store.update(said)
    shared.add(shared.leaf.id, "user", f"{who} in all {number}")
    if number % 10 == 0:
        thrown, _ = store.create_conversation("thrown", "", f"{who} throws")
        store.conversations.trash(thrown.id)
        store.search.find(who)
        store.clean_up(verbatim("It ended."))
store.close()
"""


def test_programs_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    # All of them find a store of the first version, and each would migrate it.
    write_first_version(path)
    with contextlib.ExitStack() as stack:
        command = [sys.executable, "-c", _WRITES, str(path)]
        programs = [
            stack.enter_context(
                subprocess.Popen(
                    [*command, f"p{number}", str(_NUM_MESSAGES)],
                    cwd=ROOT,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for number in range(_NUM_PROGRAMS)
        ]
        for program in programs:
            assert program.stdout is not None
            assert program.stdout.readline() == "open\n"
        for program in programs:
            assert program.stdin is not None
            program.stdin.write("go\n")
            program.stdin.flush()
        assert [program.wait() for program in programs] == [0] * _NUM_PROGRAMS
    assert len(Backups(path).files()) == 1
    with contextlib.closing(Store(path)) as store:
        conversations = {conversation.name: conversation for conversation in store.conversations.all()}
        assert sorted(conversations) == ["of p0", "of p1", "of p2", "of p3", "old"]
        in_all = [message.text for message in store.messages.shown_by(1)]
        for number in range(_NUM_PROGRAMS):
            own = store.messages.shown_by(conversations[f"of p{number}"].id)
            assert [message.text for message in own][2:] == [
                f"p{number} begins",
                *(f"p{number} says {said}" for said in range(_NUM_MESSAGES)),
            ]
            assert [text for text in in_all if text.startswith(f"p{number} ")] == [
                f"p{number} in all {said}" for said in range(_NUM_MESSAGES)
            ]
        assert len(trashed_ids(store)) == _NUM_PROGRAMS * _NUM_MESSAGES // 10
    with sql(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.execute(INTEGRITY_CHECK)


def test_a_conversation_deleted_by_one_program_can_still_be_written_by_another(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite3"
    with contextlib.closing(Store(path)) as first, contextlib.closing(Store(path)) as second:
        planted = plant(first, "u1-a1")
        second.conversations.trash(planted.conversation_id)
        first.add(planted.conversation_id, planted.ids["a1"], "user", "u2")
        assert [conversation.id for conversation in second.conversations.all()] == [planted.conversation_id]
