"""Contract suites for ports: a test class inherits one and provides the fixture of what is tested."""

from cadenza.testing.contracts.access.audit import AuditContract
from cadenza.testing.contracts.access.idempotency import IdempotencyContract, RateContract
from cadenza.testing.contracts.access.keys import KeyContract
from cadenza.testing.contracts.access.quota import QuotaContract
from cadenza.testing.contracts.access.secrets import SecretContract
from cadenza.testing.contracts.access.sessions import SessionContract
from cadenza.testing.contracts.access.tenants import TenantContract
from cadenza.testing.contracts.agents.agent_turns import AgentTurnContract
from cadenza.testing.contracts.agents.conversations import ConversationContract
from cadenza.testing.contracts.agents.deliveries import DeliveryContract
from cadenza.testing.contracts.agents.probes import ProbeContract
from cadenza.testing.contracts.agents.runtime import AgentRuntimeContract
from cadenza.testing.contracts.agents.schedule_firing import ScheduleFiringContract
from cadenza.testing.contracts.agents.schedules import ScheduleContract
from cadenza.testing.contracts.agents.user_channels import UserChannelContract
from cadenza.testing.contracts.agents.users_agents import UserAgentContract
from cadenza.testing.contracts.catalog.definitions import CatalogContract
from cadenza.testing.contracts.catalog.listing import ListingContract
from cadenza.testing.contracts.clock import ClockContract, CronContract, StopwatchContract
from cadenza.testing.contracts.daily.lanes import DailyLanesContract
from cadenza.testing.contracts.daily.programmes import ProgrammeContract
from cadenza.testing.contracts.daily.statistics import DailyStatisticsContract
from cadenza.testing.contracts.daily.target_runner import DailyTargetRunnerContract
from cadenza.testing.contracts.daily.users import DailyContract
from cadenza.testing.contracts.daily.verdicts import VerdictContract
from cadenza.testing.contracts.dispatcher import DispatcherContract
from cadenza.testing.contracts.monitoring.alert_messages import AlertMessageContract
from cadenza.testing.contracts.monitoring.alert_routes import AlertRouteContract
from cadenza.testing.contracts.monitoring.conditions import ConditionContract
from cadenza.testing.contracts.monitoring.heartbeats import HeartbeatContract
from cadenza.testing.contracts.monitoring.run_alerts import RunAlertContract
from cadenza.testing.contracts.monitoring.slo_alerts import SloAlertContract
from cadenza.testing.contracts.monitoring.statistics import StatisticsContract
from cadenza.testing.contracts.planning.analyses import AnalysisContract
from cadenza.testing.contracts.planning.feed import FeedContract, RecentRunsContract
from cadenza.testing.contracts.planning.planner import PlannerContract
from cadenza.testing.contracts.planning.rules import RuleContract
from cadenza.testing.contracts.scheduling.bounded_claims import BoundedClaimContract
from cadenza.testing.contracts.scheduling.calendars import CalendarContract
from cadenza.testing.contracts.scheduling.cancelled_runs import CancelledRunContract
from cadenza.testing.contracts.scheduling.claims import ClaimContract
from cadenza.testing.contracts.scheduling.functions import FunctionContract
from cadenza.testing.contracts.scheduling.held_back import HeldBackContract, PriorityContract
from cadenza.testing.contracts.scheduling.leases import LeaseContract
from cadenza.testing.contracts.scheduling.limits import LimitChangeContract, LimitContract
from cadenza.testing.contracts.scheduling.requested_runs import RequestedRunContract
from cadenza.testing.contracts.scheduling.settle import SettleContract
from cadenza.testing.contracts.scheduling.slots import SlotContract
from cadenza.testing.contracts.scheduling.start import StartContract
from cadenza.testing.contracts.scheduling.steering import SteeringContract
from cadenza.testing.contracts.scheduling.suspects import SuspectContract

__all__ = [
    "AgentRuntimeContract",
    "ClockContract",
    "CronContract",
    "DailyLanesContract",
    "DailyTargetRunnerContract",
    "DispatcherContract",
    "PlannerContract",
    "QuotaContract",
    "SecretContract",
    "StopwatchContract",
    "StoreContract",
]


class StoreContract(
    ClaimContract,
    BoundedClaimContract,
    FunctionContract,
    HeartbeatContract,
    LeaseContract,
    SuspectContract,
    LimitContract,
    LimitChangeContract,
    HeldBackContract,
    PriorityContract,
    StartContract,
    SettleContract,
    SlotContract,
    RequestedRunContract,
    CancelledRunContract,
    SteeringContract,
    ListingContract,
    CatalogContract,
    CalendarContract,
    KeyContract,
    SessionContract,
    StatisticsContract,
    TenantContract,
    IdempotencyContract,
    RateContract,
    AuditContract,
    FeedContract,
    RecentRunsContract,
    AnalysisContract,
    RuleContract,
    SloAlertContract,
    RunAlertContract,
    ConditionContract,
    AlertMessageContract,
    AlertRouteContract,
    DailyContract,
    VerdictContract,
    ProgrammeContract,
    DailyStatisticsContract,
    UserAgentContract,
    ConversationContract,
    AgentTurnContract,
    DeliveryContract,
    ProbeContract,
    UserChannelContract,
    ScheduleFiringContract,
    ScheduleContract,
):
    """Everything that the ports of a store guarantee.

    A subclass gives the fixture `store`, and `peers` if several connections can
    share its data; each test gets a store of its own, empty.
    """
