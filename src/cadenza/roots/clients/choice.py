"""Chooses where a command is carried out: on a server, or on the database of the settings."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from http.client import HTTPException
from typing import NamedTuple
from urllib.request import ProxyHandler, build_opener

from cadenza.adapters.clock import SystemClock
from cadenza.domain.access.key import Caller
from cadenza.domain.errors import InvalidRequest
from cadenza.roots.clients.server_record import database_path, running_server
from cadenza.roots.settings import Settings
from cadenza.surfaces.cli.connection import CliOptions, OperationClient

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - recognized here, not listened on
ANSWERS_WITHIN_S = 5.0
LONGEST_ANSWER = 10_000


class ServerAddress(NamedTuple):
    """The URL of a server, and the key to send it."""

    server: str
    key: str | None


class Choice(NamedTuple):
    """The server, or None for the database; and what may surprise about it."""

    server: ServerAddress | None
    note: str | None = None


def choose(settings: Settings, connection: CliOptions) -> Choice:
    """The server that is named, or the one of this machine if there is a key for it; else the database."""
    named = settings.server if connection.server is None else connection.server
    key = connection.key or (settings.key and settings.key.get_secret_value()) or None
    if named:
        if connection.tenant is not None:
            raise InvalidRequest(
                "--tenant goes without a server: there, the key says whose things are meant."
            )
        return Choice(ServerAddress(named, key))
    if key is None or named is not None:
        return Choice(None)
    return _with_key(settings, connection, key)


def _with_key(settings: Settings, connection: CliOptions, key: str) -> Choice:
    source, address = "--key" if connection.key else "CADENZA_KEY", own_address(settings)
    path = database_path(settings)
    database = "the database of CADENZA_DATABASE_URL" if path is None else f"the database {path.absolute()}"
    if connection.tenant is not None:
        return Choice(None, f"{source} is ignored with --tenant: this asks {database}.")
    if server_time(address) is None:
        return Choice(None, f"{source} is ignored, as no server answers at {address}: this asks {database}.")
    running = running_server(settings)
    surprise = path is not None and path.exists() and (running is None or running.address != address)
    note = f"{source} is set: this asks {address}, and not {database}; --server '' asks the database."
    return Choice(ServerAddress(address, key), note if surprise else None)


def own_address(settings: Settings) -> str:
    """The URL of the server of the settings, on this machine."""
    return url_of(settings.host, settings.port)


def url_of(host: str, port: int) -> str:
    """The URL under which a listener on this machine is reached from this machine."""
    host = ANY_ADDRESS.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def address(settings: Settings, connection: CliOptions) -> str:
    """The URL of the server that is asked, or that runs or would run on the database."""
    chosen = choose(settings, connection).server
    if chosen is not None:
        return chosen.server.rstrip("/")
    running = running_server(settings)
    return own_address(settings) if running is None else running.address


def server_time(server: str) -> datetime | None:
    """The time of a server's clock; None if no Cadenza answers."""
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(f"{server.rstrip('/')}/healthz", timeout=ANSWERS_WITHIN_S) as response:
            return datetime.fromisoformat(json.loads(response.read(LONGEST_ANSWER))["now"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None


def time_there(settings: Settings, connection: CliOptions) -> datetime:
    """The time of the clock by which the command is carried out, which may run faster than the system's."""
    server = choose(settings, connection).server
    if server is not None:
        return server_time(server.server) or SystemClock().now()
    running = running_server(settings)
    return (SystemClock() if running is None else running.clock).now()


@asynccontextmanager
async def open_client(
    settings: Settings, connection: CliOptions, caller: Caller, *, rank: str | None
) -> AsyncIterator[OperationClient]:
    """A client of the server, at a rank, or in the name of the caller of the database; a surprise is told."""
    server, note = choose(settings, connection)
    if note is not None:
        print_note(note)
    if server is not None:
        from cadenza.roots.clients.remote import remote_client

        async with remote_client(*server, rank=rank) as remote:
            yield remote
        return
    from cadenza.roots.clients.local import local_client

    async with local_client(settings, caller, print_note) as local:
        yield local


def print_note(note: str) -> None:
    """Print a sentence for people; programs read standard output."""
    import sys

    if sys.stderr is not None:
        sys.stderr.write(f"cadenza: {note}\n")
