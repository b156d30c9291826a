"""Operations on API keys; a key's secret is shown once, and only its digest is stored."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Annotated, Self

from pydantic import Field

from cadenza.domain.access.key import ApiKey, Caller, Scope, caller_of, key_id_of
from cadenza.domain.access.move import tenant_elsewhere
from cadenza.domain.errors import InvalidRequest, NotAllowed
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Id, Listed, Moment, Name, Paged, split_page
from cadenza.operations.operation import CREATED, NO_CONTENT, Command, Nothing, View, operation
from cadenza.ports.access import KeyStore, StoredKey

PREFIX = "cad_"
ID_LENGTH = 12


class CreateKey(Command):
    """A new key."""

    name: Name
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=len(Scope))] = [Scope.READ]
    """`read`, `steer`, `write`, `admin`; each includes those before it."""
    expires_at: Moment | None = None
    """When it stops working; null is never."""


class OneKey(Command):
    """The key that is meant."""

    key_id: Id


class KeyView(View):
    """A key without its secret."""

    id: str
    name: str
    scopes: list[Scope]
    created_at: datetime
    expires_at: datetime | None

    @classmethod
    def of(cls, key: ApiKey) -> Self:
        """The view of a key."""
        return cls(
            id=key.id,
            name=key.name,
            scopes=[scope for scope in Scope if scope in key.scopes],
            created_at=key.created_at,
            expires_at=key.expires_at,
        )


class NewKeyView(KeyView):
    """A key with its secret, which is shown this once."""

    key: str = ""
    """What goes behind `Authorization: Bearer`; keep it, it is shown only now."""


class KeysPage(Listed[KeyView]):
    """A page of keys."""


@operation("POST /v1/keys", Scope.ADMIN, status=CREATED, agent=False, shown_once=True)
async def create_key(context: RequestContext, command: CreateKey) -> NewKeyView:
    """Create a key, with at most the scopes of the key that creates it. Its secret is shown only here."""
    now = context.dependencies.clock.now()
    if command.expires_at is not None and command.expires_at <= now:
        raise InvalidRequest("expires_at has passed.", "expires_at")
    if not all(context.caller.may(scope) for scope in command.scopes):
        raise NotAllowed("A key cannot create a key with more scopes than its own.")
    key, token = await new_key(
        context, name=command.name, scopes=command.scopes, expires_at=command.expires_at
    )
    return NewKeyView(**KeyView.of(key).model_dump(), key=token)


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


@operation("GET /v1/keys", Scope.ADMIN, agent=False)
async def list_keys(context: RequestContext, command: Paged) -> KeysPage:
    """List keys without their secrets."""
    keys, more = split_page(await context.store.keys.keys(context.tenant_id, command.page()), command.limit)
    return KeysPage(items=[KeyView.of(key) for key in keys], next_cursor=keys[-1].id if more else None)


@operation("DELETE /v1/keys/{key_id}", Scope.ADMIN, status=NO_CONTENT, agent=False)
async def delete_key(context: RequestContext, command: OneKey) -> Nothing:
    """Delete a key. It stops working at once, and everything that was opened with it is closed.

    That is its sessions, its sockets and event streams, and the tokens of users that were made with it.
    Keys that were made with it stay: they are listed, and deleted one by one.
    """
    stored = await context.store.keys.stored_key(command.key_id)
    await context.store.keys.remove_key(context.tenant_id, command.key_id)
    if stored is not None:
        context.trail.note("key", command.key_id, before=KeyView.of(stored.key).model_dump(exclude={"id"}))
    return Nothing()


async def caller_of_token(store: KeyStore, token: str, now: datetime) -> Caller | None:
    """The caller of a token; None if its key is unknown, wrong or expired."""
    key = await valid_key(store, token, now)
    return None if key is None else caller_of(key)


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


KEYS = (create_key, list_keys, delete_key)
