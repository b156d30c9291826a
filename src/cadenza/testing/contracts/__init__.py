"""What every store promises, as suites to inherit from: give a `store` fixture, get the proof."""

from cadenza.testing.contracts.access.idempotency import RateContract, ReplyContract
from cadenza.testing.contracts.access.keys import KeyContract
from cadenza.testing.contracts.access.secrets import SecretContract
from cadenza.testing.contracts.access.sessions import SessionContract
from cadenza.testing.contracts.access.tenants import TenantContract
from cadenza.testing.contracts.agents.conversations import ConversationContract
from cadenza.testing.contracts.agents.deliveries import DeliveryContract
from cadenza.testing.contracts.agents.schedule_firing import FiringContract
from cadenza.testing.contracts.agents.schedules import ScheduleContract
from cadenza.testing.contracts.agents.users_agents import PeopleContract
from cadenza.testing.contracts.daily.statistics import DailyFigureContract
from cadenza.testing.contracts.daily.users import DailyContract
from cadenza.testing.contracts.monitoring.run_alerts import AlertingContract
from cadenza.testing.contracts.monitoring.slo_alerts import WatchContract
from cadenza.testing.contracts.monitoring.statistics import FigureContract
from cadenza.testing.contracts.planning.analyses import AnalysisContract
from cadenza.testing.contracts.planning.feed import FeedContract, RecentRunsContract
from cadenza.testing.contracts.planning.rules import RuleContract
from cadenza.testing.contracts.scheduling.catalog import CatalogContract
from cadenza.testing.contracts.scheduling.claims import ClaimContract
from cadenza.testing.contracts.scheduling.leases import LeaseContract
from cadenza.testing.contracts.scheduling.listing import ListingContract
from cadenza.testing.contracts.scheduling.settle import SettlingContract
from cadenza.testing.contracts.scheduling.slots import SlotContract
from cadenza.testing.contracts.scheduling.start import StartingContract
from cadenza.testing.contracts.scheduling.steering import SteeringContract

__all__ = ["SecretContract", "StoreContract"]


class StoreContract(
    ClaimContract,
    LeaseContract,
    StartingContract,
    SettlingContract,
    SlotContract,
    SteeringContract,
    ListingContract,
    CatalogContract,
    KeyContract,
    SessionContract,
    FigureContract,
    TenantContract,
    ReplyContract,
    RateContract,
    FeedContract,
    RecentRunsContract,
    AnalysisContract,
    RuleContract,
    WatchContract,
    AlertingContract,
    DailyContract,
    DailyFigureContract,
    PeopleContract,
    ConversationContract,
    DeliveryContract,
    FiringContract,
    ScheduleContract,
):
    """All promises of a store.

    A subclass gives the fixture `store`, and `peers` if several connections can
    share its data; each test gets a store of its own, empty.
    """
