"""What is public: health, figures, documentation, and what problems mean."""

from collections.abc import Callable
from functools import cached_property
from html import escape

import orjson
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from cadenza.surfaces.http import docs_page
from cadenza.surfaces.http.components import Schema
from cadenza.surfaces.http.health import Health
from cadenza.surfaces.http.metrics import MEDIA_TYPE, Metrics
from cadenza.surfaces.http.problems import KINDS, TYPES


class Pages:
    """Pages that are written once, when somebody asks: most of a start would be spent on them."""

    def __init__(
        self, *, document: Callable[[], Schema], llms: Callable[[], str], metrics: Metrics, health: Health
    ) -> None:
        self._document = document
        self._llms = llms
        self._metrics = metrics
        self._health = health

    def routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route("/healthz", self._health.healthz),
            Route("/readyz", self._health.readyz),
            Route("/metrics", self._figures),
            Route("/openapi.json", self._openapi),
            Route("/llms.txt", self._words),
            Route("/docs", docs_page.page),
            Route("/docs/{name}", docs_page.asset),
            Route(TYPES + "{name}", self._problem),
        ]

    @cached_property
    def _openapi_json(self) -> bytes:
        return orjson.dumps(self._document())

    @cached_property
    def _llms_text(self) -> str:
        return self._llms()

    async def _openapi(self, _: Request) -> Response:
        return Response(self._openapi_json, media_type="application/json")

    async def _words(self, _: Request) -> Response:
        return PlainTextResponse(self._llms_text)

    async def _figures(self, _: Request) -> Response:
        return Response(self._metrics.written(), media_type=MEDIA_TYPE)

    async def _problem(self, request: Request) -> Response:
        kind = next((kind for kind in KINDS if kind.name == request.path_params["name"]), None)
        if kind is None:
            raise HTTPException(404)
        return PlainTextResponse(f"{kind.status} {escape(kind.name)}: {kind.title}.\n")
