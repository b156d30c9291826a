"""Secrets for targets: written and named, never shown."""

from datetime import datetime
from functools import partial
from typing import Annotated, Self

from pydantic import Field, SecretStr, StringConstraints

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import NotFound
from cadenza.domain.text_patterns import A_SECRET_NAME
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import MOST_LISTED, Listed, Paged, Put, split_page
from cadenza.operations.operation import NO_CONTENT, Command, Nothing, View, operation
from cadenza.ports.catalog import Page
from cadenza.ports.secrets import SecretEntry, SecretKey

SecretName = Annotated[str, StringConstraints(strict=True, pattern=A_SECRET_NAME)]


class PutSecret(Put):
    """A secret, new or in place of the one before."""

    secret_name: SecretName
    value: Annotated[SecretStr, Field(min_length=1, max_length=8_192)]
    """Kept sealed; it never comes back."""


class OneSecret(Command):
    """The secret that is meant."""

    secret_name: SecretName


class SecretView(View):
    """A secret without its value; `${secret:NAME}` refers to it."""

    name: str
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, entry: SecretEntry) -> Self:
        """The view of a secret."""
        return cls(**entry._asdict())


class SecretsPage(Listed[SecretView]):
    """A page of secrets."""


@operation("PUT /v1/secrets/{secret_name}", Scope.WRITE, status=NO_CONTENT, agent=False)
async def put_secret(context: RequestContext, command: PutSecret) -> Nothing:
    """Create or replace a secret, which headers, bodies and signatures refer to as `${secret:NAME}`."""
    key = SecretKey(context.tenant_id, command.secret_name)
    value = command.value.get_secret_value()
    await command.refuse_existing(f"a secret {key.name}", partial(_entry, context, key.name))
    await context.dependencies.secrets.put(key, value, now=context.dependencies.clock.now())
    return Nothing()


@operation("GET /v1/secrets", Scope.READ, agent=False)
async def list_secrets(context: RequestContext, command: Paged) -> SecretsPage:
    """List the names of secrets."""
    found = await context.dependencies.secrets.names(context.tenant_id, command.page())
    entries, more = split_page(found, command.limit)
    return SecretsPage(
        items=[SecretView.of(entry) for entry in entries], next_cursor=entries[-1].name if more else None
    )


@operation("DELETE /v1/secrets/{secret_name}", Scope.WRITE, status=NO_CONTENT, agent=False)
async def delete_secret(context: RequestContext, command: OneSecret) -> Nothing:
    """Delete a secret; targets that refer to it fail from then on."""
    await context.dependencies.secrets.delete(SecretKey(context.tenant_id, command.secret_name))
    return Nothing()


async def _entry(context: RequestContext, name: str) -> SecretEntry:
    """The entry of a secret; NotFound if there is none."""
    last: str | None = None
    while page := await context.dependencies.secrets.names(context.tenant_id, Page(MOST_LISTED, last)):
        for entry in page:
            if entry.name == name:
                return entry
        last = page[-1].name
    raise NotFound(f"Secret {name} not found.")


SECRETS = (put_secret, list_secrets, delete_secret)
