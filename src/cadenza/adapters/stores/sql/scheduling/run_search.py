"""Finding closed runs."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import accumulate, count

from cadenza.adapters.stores.sql.database import Database, Dialect
from cadenza.adapters.stores.sql.large_results import read_rows
from cadenza.adapters.stores.sql.rows import EPOCH, LISTED_RUN_COLUMNS, STATUSES, Read, Row, read_run
from cadenza.domain.planning.health import EndedRun
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.scheduling import EVERY_RUN, RunFilter, RunsFound

AFTER_ALL = "\U0010ffff"
"""Sorts behind every id."""
NEVER = datetime(9999, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)
SCAN, SCATTERED_SCAN = 20_000, 5_000
"""So many runs are read for one answer: rare runs are found page by page, and no page takes long.

Those of one endpoint lie scattered among all others, each in a place of its own.
"""

LONGEST = 1 << 20
"""How long the responses of one answer are together, at most, unless it has one run alone."""
RESPONSE = LISTED_RUN_COLUMNS.index("response")
ENDED = ("finished_at", "status", "duration_ms", "late_ms")
MATCHING = (
    f"SELECT {', '.join(LISTED_RUN_COLUMNS)} FROM runs WHERE tenant_id = $1 AND id < $2 AND id >= $3"
    " AND finished_at >= $4 AND finished_at < $5 AND ($6::text IS NULL OR job_id = $6)"
    " AND ($7::text[] IS NULL OR status = ANY ($7)) AND ($8::text[] IS NULL OR source = ANY ($8))"
)
FIND_RUNS = f"{MATCHING} ORDER BY id DESC LIMIT $9"
FIND_RUNS_OF_ENDPOINT = f"{MATCHING} AND endpoint_id = $10 ORDER BY id DESC LIMIT $9"
ENDED_SINCE = (
    f"SELECT * FROM (SELECT {', '.join(ENDED)} FROM runs WHERE tenant_id = $1 AND endpoint_id = $2"
    " AND finished_at >= $3 ORDER BY id DESC LIMIT $4) AS newest WHERE finished_at >= $5"
)


@lru_cache
def floor(*, of_endpoint: bool, within: bool) -> str:
    """The last run that is read, if there are so many: tenant, before, how many, endpoint, days.

    Without days, the index alone tells. Days leave out the partitions of all others.
    """
    place = count(4)
    return (
        "SELECT id FROM runs WHERE tenant_id = $1 AND id < $2"
        + (f" AND endpoint_id = ${next(place)}" if of_endpoint else "")
        + (f" AND finished_at >= ${next(place)} AND finished_at < ${next(place)}" if within else "")
        + " ORDER BY id DESC LIMIT 1 OFFSET $3::int - 1"
    )


class SqlRunSearch:
    """Closed runs by their columns, newest first."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_runs(
        self, tenant_id: str, *, wanted: RunFilter = EVERY_RUN, page: Page = FIRST_PAGE
    ) -> RunsFound:
        begin = (tenant_id, page.after or AFTER_ALL)
        endpoint = [] if wanted.endpoint_id is None else [wanted.endpoint_id]
        # The floor comes first: runs that are added meanwhile are above it, and none is met twice.
        lowest = await self._floor(begin, wanted) if any(wanted[1:]) else None
        rows = await self._database.read(
            FIND_RUNS_OF_ENDPOINT if endpoint else FIND_RUNS,
            *begin,
            lowest or "",
            wanted.since or EPOCH,
            wanted.until or NEVER,
            wanted.job_id,
            [status.value for status in wanted.statuses] or None,
            [source.value for source in wanted.sources] or None,
            page.limit + 1,
            *endpoint,
        )
        fitting = _fitting(rows)
        runs = await read_rows(fitting, lambda row: read_run(row, self._database.read_moment), text=RESPONSE)
        return _page(runs, page, lowest) if len(fitting) == len(rows) else RunsFound(runs, runs[-1].id)

    async def ended(self, key: EndpointKey, *, since: datetime, limit: int) -> list[EndedRun]:
        # An endpoint's runs never overlap, so they are in the order of their ends.
        day = midnight(since) if self._partitioned else EPOCH
        rows = await self._database.read(ENDED_SINCE, *key, day, limit, since)
        return read_ended(rows, self._database.read_moment)

    async def _floor(self, begin: tuple[str, str], wanted: RunFilter) -> str | None:
        endpoint = [] if wanted.endpoint_id is None else [wanted.endpoint_id]
        span = wanted.since is not None or wanted.until is not None
        days = _days(wanted) if span and self._partitioned else []
        statement = floor(of_endpoint=bool(endpoint), within=bool(days))
        most = SCATTERED_SCAN if endpoint else SCAN
        for row in await self._database.read(statement, *begin, most, *endpoint, *days):
            return str(row[0])
        return None

    @property
    def _partitioned(self) -> bool:
        """PostgreSQL keeps each day's runs in a partition: a search reads those of its days alone.

        On SQLite days would leave nothing out: it would read further back for as many runs.
        """
        return self._database.dialect is Dialect.POSTGRES


def _fitting(rows: Sequence[Row]) -> Sequence[Row]:
    """The first rows whose responses are not too long together, and at least one."""
    lengths = accumulate(len(row[RESPONSE] or "") for row in rows)
    return rows[: max(1, sum(1 for length in lengths if length <= LONGEST))]


def _page(runs: list[Run], page: Page, lowest: str | None) -> RunsFound:
    """An answer from one run more than was asked for, all of them not below the floor of the search."""
    if len(runs) > page.limit:
        return RunsFound(runs[: page.limit], runs[page.limit - 1].id)
    return RunsFound(runs, lowest)


def read_ended(rows: Sequence[Row], read: Read) -> list[EndedRun]:
    """The ends of runs in rows selected as `ENDED`; column by column, as there may be ten thousand."""
    if not rows:
        return []
    finished, statuses, durations, late = zip(*rows, strict=True)
    return list(map(EndedRun, map(read, finished), map(STATUSES.__getitem__, statuses), durations, late))


def _days(wanted: RunFilter) -> list[datetime]:
    """The whole days of a span: those that partitions hold, so that every run in them counts as read."""
    until = NEVER if wanted.until is None else midnight(wanted.until) + DAY
    return [EPOCH if wanted.since is None else midnight(wanted.since), until]


def midnight(moment: datetime) -> datetime:
    """When the day of a moment began, which is where a partition begins."""
    return moment.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
