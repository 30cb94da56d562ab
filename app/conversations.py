"""The list of conversations and what a person does with whole ones; every window shows the same list."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from weakref import WeakValueDictionary

from PySide6.QtCore import QObject, Signal

from app.answers.answers import Answers
from app.answers.model_session import ModelSession
from app.model.history import History
from app.model.kept_files import KeptFiles
from app.model.message import Conversation, MessageId
from app.model.open_conversation import OpenConversation
from app.model.store import Store
from app.model.text import clean
from app.notices import Notice, Notices, UndoArchive, UndoDelete
from worker.sentence import Sentence


class Conversations(QObject):
    """All conversations in the store. Nothing here raises `StoreError`: a notice tells."""

    changed = Signal()
    """The list, or a name in it."""
    tree_changed = Signal(int, object)
    """The tree of a conversation, or what is shown of it, and the controller that changed it."""
    gone = Signal(int)
    """A conversation was thrown away."""
    erasing_asked = Signal()
    """What was made of deleted messages is to go, too: their words in the search index, the backups, the log."""

    def __init__(
        self, store: Store, answers: Answers, session: ModelSession, kept_files: KeptFiles, notices: Notices
    ) -> None:
        super().__init__()
        self._store = store
        self._answers = answers
        self._session = session
        self._kept_files = kept_files
        self._notices = notices
        self._trashed_id: int | None = None
        self._opened: WeakValueDictionary[int, OpenConversation] = WeakValueDictionary()
        """Those that a window shows; two windows that show the same one share it."""
        self._histories: dict[int, History] = {}
        """What was done in each while the program runs."""

    @property
    def all(self) -> list[Conversation]:
        """All that are not thrown away, those pinned first, then the last used first."""
        with self._notices.report_store_errors():
            return self._store.conversations.all()
        return []

    def open(self, conversation_id: int) -> OpenConversation:
        """Return a conversation as windows show it. Raises `StoreError`, and `KeyError` where there is none."""
        opened = self._opened.get(conversation_id)
        if opened is None:
            conversation = self._store.conversations.get(conversation_id)
            opened = OpenConversation(self._store, conversation, self.history(conversation_id))
            self._opened[conversation_id] = opened
        return opened

    def history(self, conversation_id: int) -> History:
        return self._histories.setdefault(conversation_id, History())

    def rename(self, conversation_id: int, name: str) -> None:
        name = " ".join(clean(name).split())
        if not name:
            return
        with self._notices.report_store_errors():
            self._store.conversations.rename(conversation_id, name)
        self.changed.emit()

    def pin(self, conversation_id: int, *, is_pinned: bool = True) -> None:
        """Keep a conversation at the top of the list."""
        with self._notices.report_store_errors():
            self._store.conversations.pin(conversation_id, is_pinned=is_pinned)
        self.changed.emit()

    def archive(self, conversation_id: int, *, is_archived: bool = True) -> None:
        """Put a conversation out of the way, or take it back; of what is out of sight then a notice tells."""
        with self._notices.report_store_errors(), contextlib.suppress(KeyError):
            name = self._store.conversations.get(conversation_id).name
            self._store.conversations.archive(conversation_id, is_archived=is_archived)
            self.changed.emit()
            if is_archived:
                self._notices.post(
                    Notice(Sentence("“{name}” was archived.", name=name), action=UndoArchive(conversation_id))
                )

    def put_into_folder(self, conversation_id: int, folder: str) -> None:
        """Lay a conversation into a folder, which comes and goes with what lies in it; empty: into none."""
        with self._notices.report_store_errors():
            self._store.conversations.put_into_folder(conversation_id, " ".join(clean(folder).split()))
        self.changed.emit()

    def rename_folder(self, folder: str, name: str) -> None:
        """Call a folder otherwise; empty: what lies in it lies in none."""
        with self._notices.report_store_errors():
            for conversation in self._store.conversations.all():
                if conversation.folder == folder:
                    self._store.conversations.put_into_folder(conversation.id, " ".join(clean(name).split()))
        self.changed.emit()

    @property
    def folders(self) -> list[str]:
        with self._notices.report_store_errors():
            return self._store.conversations.folders()
        return []

    def delete(self, conversation_id: int) -> None:
        """Throw a conversation away; `undo_delete` takes it back until the next one goes or the program ends.

        It lies in the trash for thirty days, or until that is emptied.
        """
        with self._notices.report_store_errors(), contextlib.suppress(KeyError):
            name = self._store.conversations.get(conversation_id).name
            self._store.conversations.trash(conversation_id)
            self._trashed_id = conversation_id
            self._answers.stop_all(conversation_id)
            self.gone.emit(conversation_id)
            self.changed.emit()
            self._notices.post(Notice(Sentence("“{name}” was deleted.", name=name), action=UndoDelete()))

    def undo_delete(self) -> int | None:
        """Restore what was deleted last, and return it; None if there is nothing to restore."""
        trashed_id = self._trashed_id
        if trashed_id is not None:
            with self._notices.report_store_errors():
                self._store.conversations.restore(trashed_id)
                self._trashed_id = None
                self.changed.emit()
                return trashed_id
        return None

    def empty_trash(self) -> None:
        """Delete for good what was thrown away, wherever anything of it is kept; a notice tells of it."""
        with self._notices.report_store_errors():
            self._tell_deleted(self._store.empty_trash(), Sentence("The trash is empty."))

    def delete_for_good(self, conversation_ids: Sequence[int], branch_ids: Sequence[MessageId]) -> None:
        """Do so with conversations in the trash, and with branches that were pruned."""
        with self._notices.report_store_errors():
            num_messages = self._store.delete_permanently(conversation_ids, branch_ids)
            nothing = Sentence(
                "The conversation was permanently deleted. Other conversations share its messages and keep them."
            )
            self._tell_deleted(num_messages, nothing)

    def restore(self, conversation_id: int, branch_id: MessageId | None = None) -> None:
        """Take a conversation back from the trash, or a branch of it that was pruned."""
        with self._notices.report_store_errors():
            if branch_id is None:
                self._store.conversations.restore(conversation_id)
            else:
                self._store.messages.prune([branch_id], is_pruned=False)
            self.changed.emit()

    def _tell_deleted(self, num_messages: int, nothing: Sentence) -> None:
        self._trashed_id = None
        if num_messages:
            # In memory, too, and before anything of it could be written again.
            self._session.forget(self._erase)
        match num_messages:
            case 0:
                text = nothing
            case 1:
                text = Sentence("1 message was permanently deleted.")
            case _:
                text = Sentence("{num_messages} messages were permanently deleted.", num_messages=num_messages)
        self._notices.post(Notice(text))

    def _erase(self) -> None:
        self._kept_files.empty()
        self.erasing_asked.emit()
