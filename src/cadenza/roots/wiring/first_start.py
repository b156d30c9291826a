"""What the operator is shown at the start: a key that may do everything, once, and a way in by browser."""

import sys
from contextlib import suppress

from cadenza.domain.access.key import Caller, Scope
from cadenza.operations.access.keys import CreateKey, create_key
from cadenza.operations.access.sessions import new_link
from cadenza.operations.application import Application
from cadenza.operations.context import RequestContext
from cadenza.ports.catalog import Page

TENANT = "default"
ADMIN = Caller(TENANT, frozenset({Scope.ADMIN}), "up")


async def first_key(application: Application) -> str | None:
    """A key for a database that lets nobody in yet; None if somebody has one."""
    store = application.dependencies.store
    if await store.keys(TENANT, Page(1)):
        return None
    await store.put_tenant(await store.tenant(TENANT))
    made = await create_key.handle(
        RequestContext(application.dependencies, ADMIN), CreateKey(name="first", scopes=[Scope.ADMIN])
    )
    return made.key


def show(address: str, key: str) -> None:
    """Tell the operator the key, this once; it goes into no log."""
    text = (
        f"\nThis is your first key. It may do everything, and it is shown only now:\n\n"
        f"  {key}\n\n"
        f"Try it:\n\n"
        f'  curl -H "Authorization: Bearer {key}" {address}/v1/endpoints\n\n'
        f"The API is documented at {address}/docs.\n\n"
    )
    _say(text)


async def show_link(address: str, application: Application) -> None:
    """Tell the operator how to open the dashboard; the code stands where no server and no log sees it."""
    code = await new_link(application.dependencies, ADMIN)
    _say(f"\nOpen the dashboard; this link works once, within an hour:\n\n  {address}/login#{code}\n\n")


def _say(text: str) -> None:
    with suppress(OSError, ValueError):  # Nobody reads; `cadenza keys create` makes another key.
        sys.stdout.write(text)
        sys.stdout.flush()
