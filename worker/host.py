"""The loaded model and what commands do with it, step by step; it knows no line of commands and no transport."""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TypeAlias

from msgspec.structs import replace

from worker.answers.hook_folder import HookFolder
from worker.cache.disk_cache import DiskCache
from worker.cache.prompt_cache import PromptCache, default_limit_bytes
from worker.decoding.draft import DraftModel
from worker.errors import (
    BadRequestError,
    ConstraintInvalidError,
    LoadCancelledError,
    ModelNotLoadedError,
    WorkerError,
    WorkerOutOfMemoryError,
    is_out_of_memory,
)
from worker.language_model import LanguageModel, Loading, UnreadModel, release
from worker.model_identity import versions
from worker.models.folder import find_model
from worker.protocol import (
    CacheOptions,
    CacheStats,
    CacheStatsReport,
    Done,
    Event,
    Generate,
    HooksListed,
    ListHooks,
    LoadModel,
    ModelLoaded,
    ModelLoading,
    Plan,
    Planned,
    Tokenize,
    Tokenized,
    UnloadModel,
    Validate,
    Validated,
)
from worker.requests.engine import Engine
from worker.requests.request import Ticket

log = logging.getLogger(__name__)

_DRAFT_PART = 4
"""The part of the memory for what is kept that a draft model has of its own: one of so many."""
_SAVING_S = 1.0
"""How long another model is put off until what was read with this one is on disk."""

Question: TypeAlias = Plan | Validate | Tokenize | CacheStats | ListHooks
"""What is answered without computing with the model."""


