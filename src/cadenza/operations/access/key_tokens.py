"""Tokens of API keys: how they are made, and whose they are. Only a digest of their secret is stored."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest

from cadenza.domain.access.key import ApiKey, Caller, Scope, Surface, TurnToken, caller_of, key_id_of
from cadenza.domain.access.move import tenant_elsewhere
from cadenza.domain.agents.agent_turn import token_digest, turn_of_token
from cadenza.domain.errors import NotFound
from cadenza.operations.context import RequestContext
from cadenza.ports.access import KeyStore, StoredKey
from cadenza.ports.own_agents.turns import AgentTurnStore

PREFIX = "cad_"
ID_LENGTH = 12


async def new_key(
    context: RequestContext,
    *,
    name: str,
    scopes: Sequence[Scope],
    expires_at: datetime | None,
    user_id: str | None = None,
) -> tuple[ApiKey, str]:
    """Store a new key; the key and its token, of which only a digest is stored."""
    key_id, secret = (
        context.dependencies.token_generator.secret()[:ID_LENGTH],
        context.dependencies.token_generator.secret(),
    )
    key = ApiKey(
        id=key_id,
        tenant_id=context.tenant_id,
        name=name,
        scopes=frozenset(scopes),
        created_at=context.dependencies.clock.now(),
        expires_at=expires_at,
        user_id=user_id,
        made_by=None if user_id is None else key_id_of(context.caller.origin),
    )
    await context.store.keys.add_key(StoredKey(key, _digest(secret)))
    return key, f"{PREFIX}{key_id}_{secret}"


async def caller_of_token(store: KeyStore, token: str, now: datetime) -> Caller | None:
    """The caller of a token; None if its key is unknown, wrong or expired."""
    key = await valid_key(store, token, now)
    return None if key is None else caller_of(key)


async def caller_of_turn(store: AgentTurnStore, token: str) -> Caller | None:
    """The caller with the token of a turn, who may answer that turn alone; None if it is not valid.

    A token that could have answered the turn earlier is valid: its holder is told that it is too late.
    """
    turn_id = turn_of_token(token)
    try:
        turn = await store.agent_turn(turn_id or "")
    except NotFound:
        return None
    digest = token_digest(token)
    if not turn.accepts(digest):
        return None
    tenant_id, _, agent_id = turn.conversation
    access = TurnToken(turn.id, digest)
    return Caller(tenant_id, frozenset(), f"agent:{agent_id}", surface=Surface.AGENT, turn=access)


async def valid_key(store: KeyStore, token: str, now: datetime) -> ApiKey | None:
    """The key of a token; None if it is unknown, wrong or expired, Conflict if its tenant was moved away."""
    key_id, _, secret = token.removeprefix(PREFIX).partition("_")
    if not secret or not token.startswith(PREFIX):
        return None
    stored = await store.stored_key(key_id)
    if stored is None or not compare_digest(stored.digest, _digest(secret)) or not stored.key.valid(now):
        return None
    if stored.moved_to is not None:
        raise tenant_elsewhere(stored.moved_to)
    return stored.key


def id_of_token(token: str) -> str | None:
    """The id of the key that a token names, right or wrong; None if it names none."""
    return token.removeprefix(PREFIX).partition("_")[0] if token.startswith(PREFIX) else None


def _digest(secret: str) -> bytes:
    """A plain digest is enough: secrets are long and random."""
    return sha256(secret.encode(errors="replace")).digest()
