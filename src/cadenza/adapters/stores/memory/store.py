"""The store in memory."""

from cadenza.adapters.stores.memory.access.audit import MemoryAudit
from cadenza.adapters.stores.memory.access.keys_tenants import (
    MemoryKeys,
    MemoryRates,
    MemoryReplies,
    MemorySessions,
    MemoryTenants,
)
from cadenza.adapters.stores.memory.access.limits import MemoryLimits
from cadenza.adapters.stores.memory.agents.agent_turns import MemoryAgentTurns
from cadenza.adapters.stores.memory.agents.conversations import MemoryConversations, MemoryDeliveries
from cadenza.adapters.stores.memory.agents.user_channels import MemoryChannels
from cadenza.adapters.stores.memory.agents.users_agents import MemoryAgents, MemorySchedules, MemoryUsers
from cadenza.adapters.stores.memory.daily.programmes import MemoryProgrammes
from cadenza.adapters.stores.memory.daily.users import MemoryDaily
from cadenza.adapters.stores.memory.monitoring.alert_routes import MemoryAlertRoutes
from cadenza.adapters.stores.memory.monitoring.conditions import MemoryAlertMessages, MemoryConditions
from cadenza.adapters.stores.memory.monitoring.heartbeats import MemoryHeartbeats
from cadenza.adapters.stores.memory.monitoring.slo_alerts import MemoryAlerts, MemoryHealth, MemorySlos
from cadenza.adapters.stores.memory.monitoring.statistics import MemoryDailyStatistics, MemoryStatistics
from cadenza.adapters.stores.memory.planning.analyses import MemoryAnalyses
from cadenza.adapters.stores.memory.planning.rules import MemoryRules
from cadenza.adapters.stores.memory.scheduling.calendars import MemoryCalendars
from cadenza.adapters.stores.memory.scheduling.catalog import MemoryCatalog
from cadenza.adapters.stores.memory.scheduling.endpoints import MemoryEndpoints
from cadenza.adapters.stores.memory.scheduling.functions import MemoryFunctions
from cadenza.adapters.stores.memory.scheduling.runs import MemoryRuns
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.ports.ids import Ids
from cadenza.ports.store import Store


class MemoryStore(Store):
    """Every method does its work without an await and under one lock, so it is one commit."""

    def __init__(self, ids: Ids) -> None:
        self.tables = tables = MemoryTables(ids=ids)
        super().__init__(
            endpoints=MemoryEndpoints(tables),
            functions=MemoryFunctions(tables),
            heartbeats=MemoryHeartbeats(tables),
            runs=MemoryRuns(tables),
            catalog=MemoryCatalog(tables),
            rules=MemoryRules(tables),
            analyses=MemoryAnalyses(tables),
            users=MemoryUsers(tables),
            agents=MemoryAgents(tables),
            conversations=MemoryConversations(tables),
            deliveries=MemoryDeliveries(tables),
            agent_turns=MemoryAgentTurns(tables),
            schedules=MemorySchedules(tables),
            channels=MemoryChannels(tables),
            daily=MemoryDaily(tables),
            daily_statistics=MemoryDailyStatistics(tables),
            programmes=MemoryProgrammes(tables),
            tenants=MemoryTenants(tables),
            keys=MemoryKeys(tables),
            sessions=MemorySessions(tables),
            idempotency=MemoryReplies(tables),
            rates=MemoryRates(tables),
            limits=MemoryLimits(tables),
            calendars=MemoryCalendars(tables),
            audit=MemoryAudit(tables),
            statistics=MemoryStatistics(tables),
            slos=MemorySlos(tables),
            alerts=MemoryAlerts(tables),
            conditions=MemoryConditions(tables),
            alert_messages=MemoryAlertMessages(tables),
            alert_routes=MemoryAlertRoutes(tables),
            health=MemoryHealth(),
        )
