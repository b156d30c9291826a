"""`POST /v1/heartbeats/{token}`: signals of work that somebody else schedules; the token is the key."""

from functools import partial

from starlette.requests import Request
from starlette.routing import Route

from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.monitoring.heartbeat import SignalKind
from cadenza.operations.monitoring.heartbeats import UNKNOWN, find_sender, receive_signal, sender_of
from cadenza.surfaces.dashboard.responses import as_endpoint
from cadenza.surfaces.http.auth import Authenticator
from cadenza.surfaces.http.request import body_of
from cadenza.surfaces.http.response import JSON_TYPE, RawResponse
from cadenza.surfaces.http.service import RateLimit, check_rate

PATH = "/v1/heartbeats/{token}"
LARGEST_BODY = 65_536
"""Bytes that are read; the first part of them is stored."""
ACCEPTED = 202


class Heartbeats:
    """The routes of senders; wrong tokens are counted like wrong keys."""

    def __init__(self, authenticator: Authenticator, rate_limit: RateLimit) -> None:
        self._authenticator = authenticator
        self._dependencies = authenticator.application.dependencies
        self._rate_limit = rate_limit

    def routes(self) -> list[Route]:
        """The route of a success, and one for each kind of signal."""
        endpoint = as_endpoint(self._receive)
        return [Route(path, endpoint, methods=["POST"]) for path in (PATH, f"{PATH}/{{kind}}")]

    async def _receive(self, request: Request) -> RawResponse:
        kind = _kind(request.path_params.get("kind", SignalKind.SUCCESS))
        look_up = partial(find_sender, self._dependencies, request.path_params["token"])
        key = await self._authenticator.check(request.scope, look_up)
        if key is None:
            raise NotFound(UNKNOWN)
        await check_rate(self._rate_limit, sender_of(key))
        body = await body_of(request.scope, request.receive, largest=LARGEST_BODY)
        stored = await receive_signal(self._dependencies, key, kind, body)
        answer = b'{"accepted":true}' if stored else b'{"accepted":false}'
        return RawResponse(ACCEPTED, [JSON_TYPE, (b"content-length", b"%d" % len(answer))], answer)


def _kind(word: str) -> SignalKind:
    try:
        return SignalKind(word)
    except ValueError:
        raise InvalidRequest(f"A heartbeat is one of {', '.join(SignalKind)}.", "kind") from None
