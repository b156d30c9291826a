"""What is due under limits or with a priority: which of it may be claimed now, counted exactly.

The limits that something due is under are locked first, and counted by later statements, which see all
that was committed before: so no two claims count the same place. A claim that finds a limit locked passes it
by; nothing here waits. A place is taken by the lease of a run and by nothing else, so it is free when that is
settled or swept.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from cadenza.adapters.stores.common import Share, in_turns, read_limited_by, summed_uses
from cadenza.adapters.stores.sql.access.limit_rows import LIMIT, parts_of, read_limit
from cadenza.adapters.stores.sql.database import Connection, Dialect
from cadenza.adapters.stores.sql.given_rows import columns_of, parameter_table
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.access.places import ClaimShares
from cadenza.domain.access.run_limit import (
    WINDOW,
    LimitUse,
    RunLimit,
    StartedRuns,
    WaitingEndpoint,
    admit,
    held_back_by,
    room,
)
from cadenza.domain.scheduling.abandon import LIMITED
from cadenza.domain.scheduling.endpoint import EndpointKey

LimitPath = tuple[str, str]
"""A tenant, and the key of one of its limits."""
GROUP = ("requirement", "tenant_id", "limited_by", "priority")
OF_GROUP = " AND ".join(f"s.{column} = g.{column}" for column in GROUP)
NEXT_GROUP = f"""
SELECT {", ".join(f"s.{column}" for column in GROUP)}, s.claimable_at FROM endpoint_states s
WHERE s.requirement = {{0}} AND s.claimable_at IS NOT NULL AND s.limited_by IS NOT NULL
AND (s.tenant_id, s.limited_by, s.priority) > ({{1}}, {{2}}, {{3}})
ORDER BY s.tenant_id, s.limited_by, s.priority, s.claimable_at LIMIT 1
"""
GROUPS = {
    Dialect.POSTGRES: f"""
WITH RECURSIVE groups AS (
    SELECT n.* FROM unnest($1::text[]) AS can (requirement),
        LATERAL ({NEXT_GROUP.format("can.requirement", "''", "''", "-1000")}) AS n
    UNION ALL
    SELECT n.* FROM groups g,
        LATERAL ({NEXT_GROUP.format("g.requirement", "g.tenant_id", "g.limited_by", "g.priority")}) AS n
)
SELECT * FROM groups WHERE claimable_at <= $2
""",
    Dialect.SQLITE: NEXT_GROUP.format("$1", "$2", "$3", "$4"),
}
"""What is due with the same limits and priority, found by jumping through the index. SQLite, which has no
LATERAL, is asked for one after the other: that takes no round trip."""
PLAIN_DUE = (
    "SELECT 1 FROM endpoint_states WHERE requirement = $1 AND tenant_id = $2 AND claimable_at <= $3 LIMIT 1"
)
KEYS = parameter_table("k", "tenant_id", "kind", "name")
OF_KEY = "l.tenant_id = k.tenant_id AND l.kind = k.kind AND l.name = k.name"
LOCK = f"""
SELECT {", ".join(f"l.{column}" for column in LIMIT)} FROM {KEYS} JOIN run_limits l ON {OF_KEY}
ORDER BY l.tenant_id, l.kind, l.name FOR UPDATE OF l SKIP LOCKED
"""
IN_FLIGHT = """
SELECT tenant_id, limited_by, count(*) FROM endpoint_states
WHERE tenant_id = ANY ($1::text[]) AND lease_token IS NOT NULL AND limited_by > ''
GROUP BY tenant_id, limited_by
"""
STARTED = f"""
SELECT l.tenant_id, l.kind, l.name, l.at, l.runs FROM {KEYS} JOIN limit_starts l ON {OF_KEY}
WHERE l.at > $4 ORDER BY l.at
"""
CANDIDATE = ("tenant_id", "endpoint_id", "limited_by", "priority", "claimable_at", "rank")
CANDIDATES = {
    Dialect.POSTGRES: f"""
