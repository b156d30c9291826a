"""The store on one SQLite file."""

from cadenza.adapters.stores.sql.access.keys import SqlKeys
from cadenza.adapters.stores.sql.agents.agent_turns import notified_turn
from cadenza.adapters.stores.sql.agents.turns import notified_user
from cadenza.adapters.stores.sql.database import tenant_with_due
from cadenza.adapters.stores.sql.scheduling.endpoints import EndpointTables
from cadenza.adapters.stores.sql.store import SqlStore
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import SqliteDatabase
from cadenza.adapters.stores.sqlite.endpoints import SqliteEndpoints
from cadenza.adapters.stores.sqlite.planner_feed import SqliteAnalyses
from cadenza.adapters.stores.sqlite.runs import SqliteRuns, SqliteStatistics
from cadenza.adapters.stores.wakeup import TurnWakeups, UserWakeups, Wakeups
from cadenza.ports.ids import Ids


class SqliteStore(SqlStore):
    """Each method is one transaction of the file's single writer, or a read beside it."""

    def __init__(self, file: SqliteFile, ids: Ids) -> None:
        self._file = file
        self._wakeups, self._user_wakeups = Wakeups(), UserWakeups()
        self._turn_wakeups = TurnWakeups()
        database = SqliteDatabase(file, self._notified)
        tables = EndpointTables(database, ids)
        super().__init__(
            database,
            tables,
            endpoints=SqliteEndpoints(
                database, tables, file=file, ids=ids, wakeups=self._wakeups, user_wakeups=self._user_wakeups
            ),
            runs=SqliteRuns(database, file),
            analyses=SqliteAnalyses(database, file),
            statistics=SqliteStatistics(database, file),
            keys=SqlKeys(database, file.data_version),
            listen_for_user=self._user_wakeups.listen,
            listen_for_turn=self._turn_wakeups.listen,
        )

    async def close(self) -> None:
        """Close the file."""
        await self._file.close()

    def _notified(self, notification: str) -> None:
        if (tenant_id := tenant_with_due(notification)) is not None:
            self._wakeups.notify([tenant_id])
        elif (user := notified_user(notification)) is not None:
            self._user_wakeups.notify([user])
        elif (topic := notified_turn(notification)) is not None:
            self._turn_wakeups.notify([topic])
