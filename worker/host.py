"""Holds the loaded model and runs single commands on it, step by step. Independent of the transport and the queue."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from msgspec import UNSET, UnsetType
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
    SupersededError,
    WorkerError,
    WorkerOutOfMemoryError,
    is_out_of_memory,
)
from worker.events import notices_of
from worker.language_model import LanguageModel, Loading, UnreadModel, release
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
    Message,
    ModelLoaded,
    ModelLoading,
    Plan,
    Planned,
    Prompt,
    Tokenize,
    Tokenized,
    UnloadModel,
    Validate,
    Validated,
)
from worker.pulse import Pulse
from worker.requests.engine import Engine
from worker.requests.request import Ticket
from worker.sentence import Sentence
from worker.templates.rendering import TRIAL_MODULES
from worker.text.tokenizing import LONG_TEXT, Patience
from worker.text.vocabulary import Vocabulary
from worker.trial import StoppedError, TrialProcess
from worker.values import Confinement

log = logging.getLogger(__name__)

_DRAFT_PART = 4
"""The default limit is divided by this to get the limit of the draft model's own prompt cache."""
_PIECES_AT_ONCE = 2000
"""This many tokens become text in about 4 ms."""
_MANY_MESSAGES = 10_000
"""A plan whose paths have this many messages takes more than a tenth of a second."""
_SAVING_S = 1.0
"""How long unloading may be delayed to save the prompt cache."""

Question: TypeAlias = Plan | Validate | Tokenize | CacheStats | ListHooks
"""Commands that need no computing with the model."""


def is_long(command: Question | Generate) -> bool:
    """Return whether a command has so much text that it takes more than a tenth of a second to tokenize it."""
    match command:
        case Generate(continuation=given):
            rest = 0 if given is None or given.text is UNSET else len(given.text)
            return rest + _num_chars([command.prompt]) >= LONG_TEXT
        case Tokenize():
            return _num_chars([command.prompt]) >= LONG_TEXT
        case Plan():
            prompts = command.prompts if command.prompts is not UNSET else []
            paths = command.paths if command.paths is not UNSET else []
            is_many = len(prompts) + sum(map(len, paths)) >= _MANY_MESSAGES
            return is_many or _num_chars(prompts) + _num_chars_in(command.messages) >= LONG_TEXT
        case Validate() | CacheStats() | ListHooks():
            return False


def _num_chars(prompts: Sequence[Prompt]) -> int:
    texts = [prompt.text for prompt in prompts if prompt.text is not UNSET]
    return sum(map(len, texts)) + sum(_num_chars_in(prompt.messages) for prompt in prompts)


def _num_chars_in(messages: list[Message] | UnsetType) -> int:
    return 0 if messages is UNSET else sum(len(message.content) for message in messages)