SELECT c.* FROM {parameter_table("g", *GROUP, "most", first=2)}, LATERAL (
    SELECT {", ".join(f"s.{column}" for column in CANDIDATE)} FROM endpoint_states s
    WHERE {OF_GROUP} AND s.claimable_at <= $1 ORDER BY s.claimable_at, s.rank LIMIT g.most{{lock}}
) AS c
""",
    Dialect.SQLITE: (
        f"SELECT {', '.join(CANDIDATE)}, rowid, version, run_id FROM endpoint_states WHERE requirement = $2"
        " AND tenant_id = $3 AND limited_by = $4 AND priority = $5 AND claimable_at <= $1"
        " ORDER BY claimable_at, rank LIMIT $6"
    ),
}
"""The soonest of groups; SQLite is asked for one group after the other."""
ADD_STARTED = "INSERT INTO limit_starts (tenant_id, kind, name, id, at, runs) VALUES ($1, $2, $3, $4, $5, $6)"
DROP_STARTED = "DELETE FROM limit_starts WHERE tenant_id = $1 AND kind = $2 AND name = $3 AND at <= $4"
HOLD = "UPDATE run_limits SET held_since = $4 WHERE tenant_id = $1 AND kind = $2 AND name = $3"


class LimitedRequest(NamedTuple):
    """What may be claimed, how much of it, and when; and whether the rows are locked as they are read."""

    requirements: Collection[str]
    now: datetime
    shares: ClaimShares
    locks_rows: bool = True


class DueGroup(NamedTuple):
    """Endpoints that are due with the same limits and priority."""

    requirement: str
    tenant_id: str
    limited_by: str
    priority: int

    @property
    def paths(self) -> list[LimitPath]:
        """The limits that all of them are under."""
        return [(self.tenant_id, key) for key in read_limited_by(self.limited_by)]


class ChosenEndpoints(NamedTuple):
    """What may be claimed, in order; and what its claim is to write down."""

    waiting: Sequence[WaitingEndpoint]
    rows: Mapping[EndpointKey, Row]
    """The rows `CANDIDATE` of these, and what the database has behind it."""
    limits: Mapping[LimitPath, RunLimit]
    """Those that are locked."""
    held_by: frozenset[LimitPath]

    def held_back_by(self, one: WaitingEndpoint, now: datetime) -> str | None:
        """The limit that made it late."""
        of_tenant = {key: self.limits[one.key.tenant_id, key] for key in one.limited_by}
        return held_back_by(one, of_tenant, now)


class LimitedChoice:
    """Chooses what may be claimed, in the transaction of the caller."""

    def __init__(self, connection: Connection, dialect: Dialect, read: Read) -> None:
        self._connection = connection
        self._dialect = dialect
        self._read = read

    async def choose(self, wanted: LimitedRequest) -> ChosenEndpoints:
        """Lock the limits of what is due, count what they allow, and choose.

        1. Every tenant has its turn; within one the higher priority comes first, then what was due sooner.
        2. What has a priority below 0 waits while something of its tenant is due that has none.
        3. What a limit holds back stays due, and hides nothing that is under other limits.
        """
        groups = await self._groups(wanted)
        limits = await self._lock(sorted({path for group in groups for path in group.paths}))
        rooms = {path: room(use, wanted.now) for path, use in (await self._uses(limits, wanted.now)).items()}
        rows = await self._candidates(groups, rooms, wanted)
        return self._chosen(groups, rooms, rows, limits, wanted)

    async def record(
        self, chosen: ChosenEndpoints, claimed: Collection[EndpointKey], *, now: datetime, id_: str
    ) -> None:
        """Write down what began under limits of a minute, and which limits hold back, if that changed."""
        runs: dict[LimitPath, int] = defaultdict(int)
        for one in chosen.waiting:
            if one.key in claimed:
                for key in one.limited_by:
                    runs[one.key.tenant_id, key] += 1
        for path, limit in chosen.limits.items():
            of_limit = (limit.tenant_id, limit.kind.value, limit.name)
            if limit.max_per_minute is not None and runs[path]:
                await self._connection.execute(DROP_STARTED, *of_limit, now - WINDOW)
                await self._connection.execute(ADD_STARTED, *of_limit, id_, now, runs[path])
            if (path in chosen.held_by) is (limit.held_since is None):
                await self._connection.execute(HOLD, *of_limit, now if path in chosen.held_by else None)

    async def _groups(self, wanted: LimitedRequest) -> list[DueGroup]:
        return [
            group
            for group in await self._due_groups(wanted)
            if wanted.shares.bounds.get(group.tenant_id, 1) and not await self._gives_way(group, wanted.now)
        ]

    async def _due_groups(self, wanted: LimitedRequest) -> list[DueGroup]:
        requirements, statement = sorted(wanted.requirements), GROUPS[self._dialect]
        if self._dialect is Dialect.POSTGRES:
            rows = await self._connection.fetch(statement, requirements, wanted.now)
            return [DueGroup(*list(row)[:-1]) for row in rows]
        found = []
        for requirement in requirements:
            last = DueGroup(requirement, "", "", -1_000)
            while (row := await self._connection.fetchrow(statement, *last)) is not None:
                last = DueGroup(*list(row)[:-1])
                if self._read(row[-1]) <= wanted.now:
                    found.append(last)
        return found

    async def _gives_way(self, group: DueGroup, now: datetime) -> bool:
        if group.priority >= 0 or not group.requirement.startswith(LIMITED):
            return False
        plain = group.requirement.removeprefix(LIMITED)
        return bool(await self._connection.fetch(PLAIN_DUE, plain, group.tenant_id, now))

    async def _lock(self, paths: Sequence[LimitPath]) -> dict[LimitPath, RunLimit]:
        if not paths:
            return {}
        rows = await self._connection.fetch(LOCK, *columns_of(_keys(paths)))
        locked = [read_limit(row, self._read) for row in rows]
        return {(limit.tenant_id, limit.key): limit for limit in locked}

    async def _uses(self, limits: Mapping[LimitPath, RunLimit], now: datetime) -> dict[LimitPath, LimitUse]:
        """How much of the locked limits is in use, as of statements that began after they were locked."""
        in_flight: dict[str, list[tuple[tuple[str, ...], int]]] = defaultdict(list)
        started: dict[str, dict[str, list[StartedRuns]]] = defaultdict(lambda: defaultdict(list))
        if any(limit.max_in_flight is not None for limit in limits.values()):
            tenants = sorted({tenant_id for tenant_id, _ in limits})
            for tenant_id, keys, runs in await self._connection.fetch(IN_FLIGHT, tenants):
                in_flight[tenant_id].append((read_limited_by(keys), runs))
        if paced := [path for path, limit in limits.items() if limit.max_per_minute is not None]:
            rows = await self._connection.fetch(STARTED, *columns_of(_keys(paced)), now - WINDOW)
            for tenant_id, kind, name, at, runs in rows:
                started[tenant_id][f"{kind}:{name}"].append(StartedRuns(self._read(at), runs))
        return {
            (tenant_id, use.limit.key): use
            for tenant_id, of_tenant in groupby(limits.values(), lambda limit: limit.tenant_id)
            for use in summed_uses(
                of_tenant, in_flight=in_flight[tenant_id], waiting=(), started=started[tenant_id]
            )
        }

    async def _candidates(
        self, groups: Iterable[DueGroup], rooms: Mapping[LimitPath, int], wanted: LimitedRequest
    ) -> list[Row]:
        """The soonest of each group that has room: one more than that, to see what is held back."""
        room_of = {group: min((rooms.get(path, 0) for path in group.paths), default=MOST) for group in groups}
        given = [(*group, min(left, wanted.shares.limit) + 1) for group, left in room_of.items() if left > 0]
        if not given:
            return []
        statement = CANDIDATES[self._dialect]
        if self._dialect is Dialect.POSTGRES:
            lock = " FOR UPDATE SKIP LOCKED" if wanted.locks_rows else ""
            statement = statement.format(lock=lock)
            return list(await self._connection.fetch(statement, wanted.now, *columns_of(given)))
        return [row for one in given for row in await self._connection.fetch(statement, wanted.now, *one)]

    def _chosen(
        self,
        groups: Iterable[DueGroup],
        rooms: Mapping[LimitPath, int],
        rows: Sequence[Row],
        limits: Mapping[LimitPath, RunLimit],
        wanted: LimitedRequest,
    ) -> ChosenEndpoints:
        by_key = {EndpointKey(row[0], row[1]): row for row in rows}
        held_by = {path for group in groups for path in group.paths if rooms.get(path) == 0}
        shares: list[Share[WaitingEndpoint]] = []
        waiting = sorted((self._waiting(row) for row in rows), key=_tenant_of)
        for tenant_id, of_tenant in groupby(waiting, _tenant_of):
            left = {key: count for (tenant, key), count in rooms.items() if tenant == tenant_id}
            bound = wanted.shares.bounds.get(tenant_id, wanted.shares.limit)
            admitted = admit(of_tenant, left, min(bound, wanted.shares.limit))
            held_by |= {(tenant_id, key) for key in admitted.held_by}
            shares.append(Share(tenant_id, admitted.taken))
        taken = in_turns(shares, wanted.shares, lambda one: (one.due_at, one.rank))
        return ChosenEndpoints(taken, by_key, limits, frozenset(held_by))

    def _waiting(self, row: Row) -> WaitingEndpoint:
        tenant_id, endpoint_id, limited_by, priority, due_at, rank = list(row)[: len(CANDIDATE)]
        key = EndpointKey(tenant_id, endpoint_id)
        return WaitingEndpoint(key, read_limited_by(limited_by), priority, self._read(due_at), rank)


MOST = 2**31 - 2


def _keys(paths: Iterable[LimitPath]) -> list[tuple[str, str, str]]:
    return [(tenant_id, *parts_of(key)) for tenant_id, key in paths]


def _tenant_of(one: WaitingEndpoint) -> str:
    return one.key.tenant_id
