"""The lanes of daily users on PostgreSQL: advisory locks that end with their session."""

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from math import ceil
from typing import Any, NamedTuple, Protocol, TypeAlias
from zlib import crc32

import asyncpg

from cadenza.adapters.stores.postgres.errors import translated_errors
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.domain.daily.rules import lane_count
from cadenza.domain.errors import Unavailable
from cadenza.domain.monitoring.outage import Outage
from cadenza.ports.daily import LaneServer
from cadenza.ports.telemetry import Logger

LOCK_CLASS = 1_684_171_049
"""The class of these advisory locks; any number that is not used for other locks."""
FIRST_MEMBER = 1_000
"""Numbers from here on are not lanes: every process shares the lock of its `max_concurrency`."""
LOCKS = """
SELECT objid::bigint, pid FROM pg_locks
WHERE locktype = 'advisory' AND classid::bigint = $1 AND objsubid = 2 AND granted
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
JOIN = "SELECT pg_try_advisory_lock_shared($1::int, $2::int)"
TAKE = "SELECT lane FROM unnest($2::int[]) AS lane WHERE pg_try_advisory_lock($1::int, lane)"
RELEASE = "SELECT pg_advisory_unlock($1::int, lane) FROM unnest($2::int[]) AS lane"
SERVED_CLASS = LOCK_CLASS + 1
"""The class of the lock that all processes with a daily target share, and that a stand-in has alone."""
SHARE_SERVED = "SELECT pg_advisory_lock_shared($1::int, 0)"
TAKE_SERVED = "SELECT pg_try_advisory_lock($1::int, 0)"
WANTED = """
SELECT EXISTS (SELECT FROM pg_locks
WHERE locktype = 'advisory' AND classid::bigint = $1 AND objsubid = 2 AND NOT granted
AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))
"""
RETRY_S = 1.0
COMMAND_TIMEOUT_S = 5.0

Session: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


class LaneHolders(NamedTuple):
    """Which processes take part, and which holds each lane."""

    members: dict[int | str, int]
    """The `max_concurrency` of each."""
    holders: dict[int, int | str]

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int | str]]) -> "LaneHolders":
        members: dict[int | str, int] = {}
        holders: dict[int, int | str] = {}
        for number, process in rows:
            if number >= FIRST_MEMBER:
                members[process] = number - FIRST_MEMBER
            else:
                holders[number] = process
        return cls(members, holders)


class LaneLocks(Protocol):
    """The locks of one process on lanes, until they are lost."""

    me: int | str
    lost: asyncio.Event

    async def join(self, most: int) -> None:
        """Take part; waits a while for a stand-in to make way."""
        ...

    async def all_held(self) -> LaneHolders:
        """Who holds what."""
        ...

    async def take(self, lanes: list[int]) -> set[int]:
        """Take those of these that are free."""
        ...

    async def release(self, lanes: list[int]) -> None:
        """Release these."""
        ...


class SessionLocks:
    """Advisory locks of a session."""

    def __init__(self, session: Session) -> None:
        self.me: int | str = session.get_server_pid()
        self.lost = asyncio.Event()
        self._session = session
        session.add_termination_listener(lambda _: self.lost.set())

    async def join(self, most: int) -> None:
        await self._session.fetchval(SHARE_SERVED, SERVED_CLASS, timeout=COMMAND_TIMEOUT_S)
        await self._session.fetchval(JOIN, LOCK_CLASS, FIRST_MEMBER + most, timeout=COMMAND_TIMEOUT_S)

    async def all_held(self) -> LaneHolders:
        rows = await self._session.fetch(LOCKS, LOCK_CLASS, timeout=COMMAND_TIMEOUT_S)
        return LaneHolders.of((row[0], row[1]) for row in rows)

    async def take(self, lanes: list[int]) -> set[int]:
        rows = await self._session.fetch(TAKE, LOCK_CLASS, lanes, timeout=COMMAND_TIMEOUT_S)
        return {row[0] for row in rows}

    async def release(self, lanes: list[int]) -> None:
        await self._session.fetch(RELEASE, LOCK_CLASS, lanes, timeout=COMMAND_TIMEOUT_S)


class PostgresLanes:
    """Holds locks in a session of its own; it does not work behind a pooler in transaction mode.

    When the session is lost, so are its lanes, and other processes take them; this process stops
    serving them as soon as it notices.
    """

    def __init__(
        self, pool: PostgresPool, log: Logger, *, max_concurrency: int, retry_s: float = RETRY_S
    ) -> None:
        self._pool = pool
        self._log = log
        self._most = max_concurrency
        self._of = lane_count(max_concurrency)
        self._retry_s = retry_s
        self._leaving: set[int] = set()
        self._logged: int | None = None
        self._conflict_logged = False
        self._outage = Outage()

    async def hold(self, server: LaneServer) -> None:
        """Hold a fair share until cancelled."""
        while True:
            try:
                with translated_errors(self._pool.address):
                    await self._hold_once(server)
            except Unavailable as problem:
                persists = self._outage.failed(asyncio.get_running_loop().time()) is not None
                log = self._log.warning if persists else self._log.debug
                log("the lanes of daily users are not available", part="daily-lanes", problem=problem.message)
            await self._sleep(self._retry_s)

    async def _sleep(self, span_s: float) -> None:
        await asyncio.sleep(span_s)

    async def _hold_once(self, server: LaneServer) -> None:
        """One session, from joining to its end; returns at once if other settings are in use."""
        session = await self._pool.connect()
        try:
            await self._hold_locks(SessionLocks(session), server)
        finally:
            session.terminate()

    async def _hold_locks(self, locks: LaneLocks, server: LaneServer) -> None:
        try:
            if await self._join(locks):
                while not locks.lost.is_set():
                    await self._take_share(locks, server)
                    await self._wait(locks)
                raise Unavailable(f"The connection to {self._pool.address} was lost.")
        finally:
            self._leaving.clear()
            server.serve(())

    async def _wait(self, locks: LaneLocks) -> None:
        """Wait until it is time to look again, or the locks are lost."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._retry_s):
                await locks.lost.wait()

    async def _join(self, locks: LaneLocks) -> bool:
        """Take part, unless other processes have another `max_concurrency`, with which lanes would differ."""
        await locks.join(self._most)
        others = set((await locks.all_held()).members.values()) - {self._most}
        if others and not self._conflict_logged:
            self._log.warning(
                "other processes serve daily users with another CADENZA_MAX_CONCURRENCY; this one waits",
                theirs=min(others),
                ours=self._most,
            )
        self._conflict_logged = bool(others)
        return not others

    async def _take_share(self, locks: LaneLocks, server: LaneServer) -> None:
        """Take free lanes up to the fair share, and release those above it."""
        held = await locks.all_held()
        mine = {lane for lane, holder in held.holders.items() if holder == locks.me}
        equals = sum(most == self._most for most in held.members.values())
        fair = ceil(self._of / max(1, equals))
        self._leaving &= mine
        self._choose_leaving(mine, fair)
        if len(mine) < fair:
            mine |= await self._take(locks, held, fair - len(mine))
        server.serve(mine - self._leaving, self._leaving)
        done = set(server.done_with(self._leaving))
        if done:
            self._leaving -= done
            server.serve(mine - self._leaving - done, self._leaving)
            await locks.release(sorted(done))
        self._log_share(len(mine - done))
        self._note_available()

    def _note_available(self) -> None:
        if self._outage.succeeded(asyncio.get_running_loop().time()) is not None:
            self._log.info("the lanes of daily users are available again", part="daily-lanes")

    def _choose_leaving(self, mine: set[int], fair: int) -> None:
        """Choose the lanes to release; one that need not be released any more stays."""
        served = sorted(mine - self._leaving)
        self._leaving.update(served[fair:])
        for lane in sorted(self._leaving)[: max(0, fair - len(served))]:
            self._leaving.discard(lane)

    async def _take(self, locks: LaneLocks, held: LaneHolders, count: int) -> set[int]:
        """Take so many free lanes; each process begins elsewhere, so that they seldom want the same."""
        begin = locks.me if isinstance(locks.me, int) else crc32(locks.me.encode())
        free = sorted(set(range(self._of)) - set(held.holders), key=lambda lane: (lane - begin) % self._of)
        return await locks.take(free[:count]) if free else set()

    def _log_share(self, held: int) -> None:
        if held != self._logged:
            self._logged = held
            self._log.info("this process's share of the daily users changed", lanes=held, of=self._of)


