"""The store: one small store for each port."""

from dataclasses import dataclass

from cadenza.ports.access import IdempotencyStore, KeyStore, RateStore, SessionStore, TenantStore
from cadenza.ports.agents import AgentStore, ConversationStore, DeliveryStore, ScheduleStore, UserStore
from cadenza.ports.catalog import Catalog
from cadenza.ports.daily import DailyStatisticsStore, DailyStore
from cadenza.ports.monitoring import AlertStore, SloStore, StatisticsStore
from cadenza.ports.planning import AnalysisStore, RuleStore
from cadenza.ports.scheduling import EndpointStore, FunctionStore, RunStore


@dataclass(kw_only=True)
class Store:
    """All small stores on one set of data.

    They share their tables: `endpoints.finalize` closes a run and commits its turn, its alert
    and its charge with it, and the other stores see them at once.
    """

    endpoints: EndpointStore
    functions: FunctionStore
    runs: RunStore
    catalog: Catalog

    rules: RuleStore
    analyses: AnalysisStore

    users: UserStore
    agents: AgentStore
    conversations: ConversationStore
    deliveries: DeliveryStore
    schedules: ScheduleStore

    daily: DailyStore
    daily_statistics: DailyStatisticsStore

    tenants: TenantStore
    keys: KeyStore
    sessions: SessionStore
    idempotency: IdempotencyStore
    rates: RateStore

    statistics: StatisticsStore
    slos: SloStore
    alerts: AlertStore
