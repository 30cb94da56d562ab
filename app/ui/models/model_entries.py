"""The models that the list shows: downloads, models on this machine and on the hub, filtered by the typed words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from app.catalog.entry import Fit, LocalModel, RemoteModel
from app.model.fuzzy import fit, folded
from app.program import Program
from app.supply.endpoints import models_of
from app.supply.transfers import Transfer
from app.ui.models.entry import Entry, Presence, speeds_text
from app.ui.models.model_list import Row
from worker.sentence import SentenceError


class ModelEntries(QObject):
    """The entries of the list, kept up to date while the window is open."""

    changed = Signal()

    def __init__(self, program: Program, parent: QObject) -> None:
        super().__init__(parent)
        self._program = program
        self._words = ""
        self._kept: set[str] = set()
        """The keys of models that are listed even if their names do not match the typed words."""
        self._chosen: dict[str, str] = {}
        """The GGUF file that the user chose in each repository."""
        self._entries: dict[str, Entry] = {}
        self._sections: list[tuple[str, list[Entry]]] = []
        for signal in (
            program.supply.local_models.changed,
            program.supply.transfers.changed,
            program.supply.hub_search.changed,
            program.supply.hub_search.details_changed,
            program.supply.fits.changed,
            program.session.changed,
            program.supply.endpoints.changed,
        ):
            signal.connect(self._update)
        self._update()

    @property
    def all(self) -> Sequence[Entry]:
        """The models in the order of the list."""
        return list(self._entries.values())

    def get(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def rows(self) -> list[Row]:
        """Return the rows of the list, with the headings."""
        return [
            row
            for heading, entries in self._sections
            if entries
            for row in (Row("", heading), *(entry.row for entry in entries))
        ]

    def search(self, words: str) -> None:
        """Show only models whose names contain the words, and search the hub for them."""
        self._words = words
        self._kept.clear()
        self._program.supply.hub_search.search(words)
        self._update()

    def keep(self, key: str) -> None:
        """Until the next search, keep a model that was just downloaded in the list, even if its name does not match."""
        self._kept.add(key)

    def look_into(self, key: str) -> None:
        """Ask the hub for the details of a model that the user has selected, if they are unknown."""
        entry = self.get(key)
        if entry is not None and isinstance(entry.model, RemoteModel) and entry.transfer is None:
            self._program.supply.hub_search.details(entry.model.repo)

    def choose_variant(self, repo: str, gguf: str) -> None:
        """Choose one GGUF file of a repository."""
        self._chosen[repo] = gguf
        self._update()

    def fit_of(self, model: LocalModel | RemoteModel) -> Fit | None:
        """Return whether a model fits into memory; None if too little is known about the model."""
        name = model.name if isinstance(model, LocalModel) else ""
        return self._program.supply.fits.of(model, self._program.of_models.kv_bits_of(name))

    # --- inside --------------------------------------------------------------------------------------------

    def _update(self) -> None:
        local = self._matching([self._local_entry(model) for model in self._program.supply.local_models.all])
        transfers = [self._transfer_entry(transfer) for transfer in self._program.supply.transfers.all]
        self._sections = [
            (self.tr("In progress"), transfers),
            (self.tr("On this computer"), local),
            *self._far_sections(),
            self._remote_section(),
        ]
        self._entries = {entry.key: entry for _, entries in self._sections for entry in entries}
        self.changed.emit()

    def _matching(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return the models whose names match the typed words, the best first; without words, return all in order."""
        wanted = folded(self._words)
        if not wanted.strip():
            return list(entries)
        kept = [entry for entry in entries if entry.key in self._kept]
        others = [entry for entry in entries if entry.key not in self._kept]
        found = [(score, entry) for entry in others if (score := fit(wanted, folded(entry.title))) is not None]
        return [*kept, *(entry for _, entry in sorted(found, key=lambda pair: -pair[0]))]

    def _local_entry(self, model: LocalModel) -> Entry:
        session = self._program.session
        presence: Presence = ""
        fraction: float | None = None
        if session.name == model.name:
            match session.state:
                case "ready":
                    presence = "loaded"
                case "loading":
                    presence, fraction = "loading", session.fraction
                case "unloaded":
                    presence = "unloaded"
                case "failed":
                    pass
        speeds = speeds_text(self._program.supply.measurements.of(model.name))
        fit = self.fit_of(model)
        can_free = self._program.supply.fits.frees(fit)
        return Entry(f"local:{model.name}", model, fit, can_free, presence=presence, fraction=fraction, speeds=speeds)

    def _far_sections(self) -> list[tuple[str, list[Entry]]]:
        """Return a heading and the models of each server that the user added."""
        return [
            (
                endpoint.title,
                self._matching([self._local_entry(model) for model in models_of(endpoint)]),
            )
            for endpoint in self._program.settings.endpoints
        ]

    def _transfer_entry(self, transfer: Transfer) -> Entry:
        model = transfer.model
        return Entry(transfer.key, model, None if model is None else self.fit_of(model), transfer=transfer)

    def _remote_section(self) -> tuple[str, list[Entry]]:
        """Return a heading and the hits of the search on the hub.

        If the search field is empty, these are recommended first models that fit into memory, the largest first.
        """
        if self._words.strip():
            return self.tr("On the hub"), self._remote_entries(self._program.supply.hub_search.hits)
        from app.catalog.good_models import good_models

        entries = [entry for entry in self._remote_entries(good_models()[::-1]) if not entry.is_gone]
        fitting = [entry for entry in entries if entry.fit is None or entry.fit.verdict == "fits"]
        # Where nothing fits, the smallest one is still worth a look.
        return self.tr("Good first models"), fitting or entries[-1:]

    def _remote_entries(self, models: Sequence[RemoteModel]) -> list[Entry]:
        transfers = self._program.supply.transfers
        here = {model.repo for model in self._program.supply.local_models.all if model.repo and model.format == "mlx"}
        found = [self._remote_entry(hit) for hit in models if hit.repo not in here]
        return [entry for entry in found if not isinstance(entry.model, RemoteModel) or not transfers.of(entry.model)]

    def _remote_entry(self, hit: RemoteModel) -> Entry:
        entry = Entry(f"hub:{hit.repo}", hit)
        details = self._program.supply.hub_search.known_details(hit.repo)
        if isinstance(details, SentenceError):
            return replace(entry, failure=details, fit=self.fit_of(hit))
        if details:
            entry = replace(entry, model=self._variant(hit, details), variants=tuple(details))
        assert entry.model is not None
        return replace(entry, fit=self.fit_of(entry.model))

    def _variant(self, hit: RemoteModel, details: Sequence[RemoteModel]) -> RemoteModel:
        """Return the model that the user chose in a repository, else the usual one, or a smaller one that fits."""
        from app.catalog.hub import best_of

        chosen = next((model for model in details if model.gguf == self._chosen.get(hit.repo)), None)
        if chosen is not None:
            return chosen
        fitting = [model for model in details if (found := self.fit_of(model)) is None or found.verdict != "too_big"]
        return best_of(fitting or details)
