"""The worker as the APIs use it: lists models, answers requests, and counts the tokens of prompts."""

from __future__ import annotations

import asyncio
from fnmatch import fnmatchcase
from typing import NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from app.serving.answering import Answering
from app.serving.drop_rules import DropRules
from app.serving.growing import end_of
from app.serving.history import Requests
from app.serving.messages import (
    Answer,
    Client,
    Down,
    ListModels,
    ModelRefused,
    ModelsListed,
    ModelStatus,
    ModelUsed,
    ServedModel,
    ServerSettings,
    Suggested,
    UseModel,
)
from app.serving.owner_link import OwnerLink
from app.serving.problems import ProblemError, problem_of
from app.serving.turns import Turns, turn_of
from worker.protocol import Failed, Finished, Generate, ModelLoaded, Prompt, Tokenize, Tokenized
from worker.tools.turn_parts import LeftOut


class LoadedModel(NamedTuple):
    """The model that answers a request."""

    id: str
    info: ModelLoaded
    suggested: Suggested


class Service:
    """The worker, as the APIs use it."""

    def __init__(self, link: OwnerLink, settings: ServerSettings, turns: Turns) -> None:
        self._link = link
        self._settings = settings
        self._turns = turns
        self._drop_rules = DropRules(settings.drop_rules)
        self._requests = Requests()

    async def models(self) -> list[ServedModel]:
        """Return the models on this machine that can be named in requests, the loaded one first."""
        reply = await self._asked(ListModels(request_id=self._link.new_id()))
        status = self._link.status
        models = reply.models if isinstance(reply, ModelsListed) else []
        if status is None:
            return models
        return [status.model, *(model for model in models if not status.model.is_named(model.id))]

    async def model(self, name: str | None) -> LoadedModel:
        """Return the model that `name` means. Load it, unless it is loaded.

        Raises `ProblemError`, also for a request that names no model.
        """
        if not name:
            raise ProblemError("invalid", "The request names no model.", param="model")
        status = self._link.status
        if status is not None and any(fnmatchcase(name, alias) for alias in self._settings.aliases):
            name = status.model.id
        if status is None or status.loaded is None or not status.model.is_named(name):
            status = await self._used(name)
        assert status.loaded is not None
        return LoadedModel(status.model.id, status.loaded, status.suggested)

    def answer(self, client: Client, model: LoadedModel, generate: Generate) -> Answering:
        """Return the answer to a prompt. Entering its context begins it, leaving the context early cancels it."""
        command = Answer(
            client=client,
            model=model.id,
            generate=replace(generate, request_id=self._link.new_id(), identity=model.info.identity),
        )
        if generate.messages is UNSET:
            return Answering(self._link, command, model.info, self._settings.ping_s)
        messages, dropped = self._drop_rules.applied(generate.messages)
        compared, note_num_tokens = self._requests.compare(client, model.id, generate.tools, messages)
        messages = self._turns.recalled(model.info, generate.tools, messages)
        generate = replace(command.generate, messages=messages)
        command = replace(command, generate=generate, compared=compared, dropped=dropped)

        def on_finished(finished: Finished) -> None:
            note_num_tokens(finished.usage.prompt_tokens)
            if generate.continuation is None:
                self._store_turns(answering, finished)

        answering = Answering(self._link, command, model.info, self._settings.ping_s, on_finished)
        return answering

    async def num_tokens(self, model: LoadedModel, prompt: Prompt) -> int:
        """Return how many tokens a prompt has. Raises `ProblemError`."""
        if prompt.messages is not UNSET:
            messages, _ = self._drop_rules.applied(prompt.messages)
            prompt = replace(prompt, messages=self._turns.recalled(model.info, prompt.tools, messages))
        question = Tokenize(
            request_id=self._link.new_id(),
            messages=prompt.messages,
            template_options=prompt.template_options,
            tools=prompt.tools,
            text=prompt.text,
            token_ids=prompt.token_ids,
            counts_only=True,
        )
        return (await self._tokenized(question)).num_tokens

    async def text_of(self, token_ids: list[int]) -> str:
        """Return the text that tokens spell. Raises `ProblemError`."""
        return (await self._tokenized(Tokenize(request_id=self._link.new_id(), token_ids=token_ids))).text

    def stop(self) -> None:
        """Fail all requests, also later ones: the server stops."""
        self._link.stop("Bough stops serving. Try again later.")

    async def _tokenized(self, question: Tokenize) -> Tokenized:
        reply = await self._asked(question)
        assert isinstance(reply, Tokenized)
        return reply

    async def _used(self, name: str) -> ModelStatus:
        try:
            async with asyncio.timeout(self._settings.load_s):
                reply = await self._asked(UseModel(request_id=self._link.new_id(), model=name))
        except TimeoutError:
            raise ProblemError(
                "unavailable", f"The model “{name}” is still being loaded. Try again in a moment.", retry_s=5
            ) from None
        status = self._link.status
        match reply:
            case ModelUsed() if status is not None and status.loaded is not None:
                return status
            case ModelRefused(kind="failed", why=why):
                raise ProblemError("unavailable", why)
            case ModelRefused(why=why):
                raise ProblemError("no_such_model", why, param="model")
            case _:
                raise ProblemError("unavailable", "Another model was loaded meanwhile. Try again.", retry_s=1)

    async def _asked(self, question: ListModels | UseModel | Tokenize) -> Down:
        """Send a question and return the reply. Raises `ProblemError`."""
        with self._link.asked(question, str(question.request_id)) as inbox:
            reply = await inbox.get()
        if isinstance(reply, Failed):
            raise problem_of(reply)
        return reply

    def _store_turns(self, answering: Answering, finished: Finished) -> None:
        """Store answers with the ids that spell them."""
        generate = answering.command.generate
        assert generate.messages is not UNSET
        for choice in finished.choices:
            reader = answering.reader()
            parts = [*reader.feed(choice.text), *end_of(reader, choice.reason)]
            # A turn with more text than the client sees is tokenized like any other.
            turn = None if any(isinstance(part, LeftOut) for part in parts) else turn_of(parts)
            if turn is not None:
                self._turns.add(
                    answering.info, generate.tools, generate.messages, turn, choice.text, choice.turn_token_ids
                )
