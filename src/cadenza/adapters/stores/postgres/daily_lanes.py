"""The lanes of daily users on PostgreSQL: advisory locks that end with their session."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from math import ceil
from typing import NamedTuple, TypeAlias

import asyncpg

from cadenza.adapters.stores.postgres.errors import translated
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.domain.daily.rules import lane_count
from cadenza.domain.errors import Unavailable
from cadenza.ports.daily import LaneServer
from cadenza.ports.telemetry import Logger

THE_LANES = 1_684_171_049
"""The class of these advisory locks; any number will do that nobody else takes."""
MEMBERS = 1_000
"""Behind the lanes: every process that serves shares the lock of its `max_concurrency`."""
SEEN = """
SELECT objid::bigint, pid FROM pg_locks
WHERE locktype = 'advisory' AND classid::bigint = $1 AND objsubid = 2 AND granted
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
JOIN = "SELECT pg_try_advisory_lock_shared($1::int, $2::int)"
TAKE = "SELECT lane FROM unnest($2::int[]) AS lane WHERE pg_try_advisory_lock($1::int, lane)"
GIVE = "SELECT pg_advisory_unlock($1::int, lane) FROM unnest($2::int[]) AS lane"
AGAIN_S = 1.0
ANSWERED_S = 5.0

Session: TypeAlias = "asyncpg.Connection[asyncpg.Record]"


class _Seen(NamedTuple):
    """Who serves, and who holds which lane, by the processes of their sessions."""

    members: dict[int, int]
    """The `max_concurrency` of each."""
    holders: dict[int, int]

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int]]) -> "_Seen":
        members: dict[int, int] = {}
        holders: dict[int, int] = {}
        for number, process in rows:
            if number >= MEMBERS:
                members[process] = number - MEMBERS
            else:
                holders[number] = process
        return cls(members, holders)


class PostgresLanes:
    """Holds locks in a session of its own; behind a pooler that hands sessions around, they mean nothing.

    When the session is lost, so are its lanes, and others take them up; this process
    stops serving them as soon as it knows.
    """

    def __init__(
        self, pool: PostgresPool, log: Logger, *, max_concurrency: int, again_s: float = AGAIN_S
    ) -> None:
        self._pool = pool
        self._log = log
        self._most = max_concurrency
        self._of = lane_count(max_concurrency)
        self._again_s = again_s
        self._leaving: set[int] = set()
        self._told: int | None = None
        self._waits = False

    async def hold(self, server: LaneServer) -> None:
        """Hold a fair share until cancelled."""
        while True:
            try:
                await self._held_once(server)
            except Unavailable as problem:
                self._log.warning("the lanes of daily users are out of reach", problem=problem.message)
            await asyncio.sleep(self._again_s)

    async def _held_once(self, server: LaneServer) -> None:
        """One session, from joining to its end; it comes back at once if others serve in another way."""
        with translated(self._pool.address):
            session = await self._pool.connect()
            lost = asyncio.Event()
            session.add_termination_listener(lambda _: lost.set())
            try:
                if await self._joined(session):
                    while not lost.is_set():
                        await self._go_round(session, server)
                        with suppress(TimeoutError):
                            await asyncio.wait_for(lost.wait(), self._again_s)
                    raise Unavailable(f"The connection to {self._pool.address} was lost.")
            finally:
                self._leaving.clear()
                server.serve(())
                session.terminate()

    async def _joined(self, session: Session) -> bool:
        """Serve with the others, unless their `max_concurrency` is another: then nobody could keep to it."""
        await session.fetchval(JOIN, THE_LANES, MEMBERS + self._most, timeout=ANSWERED_S)
        others = set((await self._look(session)).members.values()) - {self._most}
        if others and not self._waits:
            self._log.warning(
                "other processes serve daily users with another CADENZA_MAX_CONCURRENCY; this one waits",
                theirs=min(others),
                ours=self._most,
            )
        self._waits = bool(others)
        return not others

    async def _go_round(self, session: Session, server: LaneServer) -> None:
        """Take what is free up to the fair share, and give away what is above it."""
        seen, me = await self._look(session), session.get_server_pid()
        mine = {lane for lane, holder in seen.holders.items() if holder == me}
        equals = sum(most == self._most for most in seen.members.values())
        fair = ceil(self._of / max(1, equals))
        self._leaving &= mine
        self._rebalance(mine, fair)
        if len(mine) < fair:
            mine |= await self._take(session, seen, fair - len(mine))
        server.serve(mine - self._leaving, self._leaving)
        done = set(server.done_with(self._leaving))
        if done:
            self._leaving -= done
            server.serve(mine - self._leaving - done, self._leaving)
            await self._give(session, done)
        self._tell(len(mine - done))

    def _rebalance(self, mine: set[int], fair: int) -> None:
        """Decide which lanes to leave; one that need not be left any more stays."""
        served = sorted(mine - self._leaving)
        self._leaving.update(served[fair:])
        for lane in sorted(self._leaving)[: max(0, fair - len(served))]:
            self._leaving.discard(lane)

    async def _take(self, session: Session, seen: _Seen, count: int) -> set[int]:
        """So many free lanes; each process begins elsewhere, so that they seldom want the same."""
        begin = session.get_server_pid()
        free = sorted(set(range(self._of)) - set(seen.holders), key=lambda lane: (lane - begin) % self._of)
        rows = await session.fetch(TAKE, THE_LANES, free[:count], timeout=ANSWERED_S) if free else []
        return {row[0] for row in rows}

    async def _give(self, session: Session, done: set[int]) -> None:
        """Give these lanes to whoever takes them."""
        await session.fetch(GIVE, THE_LANES, list(done), timeout=ANSWERED_S)

    async def _look(self, session: Session) -> _Seen:
        rows = await session.fetch(SEEN, THE_LANES, timeout=ANSWERED_S)
        return _Seen.of((row[0], row[1]) for row in rows)

    def _tell(self, held: int) -> None:
        if held != self._told:
            self._told = held
            self._log.info("daily users are shared out", lanes=held, of=self._of)
