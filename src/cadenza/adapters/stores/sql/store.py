"""The small stores that both databases share."""

from collections.abc import Callable

from cadenza.adapters.stores.sql.access.audit import SqlAudit
from cadenza.adapters.stores.sql.access.idempotency import SqlRates, SqlReplies
from cadenza.adapters.stores.sql.access.limits import SqlLimits
from cadenza.adapters.stores.sql.access.sessions import SqlSessions
from cadenza.adapters.stores.sql.access.tenants import SqlTenants
from cadenza.adapters.stores.sql.agents.agent_turns import Listen, SqlAgentTurns
from cadenza.adapters.stores.sql.agents.conversations import SqlConversations
from cadenza.adapters.stores.sql.agents.deliveries import SqlDeliveries
from cadenza.adapters.stores.sql.agents.schedules import SqlSchedules
from cadenza.adapters.stores.sql.agents.user_channels import SqlChannels
from cadenza.adapters.stores.sql.agents.users_agents import SqlAgents, SqlUsers
from cadenza.adapters.stores.sql.daily.programmes import SqlProgrammes
from cadenza.adapters.stores.sql.daily.statistics import SqlDailyStatistics
from cadenza.adapters.stores.sql.daily.users import SqlDaily
from cadenza.adapters.stores.sql.database import Database
from cadenza.adapters.stores.sql.monitoring.alert_messages import SqlAlertMessages
from cadenza.adapters.stores.sql.monitoring.alert_routes import SqlAlertRoutes
from cadenza.adapters.stores.sql.monitoring.conditions import SqlConditions
from cadenza.adapters.stores.sql.monitoring.health import SqlHealth
from cadenza.adapters.stores.sql.monitoring.heartbeats import SqlHeartbeats
from cadenza.adapters.stores.sql.monitoring.slo_alerts import SqlAlerts, SqlSlos
from cadenza.adapters.stores.sql.planning.rules import SqlRules
from cadenza.adapters.stores.sql.scheduling.calendars import SqlCalendars
from cadenza.adapters.stores.sql.scheduling.catalog import SqlCatalog
from cadenza.adapters.stores.sql.scheduling.endpoints import EndpointTables
from cadenza.adapters.stores.sql.scheduling.functions import SqlFunctions
from cadenza.domain.agents.users import UserKey
from cadenza.ports.access import KeyStore
from cadenza.ports.agents import Callback
from cadenza.ports.monitoring import StatisticsStore
from cadenza.ports.planning import AnalysisStore
from cadenza.ports.scheduling import EndpointStore, RunStore
from cadenza.ports.store import Store


class SqlStore(Store):
    """A bundle on one database, which brings the stores that it has statements of its own for."""

    def __init__(
        self,
        database: Database,
        tables: EndpointTables,
        *,
        endpoints: EndpointStore,
        runs: RunStore,
        analyses: AnalysisStore,
        statistics: StatisticsStore,
        keys: KeyStore,
        listen_for_user: Callable[[UserKey, Callback], Callback],
        listen_for_turn: Listen,
    ) -> None:
        self.database = database
        super().__init__(
            endpoints=endpoints,
            functions=SqlFunctions(database, tables),
            heartbeats=SqlHeartbeats(database, tables),
            runs=runs,
            catalog=SqlCatalog(database, tables),
            rules=SqlRules(database),
            analyses=analyses,
            users=SqlUsers(database, tables),
            agents=SqlAgents(database, tables),
            conversations=SqlConversations(database),
            deliveries=SqlDeliveries(database, listen_for_user),
            agent_turns=SqlAgentTurns(database, listen_for_turn),
            schedules=SqlSchedules(database, tables),
            channels=SqlChannels(database),
            daily=SqlDaily(database),
            daily_statistics=SqlDailyStatistics(database),
            programmes=SqlProgrammes(database),
            tenants=SqlTenants(database),
            keys=keys,
            sessions=SqlSessions(database),
            idempotency=SqlReplies(database),
            rates=SqlRates(database),
            limits=SqlLimits(database, tables),
            calendars=SqlCalendars(database, tables),
            audit=SqlAudit(database),
            statistics=statistics,
            slos=SqlSlos(database),
            alerts=SqlAlerts(database),
            conditions=SqlConditions(database),
            alert_messages=SqlAlertMessages(database),
            alert_routes=SqlAlertRoutes(database),
            health=SqlHealth(database),
        )