class ModelHost:
    """Holds one model at a time, or none. A generator it returns is one job: its last event is the terminal one."""

    def __init__(self, cache_folder: Path | None = None, hooks: HookFolder | None = None) -> None:
        """`cache_folder`: where what was read is kept on disk; None: nowhere. `hooks`: where they are found."""
        self._hooks = hooks or HookFolder()
        self._cache_folder = cache_folder
        self._engine: Engine | None = None
        self._loaded: tuple[LoadModel, ModelLoaded] | None = None
        """How the present model was asked for, and what was told of it; None where there is none."""

    @property
    def has_model(self) -> bool:
        return self._engine is not None

    def load(self, command: LoadModel, ticket: Ticket) -> Iterator[Event | None]:
        """Load a model in place of the present one, which stays where the new one is refused or given up early.

        Where nothing but the draft model is another, the present one stays, with all that it has read.
        """
        try:
            for step in self._change_draft(command) if self._lacks_draft_alone(command) else self._load(command):
                yield step
                _refuse_if_cancelled(command, ticket)
        except WorkerError as error:
            raise type(error)(f"{error} {self._what_is_loaded()}") from error
        except Exception as error:
            if is_out_of_memory(error):
                raise WorkerOutOfMemoryError(
                    f"There is not enough memory for {command.model!r}. {self._what_is_loaded()} "
                    "Close other programs, or choose a smaller model."
                ) from error
            raise
        finally:
            release()

    def _load(self, command: LoadModel) -> Iterator[ModelLoading | ModelLoaded]:
        yield _loading(command, Loading(0.0, "building the model"))
        unread = UnreadModel(find_model(command.model))
        yield _loading(command, Loading(0.1, "reading the weights"))
        # The old model goes before the new one's weights come: memory seldom holds two.
        self._drop()
        model: LanguageModel | None = None
        for step in unread.read():
            if isinstance(step, Loading):
                yield _loading(command, step)
            else:
                model = step
        assert model is not None
        if command.cache.kv_bits is not None:
            model.quantize_kv(command.cache.kv_bits)
        draft, refused = yield from self._load_draft(command, model)
        identity = model.identity()
        self._engine = Engine(model, self._new_cache(model, identity, command.cache), self._hooks, draft)
        told = _loaded(command, model, identity, refused)
        self._loaded = command, told
        yield told

    def _lacks_draft_alone(self, command: LoadModel) -> bool:
        """Whether the model that is asked for is there, kept in the same way, with another draft model."""
        if self._loaded is None:
            return False
        before = self._loaded[0]
        is_same = (before.model, before.cache) == (command.model, command.cache)
        return is_same and before.draft_model != command.draft_model

    def _change_draft(self, command: LoadModel) -> Iterator[ModelLoading | ModelLoaded]:
        assert self._engine is not None
        assert self._loaded is not None
        draft, refused = yield from self._load_draft(command, self._engine.model)
        self._engine.guess_with(draft)
        told = replace(
            self._loaded[1],
            request_id=command.request_id,
            draft_model=None if draft is None else command.draft_model,
            draft_refused=refused,
        )
        self._loaded = command, told
        yield told

    def _load_draft(
        self, command: LoadModel, model: LanguageModel
    ) -> Generator[ModelLoading, None, tuple[DraftModel | None, str]]:
        """Load the draft model, if one is asked for; return it, or why it is not used."""
        draft, refused = None, ""
        for step in self._draft_steps(command, model):
            match step:
                case ModelLoading():
                    yield step
                case str():
                    refused = step
                case _:
                    draft = step
        return draft, refused

    def _draft_steps(self, command: LoadModel, model: LanguageModel) -> Iterator[ModelLoading | DraftModel | str]:
        """Load the draft model; the last value is it, or why it is not used."""
        if command.draft_model is None:
            return
        if model.cache_kind != "trimmable":
            yield (
                f"{model.folder.architecture} keeps windows or states, from which guesses can't be taken back; "
                "it answers without a draft model."
            )
            return
        for step in UnreadModel(find_model(command.draft_model)).read():
            if isinstance(step, Loading):
                yield _loading(command, Loading(step.fraction, f"draft model: {step.stage}"))
            elif not _spell_alike(step, model):
                raise BadRequestError(
                    f"The draft model {command.draft_model!r} has other tokens than {command.model!r}. "
                    "Choose a smaller model of the same family, or none."
                )
            elif step.cache_kind != "trimmable":
                yield f"{step.folder.architecture} keeps windows or states, so it can't serve as a draft model."
            else:
                limit_bytes = default_limit_bytes(model.weights_bytes + step.weights_bytes) // _DRAFT_PART
                yield DraftModel(step, PromptCache(step.new_layers, limit_bytes), model.vocab_size)

    def _new_cache(self, model: LanguageModel, identity: str, options: CacheOptions) -> PromptCache:
        limit_bytes = default_limit_bytes(model.weights_bytes) if options.limit_bytes is None else options.limit_bytes
        disk = None
        if self._cache_folder is not None and options.disk_limit_bytes != 0:
            disk = DiskCache(self._cache_folder, identity, options.disk_limit_bytes)
        return PromptCache(model.new_layers, limit_bytes, disk)

    def _drop(self) -> None:
        self.save(_SAVING_S)
        self._engine = self._loaded = None
        release()

    def _what_is_loaded(self) -> str:
        return "No model is loaded now." if self._engine is None else "What was loaded before still is."

    def unload(self, command: UnloadModel) -> Iterator[Event | None]:
        """Drop the model and all that was computed with it, but for what is on disk."""
        self._drop()
        yield Done(request_id=command.request_id)

    def add(self, command: Generate, ticket: Ticket) -> None:
        """Line a prompt up to be answered. Raises a `WorkerError`."""
        self._loaded_engine().add(command, ticket)

    @property
    def is_answering(self) -> bool:
        """Whether `step` has anything to do."""
        return self._engine is not None and self._engine.is_busy

    def step(self) -> list[Event]:
        """Do one step of all answers; return what it brought."""
        return self._loaded_engine().step()

    def save_some(self) -> bool:
        """Write a file of what was read and is not on disk; return whether there may be more."""
        try:
            return self._engine is not None and self._engine.cache.save_some()
        except Exception as error:  # noqa: BLE001 (whatever it was: nobody waits for it, and it is in memory still)
            log.warning("What was read is not saved now: %r", error)
            return False

    def save(self, limit_s: float) -> None:
        """Write what was read and is not on disk, as far as there is time."""
        end = time.perf_counter() + limit_s
        while time.perf_counter() < end and self.save_some():
            pass

    def reply(self, question: Question) -> Event:
        """Answer a question at once. Raises a `WorkerError`."""
        match question:
            case Plan():
                engine = self._loaded_engine()
                return Planned(
                    request_id=question.request_id,
                    plans=engine.plan(question),
                    prefill_tokens_per_s=engine.prefill_tokens_per_s,
                )
            case Tokenize():
                engine = self._loaded_engine()
                if question.counts_only:
                    num_tokens = engine.num_prompt_tokens(question.prompt)
                    return Tokenized(request_id=question.request_id, token_ids=[], pieces=[], num_tokens=num_tokens)
                token_ids = engine.prompt_ids(question.prompt)
                vocabulary = engine.model.vocabulary
                return Tokenized(
                    request_id=question.request_id,
                    token_ids=token_ids,
                    pieces=[vocabulary.text_of([token_id]) for token_id in token_ids],
                    num_tokens=len(token_ids),
                    text=vocabulary.text_of(token_ids),
                )
            case CacheStats():
                engine = self._loaded_engine()
                cache = engine.cache
                return CacheStatsReport(
                    request_id=question.request_id,
                    tokens=cache.num_tokens,
                    bytes=engine.num_bytes,
                    limit_bytes=cache.limit_bytes,
                    disk_tokens=cache.num_disk_tokens,
                    disk_bytes=cache.num_disk_bytes,
                    prefill_tokens_per_s=engine.prefill_tokens_per_s,
                )
            case Validate():
                return self._validated(question)
            case ListHooks():
                return HooksListed(request_id=question.request_id, hooks=self._hooks.listed())

    def _validated(self, question: Validate) -> Validated:
        try:
            self._loaded_engine().model.constraints.new(question.constraint)
        except ConstraintInvalidError as error:
            return Validated(request_id=question.request_id, ok=False, message=str(error))
        return Validated(request_id=question.request_id, ok=True, message="")

    def _loaded_engine(self) -> Engine:
        if self._engine is None:
            raise ModelNotLoadedError
        return self._engine


