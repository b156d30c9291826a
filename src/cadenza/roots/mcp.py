"""`cadenza mcp`: MCP over standard input and output, started by an agent's program."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from cadenza.domain.access.key import Caller, Scope, Surface
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.roots.clients.choice import open_client
from cadenza.roots.settings import DEFAULT_TENANT, Settings, read_settings
from cadenza.roots.wiring.extras import MCP, installed, missing
from cadenza.roots.wiring.process import open_log, run_event_loop
from cadenza.surfaces.cli.connection import CliOptions
from cadenza.surfaces.mcp.caller import McpCaller

ORIGIN = "mcp"
REMEDY = "CADENZA_MCP_SCOPES says what is allowed"


def launch(connection: CliOptions) -> int:
    """Serve until standard input is closed; the exit code."""
    if sys.stdin is None or sys.stdout is None:
        raise Unavailable("Standard input or output is closed: a program that speaks MCP starts this.")
    if not installed(MCP):
        raise missing(MCP)
    run_event_loop(serve(read_settings(), connection))
    return 0


async def serve(settings: Settings, connection: CliOptions) -> None:
    """Serve agents in the name of one tenant, or of a key."""
    from cadenza.surfaces.mcp import stdio
    from cadenza.surfaces.mcp.server import mcp_server

    async with open_mcp_caller(settings, connection) as mcp_caller:
        server = mcp_server(lambda _: mcp_caller, version=version("cadenza"), warn=open_log(settings).warning)
        await stdio.serve(server)


@asynccontextmanager
async def open_mcp_caller(settings: Settings, connection: CliOptions) -> AsyncIterator[McpCaller]:
    """A caller of the application on the database of the settings, or of the server that is named."""
    caller = Caller(connection.tenant or DEFAULT_TENANT, mcp_scopes(settings), ORIGIN, surface=Surface.MCP)
    async with open_client(settings, connection, caller, rank="llm") as client:
        yield McpCaller(caller, client.ask, REMEDY)


def mcp_scopes(settings: Settings) -> frozenset[Scope]:
    """The scopes that the settings give to agents."""
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
