"""Chooses where a command is carried out: on a server, or on the database of the settings."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import NamedTuple

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.stores.postgres.engines.profile import profile_of
from cadenza.domain.access.key import Caller, Scope, Surface
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.domain.scheduling.hint import Rank, lowered
from cadenza.roots.clients.server_record import database_path, running_server, with_demo_database
from cadenza.roots.settings import Settings
from cadenza.surfaces.cli.connection import CliOptions, OperationClient

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - recognized here, not listened on
ORIGIN = "cli"
ANSWERS_WITHIN_S = 5.0
LONGEST_ANSWER = 10_000
ELSEWHERE = "change the folder, or set CADENZA_DATABASE_URL, or CADENZA_SERVER and CADENZA_KEY"

UNHEARD = (
    "This asks the database, and an idle `cadenza up` does not hear of changes there: "
    "set CADENZA_SERVER and CADENZA_KEY."
)


class ServerAddress(NamedTuple):
    """The URL of a server, and the key to send it."""

    server: str
    key: str | None
    named_by: str = "--server"
    """The option or setting that says it."""


class Choice(NamedTuple):
    """The server, or None for the database of these settings; and what may surprise about it."""

    server: ServerAddress | None
    settings: Settings
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
        source = "CADENZA_SERVER" if connection.server is None else "--server"
        return Choice(ServerAddress(named, key, source), settings)
    if key is None or named is not None:
        return _without_key(settings, connection)
    return _with_key(settings, connection, key)


def _without_key(settings: Settings, connection: CliOptions) -> Choice:
    return choose_served_database(settings) if connection.served else choose_database(settings)


def _with_key(settings: Settings, connection: CliOptions, key: str) -> Choice:
    source, address = "--key" if connection.key else "CADENZA_KEY", own_address(settings)
    path, database = database_path(settings), database_name(settings)
    ignored = f"{source} is ignored, as no server answers at {address}"
    if connection.tenant is not None:
        ignored = f"{source} is ignored with --tenant"
    elif server_time(address) is not None:
        running = running_server(settings)
        surprise = path is not None and path.exists() and (running is None or running.address != address)
        note = f"{source} is set: this asks {address}, and not {database}; --server '' asks the database."
        return Choice(ServerAddress(address, key), settings, note if surprise else None)
    chosen = _without_key(settings, connection)
    asked = f": this asks {database}." if chosen.note is None else f". {chosen.note}"
    return chosen._replace(note=f"{ignored}{asked}")


def choose_database(settings: Settings) -> Choice:
    """The database of the settings; that of a running demo where none is named, and none is there."""
    of_demo, path = with_demo_database(settings), database_path(settings)
    demo = running_server(of_demo)
    if path is None and not profile_of(settings.database_profile).idle_queries:
        return Choice(None, settings, UNHEARD)
    if demo is None or path is None or "database_url" in settings.model_fields_set:
        return Choice(None, settings)
    if not path.exists():
        asked = f"the demo at {demo.address}, on {database_name(of_demo)}"
        return Choice(None, of_demo, f"Database {path.absolute()} not found: this asks {asked}.")
    if running_server(settings) is not None:
        return Choice(None, settings)
    asked = f"{demo_setting(settings)} asks the demo at {demo.address}"
    return Choice(None, settings, f"This asks {database_name(settings)}; {asked}.")


def choose_served_database(settings: Settings) -> Choice:
    """The database of the server for which a login link is made: that of the settings, or else the demo's."""
    of_demo, path = with_demo_database(settings), database_path(settings)
    server, demo = running_server(settings), running_server(of_demo)
    if server is not None:
        if demo is None or demo == server:
            return Choice(None, settings)
        other = f"{demo_setting(settings)} makes one for the demo at {demo.address}"
        return Choice(None, settings, f"This link is for {server.address}; {other}.")
    if demo is not None and (path is not None or demo.address == own_address(settings)):
        note = f"This link is for the demo at {demo.address}, on {database_name(of_demo)}."
        return Choice(None, of_demo, note)
    if path is not None:
        raise Unavailable(
            f"No server runs on {database_name(settings)}, and no demo on {database_name(of_demo)}: "
            f"start `cadenza up` here, or {ELSEWHERE}."
        )
    return Choice(None, settings)


def database_name(settings: Settings) -> str:
    """The database of the settings for people; a server's URL is not shown, as it may hold a password."""
    path = database_path(settings)
    return "the database of CADENZA_DATABASE_URL" if path is None else f"the database {path.absolute()}"


def demo_setting(settings: Settings) -> str:
    """What to type before a command that asks the demo."""
    return f"CADENZA_DATABASE_URL={settings.demo_database_url}"


def where_else(settings: Settings) -> str:
    """What to do where there is no database: how to name another, the demo's if there is one."""
    demo = database_path(with_demo_database(settings))
    if demo is None or not demo.exists():
        return ELSEWHERE
    return f"{ELSEWHERE}; {demo_setting(settings)} asks the demo's"


def own_address(settings: Settings) -> str:
    """The URL of the server of the settings, on this machine."""
    return url_of(settings.host, settings.port)


def url_of(host: str, port: int) -> str:
    """The URL under which a listener on this machine is reached from this machine."""
    host = ANY_ADDRESS.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def address(settings: Settings, connection: CliOptions) -> str:
    """The URL of the server that is asked, or that runs or would run on the database."""
    chosen = choose(settings, connection)
    if chosen.server is not None:
        return chosen.server.server.rstrip("/")
    running = running_server(chosen.settings)
    return own_address(settings) if running is None else running.address


def server_time(server: str) -> datetime | None:
    """The time of a server's clock; None if no Cadenza answers."""
    from http.client import HTTPException
    from urllib.request import ProxyHandler, build_opener

    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(f"{server.rstrip('/')}/healthz", timeout=ANSWERS_WITHIN_S) as response:
            return datetime.fromisoformat(json.loads(response.read(LONGEST_ANSWER))["now"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None


def time_there(settings: Settings, connection: CliOptions) -> datetime:
    """The time of the clock by which the command is carried out, which may run faster than the system's."""
    chosen = choose(settings, connection)
    if chosen.server is not None:
        return server_time(chosen.server.server) or SystemClock().now()
    running = running_server(chosen.settings)
    return (SystemClock() if running is None else running.clock).now()


def operator(tenant_id: str, rank: str | None = None) -> Caller:
    """The operator of this machine, who may do everything for any tenant; at a lower rank, if stated."""
    origin = ORIGIN if rank is None else lowered(ORIGIN, Rank[rank.upper()])
    return Caller(tenant_id, frozenset(Scope), origin, surface=Surface.CLI)


@asynccontextmanager
async def open_client(
    settings: Settings, connection: CliOptions, caller: Caller, *, rank: str | None
) -> AsyncIterator[OperationClient]:
    """A client of the server, at a rank, or in the name of the caller of the database; a surprise is told."""
    chosen = choose(settings, connection)
    if chosen.note is not None:
        print_note(chosen.note)
    if chosen.server is not None:
        from cadenza.roots.clients.remote import remote_client

        yield remote_client(chosen.server, rank=rank, surface=caller.surface)
        return
    from cadenza.roots.clients.local import local_client

    async with local_client(chosen.settings, caller, print_note) as local:
        yield local


def print_note(note: str) -> None:
    """Print a sentence for people; programs read standard output."""
    import sys

    if sys.stderr is not None:
        sys.stderr.write(f"cadenza: {note}\n")
