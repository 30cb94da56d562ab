"""OpenAI's API: its routes, and its list of models."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from app.serving import anthropic_api
from app.serving.endpoints import Bodies, Endpoint
from app.serving.messages import ServedModel
from app.serving.openai_chat import Chat
from app.serving.openai_completions import Completions
from app.serving.openai_responses import Responses
from app.serving.openai_shape import SHAPE
from app.serving.problems import ProblemError
from app.serving.replies import Reply
from app.serving.service import Service


def routes(service: Service, bodies: Bodies) -> list[Route]:
    """Return the routes of this API."""
    models, responses = _Models(service), Responses(service)
    return [
        Route("/v1/chat/completions", Endpoint(Chat(service).create, SHAPE, bodies), methods=["POST"]),
        Route("/v1/completions", Endpoint(Completions(service).create, SHAPE, bodies), methods=["POST"]),
        Route("/v1/responses", Endpoint(responses.create, SHAPE, bodies), methods=["POST"]),
        Route("/v1/responses/input_tokens", Endpoint(responses.count, SHAPE, bodies), methods=["POST"]),
        Route("/v1/responses/{name}", Endpoint(responses.retrieve, SHAPE, bodies), methods=["GET"]),
        Route("/v1/responses/{name}", Endpoint(responses.delete, SHAPE, bodies), methods=["DELETE"]),
        Route("/v1/models", Endpoint(models.list_all, SHAPE, bodies), methods=["GET"]),
        Route("/v1/models/{name:path}", Endpoint(models.retrieve, SHAPE, bodies), methods=["GET"]),
    ]


class _Models:
    """The models that requests can name."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def list_all(self, request: Request, _data: bytes, reply: Reply) -> None:
        found = await self._service.models()
        if anthropic_api.is_asked(request.url.path, request.scope["headers"]):
            await reply.whole(anthropic_api.listed(found))
        else:
            await reply.whole({"object": "list", "data": [_described(model) for model in found]})

    async def retrieve(self, request: Request, _data: bytes, reply: Reply) -> None:
        name = request.path_params["name"]
        for model in await self._service.models():
            if model.is_named(name):
                is_anthropic = anthropic_api.is_asked(request.url.path, request.scope["headers"])
                await reply.whole(anthropic_api.described(model) if is_anthropic else _described(model))
                return
        raise ProblemError("no_such_model", f"There is no model “{name}” here.", param="model")


def _described(model: ServedModel) -> dict[str, Any]:
    return {"id": model.id, "object": "model", "created": model.created_s, "owned_by": "bough"}