class StandInLanes(PostgresLanes):
    """Serves all lanes while no process with a daily target serves any, and makes way when one comes.

    It is for a process without a target: days are cut off all the same, and nobody whom
    another process can serve is kept from it. Of several stand-ins, one serves.
    """

    async def _hold_once(self, server: LaneServer) -> None:
        session = await self._pool.connect()
        try:
            taken = await session.fetchval(TAKE_SERVED, SERVED_CLASS, timeout=COMMAND_TIMEOUT_S)
            await self._serve_if(taken, self._until_wanted(session), server)
        finally:
            session.terminate()

    async def _serve_if(self, taken: object, wanted: Coroutine[Any, Any, None], server: LaneServer) -> None:
        """Serve everything, if the lock was taken, until another process wants it."""
        self._note_available()
        self._log_share(self._of if taken else 0)
        try:
            if taken:
                server.serve(range(self._of))
                await wanted
        finally:
            wanted.close()
            server.serve(())

    async def _until_wanted(self, session: Session) -> None:
        """Return when a process with a target waits for the lock."""
        while not await session.fetchval(WANTED, SERVED_CLASS, timeout=COMMAND_TIMEOUT_S):  # noqa: ASYNC110 - A lock tells nobody who waits for it.
            await asyncio.sleep(self._retry_s)
