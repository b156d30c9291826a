"""Heartbeats: the operation that makes a token for a sender, and what a sender's request does."""

from functools import partial
from hashlib import sha256

from cadenza.domain.access.key import Caller, Scope, Surface
from cadenza.domain.agents.schedule_protection import refuse_schedule
from cadenza.domain.errors import Conflict, NotFound
from cadenza.domain.monitoring.heartbeat import (
    LONGEST_BODY,
    ORIGIN,
    Signal,
    SignalKind,
    is_heartbeat,
    receive,
)
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.operations.context import Dependencies, RequestContext
from cadenza.operations.operation import CREATED, View, operation
from cadenza.operations.scheduling.endpoint_parts.commands import OneEndpoint
from cadenza.operations.scheduling.endpoints import require_live

PREFIX = "hb_"
LONGEST_TOKEN = 200
UNKNOWN = "No endpoint waits for heartbeats with this token."


class HeartbeatTokenView(View):
    """The token of a sender, which is shown this once."""

    token: str
    path: str
    """Behind the address of the server: `POST` to it, or to it with `/start`, `/success` or `/fail`."""


@operation(
    "POST /v1/endpoints/{endpoint_id}/heartbeat-token",
    Scope.WRITE,
    status=CREATED,
    agent=False,
    shown_once=True,
)
async def create_heartbeat_token(context: RequestContext, command: OneEndpoint) -> HeartbeatTokenView:
    """Create the heartbeat token of an endpoint. The previous token stops working."""
    endpoint = require_live(await context.store.endpoints.get(context.key(command.endpoint_id)))
    refuse_schedule(endpoint)
    if not is_heartbeat(endpoint):
        raise Conflict(f"{endpoint.id} does not expect heartbeats: its target is of another kind.")
    token = f"{PREFIX}{context.dependencies.token_generator.secret()}"
    await context.store.heartbeats.put_token(endpoint.key, _digest(token))
    return HeartbeatTokenView(token=token, path=f"/v1/heartbeats/{token}")


async def find_sender(dependencies: Dependencies, token: str) -> EndpointKey | None:
    """The endpoint of a token; None if there is none."""
    if len(token) > LONGEST_TOKEN or not token.startswith(PREFIX):
        return None
    return await dependencies.store.heartbeats.endpoint_of(_digest(token))


def sender_of(key: EndpointKey) -> Caller:
    """Who sends the heartbeats of an endpoint: may do nothing else, and has a rate of its own."""
    return Caller(key.tenant_id, frozenset(), f"{ORIGIN}:{key.id}", surface=Surface.REST)


async def receive_signal(dependencies: Dependencies, key: EndpointKey, kind: SignalKind, body: bytes) -> bool:
    """Store a signal, so that a worker makes a run of it; False if the endpoint is switched off or paused."""
    text = body.decode(errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")[:LONGEST_BODY]
    signal = Signal(dependencies.ids.new(), kind, dependencies.clock.now(), text or None)
    try:
        return await dependencies.store.heartbeats.receive(key, partial(receive, signal=signal))
    except (NotFound, Conflict):
        raise NotFound(UNKNOWN) from None


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


HEARTBEATS = (create_heartbeat_token,)
