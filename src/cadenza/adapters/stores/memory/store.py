"""The store in memory."""

from cadenza.adapters.stores.memory.access import (
    MemoryKeys,
    MemoryRates,
    MemoryReplies,
    MemorySessions,
    MemoryTenants,
)
from cadenza.adapters.stores.memory.analyses import MemoryAnalyses
from cadenza.adapters.stores.memory.audit import MemoryAudit
from cadenza.adapters.stores.memory.catalog import MemoryCatalog
from cadenza.adapters.stores.memory.conversations import MemoryConversations, MemoryDeliveries
from cadenza.adapters.stores.memory.daily import MemoryDaily
from cadenza.adapters.stores.memory.endpoints import MemoryEndpoints, MemoryRuns
from cadenza.adapters.stores.memory.functions import MemoryFunctions
from cadenza.adapters.stores.memory.rules import MemoryRules
from cadenza.adapters.stores.memory.slo_alerts import MemoryAlerts, MemoryHealth, MemorySlos
from cadenza.adapters.stores.memory.statistics import MemoryDailyStatistics, MemoryStatistics
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.adapters.stores.memory.users_agents import MemoryAgents, MemorySchedules, MemoryUsers
from cadenza.ports.ids import Ids
from cadenza.ports.store import Store


class MemoryStore(Store):
    """Every method does its work without an await and under one lock, so it is one commit."""

    def __init__(self, ids: Ids) -> None:
        self.tables = tables = MemoryTables(ids=ids)
        super().__init__(
            endpoints=MemoryEndpoints(tables),
            functions=MemoryFunctions(tables),
            runs=MemoryRuns(tables),
            catalog=MemoryCatalog(tables),
            rules=MemoryRules(tables),
            analyses=MemoryAnalyses(tables),
            users=MemoryUsers(tables),
            agents=MemoryAgents(tables),
            conversations=MemoryConversations(tables),
            deliveries=MemoryDeliveries(tables),
            schedules=MemorySchedules(tables),
            daily=MemoryDaily(tables),
            daily_statistics=MemoryDailyStatistics(tables),
            tenants=MemoryTenants(tables),
            keys=MemoryKeys(tables),
            sessions=MemorySessions(tables),
            idempotency=MemoryReplies(tables),
            rates=MemoryRates(tables),
            audit=MemoryAudit(tables),
            statistics=MemoryStatistics(tables),
            slos=MemorySlos(tables),
            alerts=MemoryAlerts(tables),
            health=MemoryHealth(),
        )