class ModelHost:
    """Holds at most one model. `load` and `unload` yield events step by step; the last one ends the command."""

    def __init__(
        self,
        cache_folder: Path | None = None,
        hooks: HookFolder | None = None,
        confinement: Confinement = Confinement(),  # noqa: B008 (a frozen value)
        pulse: Pulse | None = None,
        trials: TrialProcess | None = None,
        meanwhile: Callable[[], bool] | None = None,
    ) -> None:
        """`cache_folder` holds the prompt cache on disk; None means that it is only in memory.

        `hooks` are the available hooks. `confinement` says what this process gave up. `pulse` is notified of each
        activity. `trials` runs chat templates; None means a new process. `meanwhile` is called while a long text is
        tokenized: see `Patience`.
        """
        self._meanwhile = meanwhile
        self._pulse = pulse or Pulse()
        self._confinement = confinement
        self._hooks = hooks or HookFolder()
        self._trials = trials or TrialProcess(TRIAL_MODULES)
        self._cache_folder = cache_folder
        self._engine: Engine | None = None
        self._loaded: tuple[LoadModel, ModelLoaded] | None = None
        """The command that loaded the present model, and the event that answered it; None if there is no model."""

    @property
    def has_model(self) -> bool:
        return self._engine is not None

    def load(self, command: LoadModel, ticket: Ticket) -> Iterator[Event | None]:
        """Replace the present model. It stays loaded if the new one is refused, or cancelled before its weights load.

        If only the draft model differs, the present model stays, with its prompt cache.
        """
        try:
            for step in self._change_draft(command) if self._differs_in_draft_only(command) else self._load(command):
                yield step
                _refuse_if_cancelled(command, ticket)
        except StoppedError:
            _refuse_if_cancelled(command, ticket)
            raise
        except WorkerError as error:
            error.append(self._loaded_sentence())
            raise
        except Exception as error:
            if is_out_of_memory(error):
                raise WorkerOutOfMemoryError(
                    Sentence(
                        "There is not enough memory for “{model}”. {loaded} "
                        "Close other programs, or choose a smaller model.",
                        model=command.model,
                        loaded=self._loaded_sentence(),
                    )
                ) from error
            raise
        finally:
            release()

    def _load(self, command: LoadModel) -> Iterator[ModelLoading | ModelLoaded]:
        yield _loading(command, Loading(0.0, "building the model"))
        unread = UnreadModel(find_model(command.model), self._trials, chat_template=command.chat_template)
        yield _loading(command, Loading(0.1, "reading the weights"))
        # Drop the old model before reading the new weights: memory seldom holds both.
        self._drop()
        model = yield from _read(command, unread)
        if self._meanwhile is not None:
            model.vocabulary.patience = Patience(self._meanwhile)
        if command.cache.kv_bits is not None:
            model.quantize_kv(command.cache.kv_bits)
        draft, refused = yield from self._load_draft(command, model)
        identity = model.identity()
        cache = self._new_cache(model, identity, command.cache)
        self._engine = Engine(model, cache, self._hooks, draft, pulse=self._pulse)
        event = replace(
            _loaded(command, model, identity, refused),
            confinement=self._confinement,
            has_template=unread.has_template,
        )
        self._loaded = command, event
        yield event

    def _differs_in_draft_only(self, command: LoadModel) -> bool:
        """Return whether the same model is loaded, with the same cache options, but another draft model."""
        if self._loaded is None:
            return False
        before, _ = self._loaded
        is_same = replace(before, request_id="", draft_model=None) == replace(command, request_id="", draft_model=None)
        return is_same and before.draft_model != command.draft_model

    def _change_draft(self, command: LoadModel) -> Iterator[ModelLoading | ModelLoaded]:
        assert self._engine is not None
        assert self._loaded is not None
        draft, refused = yield from self._load_draft(command, self._engine.model)
        self._engine.guess_with(draft)
        event = replace(
            self._loaded[1],
            request_id=command.request_id,
            draft_model=None if draft is None else command.draft_model,
            draft_refused=str(refused or ""),
            draft_refused_parts=UNSET if refused is None else refused.parts,
        )
        self._loaded = command, event
        yield event

    def _load_draft(
        self, command: LoadModel, model: LanguageModel
    ) -> Generator[ModelLoading, None, tuple[DraftModel | None, Sentence | None]]:
        """Load the draft model, if one is requested. Return it, or why it is not used."""
        if command.draft_model is None:
            return None, None
        if model.cache_kind != "trimmable":
            return None, Sentence(
                "{architecture} models can't take tokens back, so this model answers without a draft model.",
                architecture=model.folder.architecture,
            )
        draft = yield from _read(command, UnreadModel(find_model(command.draft_model), self._trials), "draft model: ")
        if not _spell_alike(draft, model):
            raise BadRequestError(
                Sentence(
                    "The draft model “{draft_model}” has a different vocabulary from “{model}”. "
                    "Choose a smaller model of the same family, or none.",
                    draft_model=command.draft_model,
                    model=command.model,
                )
            )
        if draft.cache_kind != "trimmable":
            return None, Sentence(
                "{architecture} models can't take tokens back, so this model can't be a draft model.",
                architecture=draft.folder.architecture,
            )
        limit_bytes = default_limit_bytes(model.weights_bytes + draft.weights_bytes) // _DRAFT_PART
        return DraftModel(draft, PromptCache(draft.new_layers, limit_bytes), model.vocab_size), None

    def _new_cache(self, model: LanguageModel, identity: str, options: CacheOptions) -> PromptCache:
        limit_bytes = default_limit_bytes(model.weights_bytes) if options.limit_bytes is None else options.limit_bytes
        disk = None
        if self._cache_folder is not None and options.disk_limit_bytes != 0:
            disk = DiskCache(self._cache_folder, identity, options.disk_limit_bytes)
        return PromptCache(model.new_layers, limit_bytes, disk)

    def _drop(self) -> None:
        with self._pulse.during("saving"):
            self.save(_SAVING_S)
        self._engine = self._loaded = None
        release()

    def _loaded_sentence(self) -> Sentence:
        if self._engine is None:
            return Sentence("No model is loaded now.")
        return Sentence("The previous model is still loaded.")

    def unload(self, command: UnloadModel) -> Iterator[Event | None]:
        """Drop the model and everything computed with it, except the cache on disk."""
        self._drop()
        yield Done(request_id=command.request_id)

    def add(self, command: Generate, ticket: Ticket) -> None:
        """Add a prompt to the queue of the engine. Raises a `WorkerError`."""
        engine = self._loaded_engine()
        if command.identity is not None and self._loaded is not None and command.identity != self._loaded[1].identity:
            raise SupersededError(
                Sentence("Another model was loaded before this was answered. Ask again with the model that is loaded.")
            )
        ticket.is_long = is_long(command)
        engine.add(command, ticket)

    @property
    def is_answering(self) -> bool:
        """Whether `step` has work to do."""
        return self._engine is not None and self._engine.is_busy

    @property
    def is_beginning(self) -> bool:
        """Whether `step` is preparing the prompt of a request, and may be stopped."""
        return self._engine is not None and self._engine.is_beginning

    @property
    def is_beginning_wanted(self) -> bool:
        """Whether the request whose prompt is being prepared still waits for it."""
        return self._loaded_engine().is_beginning_wanted

    @property
    def num_waiting(self) -> int:
        """The number of requests that were added and have not started."""
        return 0 if self._engine is None else self._engine.num_waiting

    def step(self, *, is_meanwhile: bool = False) -> list[Event]:
        """Do one step of all answers and return its events. For `is_meanwhile` see the engine's `step`."""
        return self._loaded_engine().step(is_meanwhile=is_meanwhile)

    def save_some(self) -> bool:
        """Write one file of the prompt cache to disk. Return whether there may be more to write."""
        try:
            return self._engine is not None and self._engine.cache.save_some()
        except Exception as error:  # noqa: BLE001 (nobody waits for this, and nothing is lost from memory)
            log.warning("The prompt cache was not saved: %r", error)
            return False

    def save(self, limit_s: float) -> None:
        """Write the prompt cache to disk, as far as time allows."""
        end = time.perf_counter() + limit_s
        while time.perf_counter() < end and self.save_some():
            pass

    def reply(self, question: Question) -> Event:
        """Return the event that answers a question. Raises a `WorkerError`."""
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
                    pieces=_pieces(vocabulary, token_ids),
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
            with self._pulse.during("constraint"):
                self._loaded_engine().model.constraints.new(question.constraint)
        except ConstraintInvalidError as error:
            parts = error.sentence.parts
            return Validated(request_id=question.request_id, ok=False, message=str(error), parts=parts)
        return Validated(request_id=question.request_id, ok=True, message="")

    def _loaded_engine(self) -> Engine:
        if self._engine is None:
            raise ModelNotLoadedError
        return self._engine


