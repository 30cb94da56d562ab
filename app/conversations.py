"""The list of conversations, which all windows share, and the user's actions on whole conversations."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from weakref import WeakValueDictionary

from PySide6.QtCore import QObject, QTimer, Signal

from app.answers.answers import Answers
from app.model.cache_folder import CacheFolder
from app.model.database import StoreError
from app.model.history import History
from app.model.kept_requests import KeptRequest
from app.model.message import Conversation, MessageId
from app.model.open_conversation import OpenConversation
from app.model.store import Store
from app.model.text import clean
from app.notices import Notice, Notices, UndoArchive, UndoDelete
from worker.sentence import Sentence

_LOOK_MS = 2000
"""The time between two checks for messages that another program has added to the store."""


class Conversations(QObject):
    """All conversations of the store. Unless documented, no method raises `StoreError`: problems become notices."""

    changed = Signal()
    """The list or a name in it changed."""
    tree_changed = Signal(int, object)
    """The id of a conversation whose tree or visible branch changed, and the `ShownConversation` that changed it."""
    model_changed = Signal(int)
    """The id of a conversation that uses another model now."""
    gone = Signal(int)
    """A conversation was moved to the trash."""
    erasing_requested = Signal()
    """Messages were deleted permanently. Their copies in the search index, backups and log should be erased."""

    def __init__(
        self,
        *,
        store: Store,
        answers: Answers,
        forget: Callable[[Callable[[], None]], None],
        cache_folder: CacheFolder,
        notices: Notices,
    ) -> None:
        """`forget` clears the caches of all workers, and calls the given function while they use no files."""
        super().__init__()
        self._store = store
        self._answers = answers
        self._forget = forget
        self._cache_folder = cache_folder
        self._notices = notices
        self._opened: WeakValueDictionary[int, OpenConversation] = WeakValueDictionary()
        """The conversations that windows show. Windows that show the same conversation share it."""
        self._models: dict[int, str] = {}
        """The models of conversations for which storing the model has failed."""
        self._histories: dict[int, History] = {}
        """The steps to undo in each conversation since the program started."""
        self._to_keep: deque[KeptRequest] = deque()
        """The requests of other programs, or the rests of them, that are still to be stored."""
        self._keeping = QTimer(self, interval=0, singleShot=True)
        self._keeping.timeout.connect(self._keep_some)
        self._version_elsewhere, self._newest = 0, 0
        """The state of the store when this window last showed everything that other programs had added."""
        with contextlib.suppress(StoreError):
            self._version_elsewhere, self._newest = store.version_elsewhere, store.messages.newest
        self.looking = QTimer(self, interval=_LOOK_MS)
        self.looking.timeout.connect(self._look)
        self.looking.start()

    @property
    def all(self) -> list[Conversation]:
        """All conversations outside the trash, pinned ones first, then the last used ones."""
        with self._notices.report_store_errors():
            return self._store.conversations.all()
        return []

    def open(self, conversation_id: int) -> OpenConversation:
        """Return an open conversation, shared by all windows. Raises `StoreError`, and `KeyError` if there is none."""
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
        """Pin a conversation to the top of the list, or unpin it."""
        with self._notices.report_store_errors():
            self._store.conversations.pin(conversation_id, is_pinned=is_pinned)
        self.changed.emit()

    def archive(self, conversation_id: int, *, is_archived: bool = True) -> None:
        """Archive a conversation and post a notice, or unarchive it."""
        with self._notices.report_store_errors(), contextlib.suppress(KeyError):
            name = self._store.conversations.get(conversation_id).name
            self._store.conversations.archive(conversation_id, is_archived=is_archived)
            self.changed.emit()
            if is_archived:
                self._notices.post(
                    Notice(Sentence("“{name}” was archived.", name=name), action=UndoArchive(conversation_id))
                )

    def put_into_folder(self, conversation_id: int, folder: str) -> None:
        """Put a conversation into a folder. An empty `folder` takes it out of its folder.

        A folder exists while it contains conversations or is a project.
        """
        with self._notices.report_store_errors():
            self._store.conversations.put_into_folder(conversation_id, " ".join(clean(folder).split()))
        self.changed.emit()

    def empty_folder(self, folder: str) -> None:
        """Take all conversations out of a folder."""
        with self._notices.report_store_errors():
            for conversation in self._store.conversations.all():
                if conversation.folder == folder:
                    self._store.conversations.put_into_folder(conversation.id, "")
        self.changed.emit()

    def model(self, conversation_id: int) -> str:
        """Return the name of the model that a conversation uses; empty if it has used none."""
        # An older store that can only be read does not have it.
        with contextlib.suppress(StoreError):
            return self._models.get(conversation_id) or self._store.conversations.model(conversation_id)
        return ""

    def set_model(self, conversation_id: int, model: str) -> None:
        """Let a conversation use a model from now on."""
        if model != self.model(conversation_id):
            self._models[conversation_id] = model
            with self._notices.report_store_errors():
                self._store.conversations.set_model(conversation_id, model)
                del self._models[conversation_id]
            self.model_changed.emit(conversation_id)

    @property
    def folders(self) -> list[str]:
        with self._notices.report_store_errors():
            return self._store.conversations.folders()
        return []

    def delete(self, conversation_id: int) -> None:
        """Move a conversation to the trash, where it stays for thirty days or until the trash is emptied.

        `restore` puts it back.
        """
        with self._notices.report_store_errors(), contextlib.suppress(KeyError):
            name = self._store.conversations.get(conversation_id).name
            self._store.conversations.trash(conversation_id)
            self._answers.stop_all(conversation_id)
            self.gone.emit(conversation_id)
            self.changed.emit()
            self._notices.post(Notice(Sentence("“{name}” was deleted.", name=name), action=UndoDelete(conversation_id)))

    def empty_trash(self) -> None:
        """Permanently delete everything in the trash, including all copies, and post a notice."""
        with self._notices.report_store_errors():
            self._report_deleted(self._store.empty_trash(), Sentence("The trash is empty."))

    def delete_permanently(self, conversation_ids: Sequence[int], branch_ids: Sequence[MessageId]) -> None:
        """Permanently delete some conversations in the trash and some pruned branches."""
        with self._notices.report_store_errors():
            num_messages = self._store.delete_permanently(conversation_ids, branch_ids)
            nothing = Sentence(
                "The conversation was permanently deleted. Other conversations share its messages and keep them."
            )
            self._report_deleted(num_messages, nothing)

    def keep_request(self, request: KeptRequest) -> None:
        """Store a request of another program as messages. Windows keep their branch, which may grow at its end.

        A part of it is stored now, which is all of an ordinary request, unless others are still being stored.
        """
        self._to_keep.append(request)
        if len(self._to_keep) == 1:
            self._keep_some()

    def keep_all(self) -> None:
        """Store the requests that are still being stored."""
        while self._to_keep:
            self._keep_some()
        self._keeping.stop()

    def _keep_some(self) -> None:
        store, request = self._store, self._to_keep.popleft()
        with self._notices.report_store_errors():
            place = store.kept_requests.conversation_of(request)
            opened = None if place is None else self._opened.get(place[0])
            is_chosen = opened is None or place is None or opened.leaf.id == place[1]
            kept = store.keep_request(request, is_chosen=is_chosen, is_whole=False)
            if kept.rest is not None:
                self._to_keep.appendleft(kept.rest)
            if opened is not None:
                opened.take(kept.messages, kept.choices)
                self.tree_changed.emit(kept.conversation_id, None)
            self.changed.emit()
        if self._to_keep:
            self._keeping.start()

    def read_again(self, conversation_ids: Iterable[int]) -> None:
        """Show what an import has added to conversations."""
        with self._notices.report_store_errors():
            for conversation_id in conversation_ids:
                if (opened := self._opened.get(conversation_id)) is not None:
                    with contextlib.suppress(KeyError):
                        opened.read()
                        self.tree_changed.emit(conversation_id, None)
        self.changed.emit()

    def _look(self) -> None:
        """Show the messages that another program, such as `bough serve --keep`, has added to the store."""
        # If the store can't be read, this is reported when the user needs it.
        with contextlib.suppress(StoreError):
            version = self._store.version_elsewhere
            if version == self._version_elsewhere:
                return
            added = self._store.messages.added_since(self._newest)
            self._take_added([(message_id, parent_id) for message_id, parent_id, streams in added if not streams])
            # Streaming answers, here or in another program, are checked again when they have ended.
            streaming = [message_id for message_id, _, streams in added if streams]
            self._newest = streaming[0] - 1 if streaming else self._store.messages.newest
            self._version_elsewhere = version
            self.changed.emit()

    def _take_added(self, added: Sequence[tuple[MessageId, MessageId | None]]) -> None:
        for conversation_id, opened in list(self._opened.items()):
            here: dict[MessageId, None] = {}
            for message_id, parent_id in added:
                if message_id not in opened and (parent_id in opened or parent_id in here):
                    here[message_id] = None
            if here:
                opened.take_added(list(here))
                self.tree_changed.emit(conversation_id, None)

    def restore(self, conversation_id: int, branch_id: MessageId | None = None) -> None:
        """Restore a conversation from the trash, or a pruned branch of it."""
        with self._notices.report_store_errors():
            if branch_id is None:
                self._store.conversations.restore(conversation_id)
            else:
                self._store.messages.prune([branch_id], is_pruned=False)
            self.changed.emit()

    def _report_deleted(self, num_messages: int, nothing: Sentence) -> None:
        if num_messages:
            # The cache in memory goes too, before it could be written to disk again.
            self._forget(self._erase)
        match num_messages:
            case 0:
                text = nothing
            case 1:
                text = Sentence("1 message was permanently deleted.")
            case _:
                text = Sentence("{num_messages} messages were permanently deleted.", num_messages=num_messages)
        self._notices.post(Notice(text))

    def _erase(self) -> None:
        self._cache_folder.empty()
        self.erasing_requested.emit()
