"""`/v1/events`: changes as server-sent events."""

from collections.abc import AsyncIterator
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.errors import CadenzaError, NotAllowed
from cadenza.operations.monitoring.live_changes import NOTHING, ChangeReader, ChangeSummary, LiveChanges
from cadenza.surfaces.dashboard.responses import clocks, error_response
from cadenza.surfaces.http.problems import TOO_MANY, Refusal
from cadenza.surfaces.http.service import Service

PATH = "/v1/events"
CHECK_S, HEARTBEATS = 1.0, 5
"""How often a reader's key is checked, and after how many checks an event is sent at least: so clients
notice a broken connection."""
MOST_READERS, MOST_OF_A_TENANT = 500, 100
RETRY_MS = 1_000


class Events:
    """The stream of changes, for callers who may read."""

    def __init__(self, service: Service, live_changes: LiveChanges) -> None:
        self._service = service
        self._live_changes = live_changes
        self._dependencies = service.application.dependencies

    def routes(self) -> list[Route]:
        """Its route."""
        return [Route(PATH, self._stream)]

    async def _stream(self, request: Request) -> Response:
        try:
            caller = await self._admitted(request)
        except (CadenzaError, Refusal) as problem:
            return error_response(problem, request)
        return StreamingResponse(
            self._events(request, caller), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
        )

    async def _admitted(self, request: Request) -> Caller:
        caller, _ = await self._service.admit(request.scope)
        caller.must(Scope.READ)
        if caller.on_behalf_of is not None:
            raise NotAllowed("A key for one user cannot read this tenant's events.")
        mine = self._live_changes.readers_of(caller.tenant_id)
        if mine >= MOST_OF_A_TENANT or self._live_changes.readers >= MOST_READERS:
            detail = "Too many open event streams; poll instead."
            raise Refusal(TOO_MANY, detail, {"Retry-After": "30"})
        return caller

    async def _events(self, request: Request, caller: Caller) -> AsyncIterator[bytes]:
        last_seen = request.headers.get("last-event-id")
        yield b"retry: %d\n\n" % RETRY_MS
        async with self._live_changes.reader(caller.tenant_id, last_seen) as reader:
            yield self._now()
            checks = 0
            while (news := await reader.next(CHECK_S)) is not None:
                if not await self._service.still_valid(request.scope):
                    return
                checks = checks + 1 if news == NOTHING else 0
                if news != NOTHING:
                    yield self._change_event(reader, news)
                elif checks % HEARTBEATS == 0:
                    yield self._now()

    def _now(self) -> bytes:
        return _event("now", clocks(self._dependencies))

    def _change_event(self, reader: ChangeReader, news: ChangeSummary) -> bytes:
        if news.reset:
            return _event("reset", {}, reader.last_id) + self._now()
        words = {"endpoints": sorted(news.endpoints), "runs": news.runs, "steered": news.steered}
        return _event("change", words | clocks(self._dependencies), reader.last_id)


def _event(name: str, words: dict[str, Any], place: str | None = None) -> bytes:
    told_at = f"id: {place}\n" if place else ""
    data = orjson.dumps(words, option=orjson.OPT_UTC_Z).decode()
    return f"{told_at}event: {name}\ndata: {data}\n\n".encode()
