"""MCP over standard input and output: an agent's program starts it, and ends it."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.roots.api import a_log
from cadenza.roots.settings import Settings, read_settings
from cadenza.roots.wiring.command_target import USUAL_TENANT, local_client, server_of
from cadenza.roots.wiring.event_loop import run_to_end
from cadenza.roots.wiring.remote import remote_client
from cadenza.surfaces.cli.connection import Way
from cadenza.surfaces.mcp.caller import Visit
from cadenza.surfaces.mcp.server import EXTRA, missing_extra

ORIGIN = "mcp"
REMEDY = "CADENZA_MCP_SCOPES says what is allowed"


def launch(way: Way) -> int:
    """Serve until the other side lets go; the exit code."""
    if sys.stdin is None or sys.stdout is None:
        raise Unavailable("Standard input or output is closed: a program that speaks MCP starts this.")
    run_to_end(serve(read_settings(), way))
    return 0


async def serve(settings: Settings, way: Way) -> None:
    """Serve agents in the name of one tenant, or of a key."""
    try:
        from cadenza.surfaces.mcp import stdio
        from cadenza.surfaces.mcp.server import mcp_server
    except ModuleNotFoundError as problem:
        if missing_extra(problem):
            raise Unavailable(EXTRA) from None
        raise
    async with open_visit(settings, way) as visit:
        server = mcp_server(lambda _: visit, version=version("cadenza"), warn=a_log(settings).warning)
        await stdio.serve(server)


@asynccontextmanager
async def open_visit(settings: Settings, way: Way) -> AsyncIterator[Visit]:
    """A visit to the application on the database of the settings, or to the one behind a server."""
    caller = Caller(way.tenant or USUAL_TENANT, allowed(settings), ORIGIN)
    behind = server_of(settings, way)
    if behind is not None:
        async with remote_client(*behind) as remote:
            yield Visit(caller, remote.ask, REMEDY)
        return
    async with local_client(settings, caller) as local:
        yield Visit(caller, local.ask, REMEDY)


def allowed(settings: Settings) -> frozenset[Scope]:
    """How far agents may go."""
    try:
        scopes = frozenset(map(Scope, settings.mcp_scopes))
    except ValueError:
        scopes = frozenset()
    if not scopes:
        names = ", ".join(Scope)
        raise InvalidRequest(
            f"CADENZA_MCP_SCOPES must be some of {names}, with commas between.", "mcp_scopes"
        )
    return scopes
