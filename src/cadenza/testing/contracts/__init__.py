"""What every store promises, as suites to inherit from: give a `store` fixture, get the proof."""

from cadenza.testing.contracts.analyses import AnalysisContract
from cadenza.testing.contracts.catalog import CatalogContract
from cadenza.testing.contracts.claims import ClaimContract
from cadenza.testing.contracts.feed import FeedContract, RecentRunsContract
from cadenza.testing.contracts.keys import KeyContract
from cadenza.testing.contracts.leases import LeaseContract
from cadenza.testing.contracts.listing import ListingContract
from cadenza.testing.contracts.replies import RateContract, ReplyContract
from cadenza.testing.contracts.rules import RuleContract
from cadenza.testing.contracts.secrets import SecretContract
from cadenza.testing.contracts.settling import SettlingContract
from cadenza.testing.contracts.slots import SlotContract
from cadenza.testing.contracts.starting import StartingContract
from cadenza.testing.contracts.steering import SteeringContract
from cadenza.testing.contracts.tenants import TenantContract

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
    TenantContract,
    ReplyContract,
    RateContract,
    FeedContract,
    RecentRunsContract,
    AnalysisContract,
    RuleContract,
):
    """All promises of a store.

    A subclass gives the fixture `store`, and `peers` if several connections can
    share its data; each test gets a store of its own, empty.
    """
