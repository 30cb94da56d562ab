"""The settings page for the prompt cache: its size in memory and on disk, and its precision.

Every change reloads the model, so changes wait for "Apply".
"""

from __future__ import annotations

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QHBoxLayout, QPushButton
from typing_extensions import override

from app.model.cache_folder import GIB, memory_bytes
from app.model.settings import CacheSettings
from app.notices import Notice
from app.numbers import counted, sized
from app.program import Program
from app.ui.parts.buttons import WrappingButton
from app.ui.parts.labels import ElidedLabel, quiet_label
from app.ui.parts.radio_group import RadioGroup, SizeChoice
from app.ui.settings.settings_page import SettingsPage, card
from worker.sentence import verbatim

_KV_BITS: tuple[None, int, int] = (None, 8, 4)
_MIN_GIB = 0.25
_DEFAULT_GIB = 4.0
_DEFAULT_DISK_GIB = 10.0
_MAX_SHARE_OF_MEMORY = 0.75
"""The largest fraction of the machine's memory that the cache may have. The model and other programs need the rest."""
_UNKNOWN_GIB = 1024.0


class MemoryPage(SettingsPage):
    """Three cards, and a footer with "Apply"."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program
        cache_settings = program.settings.cache_settings
        memory_gib = (memory_bytes() or _UNKNOWN_GIB * GIB) / GIB
        disk_gib = (program.cache_folder.disk_bytes or _UNKNOWN_GIB * GIB) / GIB
        max_gib = max(memory_gib * _MAX_SHARE_OF_MEMORY, 1.0)
        self.memory = SizeChoice(
            self.tr("Cache in memory"),
            cache_settings.limit_bytes,
            min_gib=_MIN_GIB,
            max_gib=max_gib,
            default_gib=min(_DEFAULT_GIB, max_gib),
        )
        self.disk = SizeChoice(
            self.tr("Cache on disk"),
            cache_settings.disk_limit_bytes,
            min_gib=_MIN_GIB,
            max_gib=disk_gib,
            default_gib=min(_DEFAULT_DISK_GIB, disk_gib),
        )
        self.disk.explain(0, self.tr("10 GiB for all models together, or a tenth of the free space if that is less."))
        self.disk.add(self.tr("Keep nothing on disk"), self.tr("Existing files stay until you empty the cache."))
        self.precision = RadioGroup(self.tr("Cache precision"))
        self.precision.add(self.tr("Full precision"), self.tr("No loss of quality."))
        self.precision.add(self.tr("8 bits"), self.tr("Uses about half as much memory. Answers hardly change."))
        self.precision.add(
            self.tr("4 bits"),
            self.tr("Uses about a quarter as much memory. Answers can get worse, especially in long conversations."),
        )
        self.memory.show_value(cache_settings.limit_bytes)
        self.disk.show_value(cache_settings.disk_limit_bytes)
        self.precision.choose(_KV_BITS.index(cache_settings.kv_bits))
        self._in_memory = quiet_label("")
        self._on_disk = quiet_label("")
        for label in (self._in_memory, self._on_disk):
            label.setContentsMargins(0, 4, 0, 0)
        self._precision_warning = quiet_label("")
        self._precision_warning.setObjectName("warning")
        self.empty_button = WrappingButton(self.tr("Empty"))
        self._note = quiet_label("")
        self.apply_button = QPushButton(self.tr("Apply"))
        self.apply_button.setObjectName("primary")
        self.apply_button.clicked.connect(self.apply)
        self._build()
        for choice in (self.memory, self.disk, self.precision):
            choice.changed.connect(self._show_changes)
        session = program.session
        session.changed.connect(self._on_session)
        session.kept_changed.connect(self._show_kept)
        self._show_changes()
        self._show_model()
        self._show_kept()

    def _build(self) -> None:
        cards = self.cards
        cards.addWidget(
            card(
                self.memory.accessibleName(),
                self.tr(
                    "Before a model answers, it reads the conversation. The text it has read is kept in a "
                    "cache, so that the next answer or another branch starts at once. More memory keeps more "
                    "conversations ready."
                ),
                self.memory,
                self._in_memory,
            )
        )
        folder = ElidedLabel()
        folder.setObjectName("quiet")
        folder.show_text(str(self._program.cache_folder.folder))
        show_button = WrappingButton(self.tr("Show folder"))
        show_button.clicked.connect(self._show_folder)
        self.empty_button.clicked.connect(self._program.empty_cache_folder)
        self.empty_button.setAccessibleDescription(
            self.tr("Clears the cache on disk and in memory. Your conversations are kept.")
        )
        self.empty_button.setToolTip(self.empty_button.accessibleDescription())
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(folder, 1)
        buttons.addWidget(show_button)
        buttons.addWidget(self.empty_button)
        cards.addWidget(
            card(
                self.tr("Also keep the cache on disk"),
                self.tr("The cache on disk is kept when you close Bough or use another model."),
                self.disk,
                self._on_disk,
                buttons,
            )
        )
        cards.addWidget(
            card(
                self.precision.accessibleName(),
                self.tr(
                    "With fewer bits, more text fits into the same memory, but it is stored less precisely. Not every "
                    "model supports this."
                ),
                self.precision,
                self._precision_warning,
            )
        )
        self.add_footer(self._note, self.apply_button)

    @override
    def refresh(self) -> None:
        self._program.session.query_cache_stats()

    # --- choices -------------------------------------------------------------------------------------------

    @property
    def cache_settings(self) -> CacheSettings:
        """The settings that are chosen on the page, no matter whether they have been applied."""
        bits = _KV_BITS[self.precision.chosen]
        return CacheSettings(
            limit_bytes=self.memory.value,
            disk_limit_bytes=self.disk.value,
            kv_bits=None if bits is None else 8 if bits == 8 else 4,
        )

    def _show_changes(self) -> None:
        new, now = self.cache_settings, self._program.session.cache_settings
        # A cache that was written in another precision can't be used.
        is_reused = new.kv_bits == now.kv_bits and 0 not in {new.disk_limit_bytes, now.disk_limit_bytes}
        loads_again = self.tr("The model will be loaded again when no answer is being written; {}")
        consequence = (
            self.tr("its cache is loaded from disk.")
            if is_reused
            else self.tr("it reads the conversations again when needed.")
        )
        self._note.setText(loads_again.format(consequence) if new != now else "")
        self.apply_button.setEnabled(new != now)

    def apply(self) -> None:
        """Apply the choices."""
        self._program.set_cache_settings(self.cache_settings)
        self._show_changes()

    # --- present state -------------------------------------------------------------------------------------

    def _on_session(self) -> None:
        self._show_model()
        if self._program.session.state == "ready":
            self._program.session.query_cache_stats()

    def _show_model(self) -> None:
        session = self._program.session
        is_refused = session.is_precision_refused
        self._precision_warning.setText(
            self.tr("The loaded model does not support this and uses full precision.") if is_refused else ""
        )
        self._precision_warning.setVisible(is_refused)
        self._show_changes()

    def _show_kept(self) -> None:
        kept, cache_settings = self._program.session.kept, self._program.session.cache_settings
        # Both texts have the same height, so the page does not jump when the figure arrives.
        if kept is not None and cache_settings.limit_bytes is None:
            self.memory.explain(0, self.tr("Up to {} for the loaded model.").format(sized(kept.limit_bytes)))
        else:
            self.memory.explain(0, self.tr("As much as the model and the memory of this computer allow."))
        if kept is None:
            self._in_memory.setText(
                self.tr("No model is loaded.") if self._program.session.state == "failed" else self.tr("Now: …")
            )
        elif kept.tokens:
            self._in_memory.setText(self.tr("Now: {} ({} tokens).").format(sized(kept.bytes), counted(kept.tokens)))
        else:
            self._in_memory.setText(self.tr("Now: nothing."))
        total = self._program.cache_folder.num_bytes
        size = sized(total)
        # If the folder holds less than the worker says, the user has emptied it meanwhile.
        if not total:
            text = self.tr("Now: nothing.")
        elif kept is None or not 0 < kept.disk_bytes <= total:
            text = self.tr("Now: {}.").format(size)
        elif kept.disk_bytes == total:
            text = self.tr("Now: {}, all of it from this model ({} tokens).").format(size, counted(kept.disk_tokens))
        else:
            share = sized(kept.disk_bytes)
            num_tokens = counted(kept.disk_tokens)
            text = self.tr("Now: {}, {} of it from this model ({} tokens).").format(size, share, num_tokens)
        self._on_disk.setText(text)
        self.empty_button.setEnabled(total > 0)

    def _show_folder(self) -> None:
        folder = self._program.cache_folder.folder
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder))):
            self._program.notices.post(
                Notice(verbatim(self.tr("The cache is in {}. The folder can't be opened here.").format(folder)))
            )