def _pieces(vocabulary: Vocabulary, token_ids: Sequence[int]) -> list[str]:
    """Return the text of each token. Raises `StoppedError`."""
    pieces: list[str] = []
    for start in range(0, len(token_ids), _PIECES_AT_ONCE):
        if start and vocabulary.patience is not None:
            vocabulary.patience.pause()
        pieces += [vocabulary.text_of([token_id]) for token_id in token_ids[start : start + _PIECES_AT_ONCE]]
    return pieces


def _spell_alike(one: LanguageModel, other: LanguageModel) -> bool:
    """Return whether two models have the same tokens. Vocabulary sizes may differ, as some models pad theirs."""
    return all(mine == its for mine, its in zip(one.vocabulary.bytes, other.vocabulary.bytes, strict=False)) and (
        one.vocabulary.eos_ids & other.vocabulary.eos_ids == one.vocabulary.eos_ids
    )


def _refuse_if_cancelled(command: LoadModel, ticket: Ticket) -> None:
    if ticket.is_cancelled:
        raise LoadCancelledError(Sentence("Loading “{model}” was cancelled.", model=command.model))


def _read(command: LoadModel, unread: UnreadModel, prefix: str = "") -> Generator[ModelLoading, None, LanguageModel]:
    """Read a model's weights. `prefix` is put before each stage."""
    model: LanguageModel | None = None
    for step in unread.read():
        if isinstance(step, Loading):
            yield _loading(command, Loading(step.fraction, prefix + step.stage))
        else:
            model = step
    assert model is not None
    return model


def _loading(command: LoadModel, step: Loading) -> ModelLoading:
    return ModelLoading(request_id=command.request_id, fraction=step.fraction, stage=step.stage)


def _loaded(command: LoadModel, model: LanguageModel, identity: str, draft_refused: Sentence | None) -> ModelLoaded:
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
        draft_refused=str(draft_refused or ""),
        draft_refused_parts=UNSET if draft_refused is None else draft_refused.parts,
        identity=identity,
        versions=model.versions,
        weights=model.weight_form,
        thinking=thinking is not None,
        thinking_option=None if thinking is None else thinking.option,
        thinking_default=thinking is not None and thinking.is_default,
        tool_form=model.chat_template.style.form.name,
        reasoning=model.chat_template.style.reasoning,
        notices=notices_of(model.notices),
    )
