"""Endpoints one at a time, their runs and the history of their hints."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.rows import (
    ENDPOINT_COLUMNS,
    LISTED_RUN_COLUMNS,
    SELECT_ENDPOINT,
    read_endpoint,
    read_hint,
    read_open_run,
    read_run,
)
from cadenza.adapters.stores.sql.scheduling.endpoints import (
    GET,
    GET_LOCKED,
    LOCK_TENANT_SHARED,
    EndpointTables,
)
from cadenza.adapters.stores.sql.scheduling.run_search import SqlRunSearch
from cadenza.domain.access.run_limit import limit_keys
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Claim, Run
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange, HintRecord
from cadenza.ports.catalog import ANY, FIRST_PAGE, Admission, Page
from cadenza.ports.scheduling import EVERY_OPEN_RUN, EndpointWithRuns, OpenRunChange, OpenRunFilter

AFTER_ALL = "\U0010ffff"
"""Sorts behind every id."""
RUN = f"SELECT {', '.join(Run._fields)} FROM runs WHERE tenant_id = $1 AND id = $2"
# By the leases, which are few; the endpoints of a tenant may be many.
OPEN_RUN = (
    f"SELECT {', '.join(ENDPOINT_COLUMNS)} FROM leases l JOIN endpoint_states s ON s.lease_token = l.token"
    " JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id"
    " WHERE s.tenant_id || '' = $1 AND s.run_id = $2"
)
RUNS = (
    f"SELECT {', '.join(LISTED_RUN_COLUMNS)} FROM runs WHERE tenant_id = $1 AND endpoint_id = $2 AND id < $3"
    " ORDER BY id DESC LIMIT $4"
)
HINTS = (
    f"SELECT {', '.join(HintRecord._fields)} FROM hints"
    " WHERE tenant_id = $1 AND endpoint_id = $2 ORDER BY id DESC LIMIT $3 OFFSET $4"
)


TO_CANCEL = (
    "SELECT run_id FROM endpoint_states WHERE lease_token = ANY ($1::text[]) AND cancel_request IS NOT NULL"
)
_OPEN = (
    f"{SELECT_ENDPOINT} WHERE s.tenant_id = $1 AND s.endpoint_id > $2"
    " AND ($4::text IS NULL OR s.endpoint_id = $4) AND ($5::text IS NULL OR e.job_id = $5)"
)
# Each for itself, by an index over the few rows that have it.
WITH_OPEN_RUN = (
    f"SELECT {', '.join(ENDPOINT_COLUMNS)} FROM leases l JOIN endpoint_states s ON s.lease_token = l.token"
    " JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id"
    " WHERE s.tenant_id || '' = $1 AND s.endpoint_id > $2"
    " AND ($4::text IS NULL OR s.endpoint_id = $4) AND ($5::text IS NULL OR e.job_id = $5)"
    " ORDER BY s.endpoint_id LIMIT $3"
)
WITH_REQUESTS = f"{_OPEN} AND s.requested_runs IS NOT NULL ORDER BY s.endpoint_id LIMIT $3"
OF_SLOT = (
    f"SELECT {', '.join(LISTED_RUN_COLUMNS)} FROM runs WHERE tenant_id = $1 AND endpoint_id = $2"
    " AND id >= $3 AND slot = $4 ORDER BY id"
)


AHEAD = f"""
{SELECT_ENDPOINT} WHERE s.next_run_at > $1 AND (s.tenant_id, s.endpoint_id) > ($2, $3)
AND (s.last_run_at > $1 OR s.skipped_at > $1 OR s.last_run_at IS NULL AND s.skipped_at IS NULL)
ORDER BY s.tenant_id, s.endpoint_id LIMIT $4 FOR UPDATE OF s, e
"""


class NeedsCatalogLock(Exception):
    """A change of an endpoint's job, labels, limits or archived flag was decided without a lock.

    Bulk changes and new limits find their endpoints by these columns, under the tenant's exclusive lock:
    without the shared one, they could miss the endpoint. Changes of other columns do not need it.
    """


class SqlEndpoints:
    """Endpoints one at a time; workers claim and settle them by statements of their own database."""

    def __init__(self, database: Database, endpoint_tables: EndpointTables) -> None:
        self._database = database
        self._endpoint_tables = endpoint_tables

    async def add(self, endpoint: Endpoint, admission: Admission = ANY) -> None:
        await self._database.write(partial(self._endpoint_tables.add, endpoint=endpoint, admission=admission))

    async def get(self, key: EndpointKey) -> Endpoint:
        for row in await self._database.read(GET, *key):
            return read_endpoint(row, self._database.read_moment)
        raise not_found("endpoint", key.id)

    async def amend(self, key: EndpointKey, change: EndpointChange) -> ChangedEndpoint:
        work = partial(self._amend, key=key, change=change)
        try:
            return await self._database.write(partial(work, with_shared_lock=False))
        except NeedsCatalogLock:
            return await self._database.write(partial(work, with_shared_lock=True))

    async def amend_ahead(
        self, moment: datetime, change: EndpointChange, *, after: EndpointKey | None, limit: int
    ) -> list[ChangedEndpoint]:
        async def work(connection: Connection) -> list[ChangedEndpoint]:
            rows = await connection.fetch(AHEAD, moment, *(after or ("", "")), limit)
            before = [read_endpoint(row, self._database.read_moment) for row in rows]
            changed = [(one, change(one)) for one in before]
            moved = [pair for pair in changed if pair[1].endpoint != pair[0]]
            await self._endpoint_tables.amend(connection, moved)
            return [after for _, after in changed]

        return await self._database.write(work)

    async def amend_with_open_run(self, key: EndpointKey, change: OpenRunChange) -> ChangedEndpoint:
        async def work(connection: Connection) -> ChangedEndpoint:
            row = await connection.fetchrow(GET_LOCKED, *key)
            if row is None:
                raise not_found("endpoint", key.id)
            read = self._database.read_moment
            before = read_endpoint(row, read)
            amended = change(before, read_open_run(row, read))
            (amended,) = await self._endpoint_tables.amend(connection, [(before, amended)])
            return amended

        return await self._database.write(work)

    async def to_cancel(self, claims: Sequence[Claim]) -> set[str]:
        tokens = list({claim.token for claim in claims})
        asked = {row[0] for row in await self._database.read(TO_CANCEL, tokens)} if tokens else set()
        return asked & {claim.run_id for claim in claims}

    async def _amend(
        self, connection: Connection, key: EndpointKey, *, change: EndpointChange, with_shared_lock: bool
    ) -> ChangedEndpoint:
        if with_shared_lock:
            await connection.fetch(LOCK_TENANT_SHARED, key.tenant_id)
        row = await connection.fetchrow(GET_LOCKED, *key)
        if row is None:
            raise not_found("endpoint", key.id)
        before = read_endpoint(row, self._database.read_moment)
        amended = change(before)
        if not with_shared_lock and _filter_columns(amended.endpoint) != _filter_columns(before):
            raise NeedsCatalogLock
        (amended,) = await self._endpoint_tables.amend(connection, [(before, amended)])
        return amended


class SqlRuns(SqlRunSearch):
    """Runs and the history of hints."""

    async def run(self, tenant_id: str, run_id: str) -> Run:
        # In this order, because it may be closed in between.
        for row in await self._database.read(OPEN_RUN, tenant_id, run_id):
            open_run = read_open_run(row, self._database.read_moment)
            if open_run is not None:
                return open_run
        for row in await self._database.read(RUN, tenant_id, run_id):
            return read_run(row, self._database.read_moment)
        raise not_found("run", run_id)

    async def runs(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[Run]:
        read = self._database.read_moment
        rows = await self._database.read(GET, *key)
        open_run = read_open_run(rows[0], read) if rows else None
        found = await self._database.read(RUNS, *key, page.after or AFTER_ALL, page.limit)
        closed = [read_run(row, read) for row in found]
        if open_run is None or (page.after is not None and open_run.id >= page.after):
            return closed
        return [open_run, *(run for run in closed if run.id != open_run.id)][: page.limit]

    async def open_runs(
        self, tenant_id: str, *, wanted: OpenRunFilter = EVERY_OPEN_RUN, page: Page = FIRST_PAGE
    ) -> list[EndpointWithRuns]:
        read, found = self._database.read_moment, dict[str, EndpointWithRuns]()
        for statement in (WITH_OPEN_RUN, WITH_REQUESTS):
            rows = await self._database.read(statement, tenant_id, page.after or "", page.limit, *wanted)
            for row in rows:
                endpoint = read_endpoint(row, read)
                found[endpoint.id] = EndpointWithRuns(endpoint, read_open_run(row, read))
        return [found[id_] for id_ in sorted(found)][: page.limit]

    async def runs_of_slot(self, run: Run) -> list[Run]:
        rows = await self._database.read(OF_SLOT, run.tenant_id, run.endpoint_id, run.id, run.slot)
        return [read_run(row, self._database.read_moment) for row in rows]

    async def hints(self, key: EndpointKey, page: Page = FIRST_PAGE) -> list[HintRecord]:
        rows = await self._database.read(HINTS, *key, page.limit, int(page.after or 0))
        return [read_hint(row, self._database.read_moment) for row in rows]


def _filter_columns(endpoint: Endpoint) -> tuple[object, ...]:
    """The columns that bulk changes and limits filter by."""
    return (endpoint.job_id, endpoint.labels, endpoint.archived, limit_keys(endpoint))
