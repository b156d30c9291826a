"""Operations on API keys; a key's secret is shown once, and only its digest is stored."""

from datetime import datetime
from typing import Annotated, Self

from pydantic import Field

from cadenza.domain.access.key import ApiKey, Scope
from cadenza.domain.errors import InvalidRequest, NotAllowed
from cadenza.operations.access.key_tokens import new_key
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Id, Listed, Moment, Name, Paged, split_page
from cadenza.operations.operation import CREATED, NO_CONTENT, Command, Nothing, View, operation


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


KEYS = (create_key, list_keys, delete_key)