def _spell_alike(one: LanguageModel, other: LanguageModel) -> bool:
    """Whether the tokens of two models are the same, as far as both have any: heads are padded as one likes."""
    return all(mine == its for mine, its in zip(one.vocabulary.bytes, other.vocabulary.bytes, strict=False)) and (
        one.vocabulary.eos_ids & other.vocabulary.eos_ids == one.vocabulary.eos_ids
    )


def _refuse_if_cancelled(command: LoadModel, ticket: Ticket) -> None:
    if ticket.is_cancelled:
        raise LoadCancelledError(f"Loading {command.model!r} was cancelled.")


def _loading(command: LoadModel, step: Loading) -> ModelLoading:
    return ModelLoading(request_id=command.request_id, fraction=step.fraction, stage=step.stage)


def _loaded(command: LoadModel, model: LanguageModel, identity: str, draft_refused: str) -> ModelLoaded:
    thinking = model.thinking
    return ModelLoaded(
        request_id=command.request_id,
        model=command.model,
        architecture=model.folder.architecture,
        num_parameters=model.num_parameters,
        context_length=model.context_length,
        vocab_size=model.vocab_size,
        weights_bytes=model.weights_bytes,
        kv_bytes_per_token=model.kv_bytes_per_token,
        cache_kind=model.cache_kind,
        draft_model=None if draft_refused else command.draft_model,
        draft_refused=draft_refused,
        identity=identity,
        versions=versions(),
        thinking=thinking is not None,
        thinking_option=None if thinking is None else thinking.option,
        thinking_default=thinking is not None and thinking.is_default,
    )
