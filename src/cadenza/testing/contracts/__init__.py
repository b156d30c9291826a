"""What every store promises, as suites to inherit from: give a `store` fixture, get the proof."""

from cadenza.testing.contracts.alerting import AlertingContract
from cadenza.testing.contracts.analyses import AnalysisContract
from cadenza.testing.contracts.catalog import CatalogContract
from cadenza.testing.contracts.claims import ClaimContract
from cadenza.testing.contracts.conversations import ConversationContract
from cadenza.testing.contracts.daily import DailyContract
from cadenza.testing.contracts.daily_figures import DailyFigureContract
from cadenza.testing.contracts.deliveries import DeliveryContract
from cadenza.testing.contracts.feed import FeedContract, RecentRunsContract
from cadenza.testing.contracts.figures import FigureContract
from cadenza.testing.contracts.firing import FiringContract
from cadenza.testing.contracts.keys import KeyContract
from cadenza.testing.contracts.leases import LeaseContract
from cadenza.testing.contracts.listing import ListingContract
from cadenza.testing.contracts.people import PeopleContract
from cadenza.testing.contracts.replies import RateContract, ReplyContract
from cadenza.testing.contracts.rules import RuleContract
from cadenza.testing.contracts.schedules import ScheduleContract
from cadenza.testing.contracts.secrets import SecretContract
from cadenza.testing.contracts.sessions import SessionContract
from cadenza.testing.contracts.settling import SettlingContract
from cadenza.testing.contracts.slots import SlotContract
from cadenza.testing.contracts.starting import StartingContract
from cadenza.testing.contracts.steering import SteeringContract
from cadenza.testing.contracts.tenants import TenantContract
from cadenza.testing.contracts.watch import WatchContract

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
