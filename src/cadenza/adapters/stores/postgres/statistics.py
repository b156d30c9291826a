"""Figures from PostgreSQL."""

from collections.abc import Collection
from datetime import datetime

from cadenza.adapters.stores.postgres import figure_statements as sql
from cadenza.adapters.stores.postgres.analysis_statements import THEMSELVES
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.reading import as_it_is
from cadenza.adapters.stores.postgres.search import midnight
from cadenza.adapters.stores.sql.analysis_rows import read_analysis
from cadenza.adapters.stores.sql.catalog_rows import read_ended
from cadenza.adapters.stores.sql.rows import Row, read_endpoint, read_run
from cadenza.adapters.stores.sql.statistics import read_ahead, read_sat
from cadenza.domain.planning.analysis import Analysis
from cadenza.domain.planning.health import Ended
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.ports.monitoring import Ahead, Mark, Sat, Together


class PostgresFigures:
    """What is ahead, in flight and behind."""

    _pool: PostgresPool

    async def these(self, keys: Collection[EndpointKey]) -> list[Endpoint]:
        rows = await self._pool.ask(THEMSELVES, *_columns(keys))
        return sorted((read_endpoint(row, as_it_is) for row in rows), key=lambda one: one.key)

    async def ahead(self, tenant_id: str, *, until: datetime, limit: int) -> list[Ahead]:
        return [
            read_ahead(row, as_it_is) for row in await self._pool.ask(sql.AHEAD_OF, tenant_id, until, limit)
        ]

    async def in_flight(self, tenant_id: str, most: int) -> int:
        return int((await self._pool.ask(sql.IN_FLIGHT, tenant_id, most))[0][0])

    async def latest(self, tenant_id: str, *, since: datetime, limit: int) -> list[Ended]:
        # Whole days leave out the other partitions, and do not keep the index from telling the order.
        rows = await self._pool.ask(sql.LATEST, tenant_id, midnight(since), limit, since)
        return read_ended(rows, as_it_is)

    async def latest_of(self, keys: Collection[EndpointKey], *, each: int) -> dict[EndpointKey, list[Ended]]:
        found: dict[EndpointKey, list[Row]] = {}
        for row in await self._pool.ask(sql.LATEST_OF, *_columns(keys), each):
            found.setdefault(EndpointKey(row[0], row[1]), []).append(tuple(row)[2:])
        return {key: read_ended(rows, as_it_is) for key, rows in found.items()}

    async def stretch(self, key: EndpointKey, *, since: datetime, until: datetime, limit: int) -> list[Run]:
        rows = await self._pool.ask(sql.STRETCH, *key, since, until, limit)
        return [read_run((*row, None), as_it_is) for row in rows]

    async def sat(
        self, tenant_id: str, *, together: Together, since: datetime, limit: int, most: int
    ) -> list[Sat]:
        rows = await self._pool.ask(sql.SAT[together], tenant_id, since, limit, most)
        return [read_sat(row, as_it_is) for row in rows]

    async def sittings(self, tenant_id: str, *, before: Mark, limit: int) -> list[Analysis]:
        rows = await self._pool.ask(sql.SITTINGS, tenant_id, *before, limit)
        return [read_analysis(row, as_it_is) for row in rows]


def _columns(keys: Collection[EndpointKey]) -> tuple[list[str], list[str]]:
    """Keys as statements about many take them, each once."""
    once = dict.fromkeys(keys)
    return [key.tenant_id for key in once], [key.id for key in once]
