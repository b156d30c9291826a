"""Finds the server that a URL asks for, and connects to it."""

import socket
from typing import Any

import asyncpg

from cadenza.adapters.stores.postgres.connections.session_settings import (
    PROBE_S,
    PROBES,
    SILENCE_S,
    watch_client,
)
from cadenza.adapters.stores.postgres.errors import TAKES_CHANGES, DatabaseAddress

APPLICATION = "cadenza"
"""What sessions call themselves, unless the URL says otherwise: so an operator, and a move, sees them."""
CONNECT_TIMEOUT_S = 10
SOCKET_OPTIONS = {
    "TCP_KEEPIDLE": PROBE_S,
    "TCP_KEEPINTVL": PROBE_S,
    "TCP_KEEPCNT": PROBES,
    "TCP_USER_TIMEOUT": SILENCE_S * 1_000,
}
NEXT_SERVER = (OSError, asyncpg.CannotConnectNowError, asyncpg.TargetServerAttributeNotMatched)
"""Why another server of the URL is tried; a refused password is refused everywhere."""


class ServerConnector:
    """Connects to the servers of one URL, and remembers which of them was good."""

    def __init__(self, url: str, address: DatabaseAddress, *, keeps_sessions: bool = True) -> None:
        self.connections_made = 0
        """Each may lead to a server that has another history than the last one."""
        self._wants = address.wants or TAKES_CHANGES
        self._hosts = list(address.hosts)
        self._keeps_sessions = keeps_sessions
        """Whether settings may be left in a session: not behind a pooler, which has a client of its own."""
        self._server_settings = {} if "application_name" in url else {"application_name": APPLICATION}

    async def connect(self, dsn: str | None = None, **options: Any) -> "asyncpg.Connection[asyncpg.Record]":
        """A connection that either machine ends when the other is silent."""
        if self._server_settings:
            options["server_settings"] = self._server_settings
        connection: asyncpg.Connection[asyncpg.Record]
        if len(self._hosts) > 1:
            connection = await self._connect_to_one(dsn, **options)
        else:
            connection = await asyncpg.connect(dsn, timeout=CONNECT_TIMEOUT_S, **options)
        _watch_silence(connection)
        if self._keeps_sessions:
            await watch_client(connection)
        self.connections_made += 1
        return connection

    async def _connect_to_one(self, dsn: str | None, **options: Any) -> "asyncpg.Connection[asyncpg.Record]":
        """A connection to the first of several servers that is what the URL asks for.

        The last good one is tried first. Each has a share of the time, so that a dead one does not use it up.
        """
        options |= {"target_session_attrs": self._wants, "timeout": CONNECT_TIMEOUT_S / len(self._hosts)}
        failures: list[Exception] = []
        for host in tuple(self._hosts):
            try:
                connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
                    dsn, host=host.name, port=host.port, **options
                )
            except NEXT_SERVER as problem:
                failures.append(problem)
            else:
                self._hosts.sort(key=lambda one: one != host)
                return connection
        # What a server said tells more than that another one is not there.
        raise min(failures, key=lambda problem: isinstance(problem, OSError))


def _watch_silence(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Let the kernel end the connection when what was sent, or a probe, is not acknowledged for a while.

    A machine that lost its power or its network says nothing; by default, Linux waits for 15 minutes.
    """
    used = connection._transport.get_extra_info("socket")  # type: ignore[attr-defined] # noqa: SLF001 - asyncpg has no option for it.
    if used is None or used.family == socket.AF_UNIX:
        return
    used.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in SOCKET_OPTIONS.items():
        if hasattr(socket, name):  # Not every system has all of them.
            used.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
