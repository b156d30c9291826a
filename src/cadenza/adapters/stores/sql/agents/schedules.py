"""The schedules of users: endpoints with a prompt as target."""

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.agents.users_agents import LOCK_USER
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.rows import ENDPOINT_COLUMNS, read_endpoint
from cadenza.adapters.stores.sql.scheduling.endpoints import GET, LOCK_TENANT_SHARED, EndpointTables
from cadenza.domain.agents.users import UserKey
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.ports.agents import ChooseSchedule
from cadenza.ports.catalog import FIRST_PAGE, Page

ALL = 2**31
LIST = f"""
SELECT {", ".join(ENDPOINT_COLUMNS)} FROM endpoints e
JOIN endpoint_states s ON s.tenant_id = e.tenant_id AND s.endpoint_id = e.id
WHERE e.tenant_id = $1 AND e.user_id = $2 AND e.id > $3 AND NOT s.archived
    AND (NOT $4 OR (s.enabled AND s.next_run_at IS NOT NULL))
ORDER BY e.id LIMIT $5
"""


class SqlSchedules:
    """Schedules that agents made for users."""

    def __init__(self, database: Database, endpoint_tables: EndpointTables) -> None:
        self._database = database
        self._endpoint_tables = endpoint_tables

    async def add_schedule(self, user: UserKey, decide: ChooseSchedule) -> Endpoint:
        async def work(connection: Connection) -> Endpoint:
            await connection.fetch(LOCK_TENANT_SHARED, user.tenant_id)
            if not await connection.fetch(LOCK_USER, *user):
                raise not_found("user", user.id)
            active = {one.key: one for one in await self._active(connection, user)}
            decided = decide(list(active.values()))
            if decided.key in active:
                return active[decided.key]
            await self._endpoint_tables.add(connection, decided)
            row = await connection.fetchrow(GET, *decided.key)
            assert row is not None, "it was just added"
            return read_endpoint(row, self._database.read_moment)

        return await self._database.write(work)

    async def schedules(
        self, user: UserKey, *, active_only: bool = True, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        rows = await self._database.read(LIST, *user, page.after or "", active_only, page.limit)
        return [read_endpoint(row, self._database.read_moment) for row in rows]

    async def _active(self, connection: Connection, user: UserKey) -> list[Endpoint]:
        active_only = True
        rows = await connection.fetch(LIST, *user, "", active_only, ALL)
        return [read_endpoint(row, self._database.read_moment) for row in rows]
