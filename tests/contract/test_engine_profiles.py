"""The store keeps its promises without abilities that PostgreSQL has and engines like it may lack.

Everything without all of them at once, and what each is about without that one.
"""

import os
from collections.abc import AsyncIterator, Sequence
from itertools import combinations

import pytest
from tests.contract.profile_fixtures import databases_of, stores_under
from tests.postgres import Databases, newest_databases

from cadenza.adapters.stores.postgres.engines.profile import (
    ABILITIES,
    DISTRIBUTED,
    NAMED,
    POSTGRESQL,
    SESSION_BOUND,
    EngineProfile,
    profile_of,
)
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.testing.contracts import StoreContract
from cadenza.testing.contracts.access.keys import KeyContract
from cadenza.testing.contracts.agents.deliveries import DeliveryContract
from cadenza.testing.contracts.catalog.definitions import CatalogContract
from cadenza.testing.contracts.catalog.history import HistoryContract
from cadenza.testing.contracts.monitoring.slo_alerts import SloAlertContract
from cadenza.testing.contracts.scheduling.bounded_claims import BoundedClaimContract
from cadenza.testing.contracts.scheduling.claims import ClaimContract
from cadenza.testing.contracts.scheduling.held_back import HeldBackContract, PriorityContract
from cadenza.testing.contracts.scheduling.limits import LimitChangeContract, LimitContract
from cadenza.testing.contracts.scheduling.settle import SettleContract
from cadenza.testing.contracts.scheduling.start import StartContract
from cadenza.testing.contracts.scheduling.steering import SteeringContract
from cadenza.testing.contracts.scheduling.suspects import SuspectContract

__all__ = ["newest_databases"]

MADE: dict[str, Databases] = {}
"""Databases by profile."""


class UnderProfile:
    """Four stores on a database that was made for a profile."""

    profile: EngineProfile

    @pytest.fixture
    def url(self, newest_databases: Databases) -> str:
        return databases_of(newest_databases, self.profile, MADE).clean()

    @pytest.fixture
    async def peers(self, url: str) -> AsyncIterator[Sequence[PostgresStore]]:
        async with stores_under(self.profile, url) as stores:
            yield stores

    @pytest.fixture
    def store(self, peers: Sequence[PostgresStore]) -> PostgresStore:
        return peers[0]


class TestStoreThatLacksEverything(UnderProfile, StoreContract):
    profile = DISTRIBUTED
    calls_in_vain = True


class TestStoreWithoutRowPlaces(
    UnderProfile, ClaimContract, StartContract, SettleContract, LimitContract, HeldBackContract
):
    profile = POSTGRESQL.without("row_places")


class TestStoreWithoutSkipLockedInCtes(
    UnderProfile,
    ClaimContract,
    BoundedClaimContract,
    SuspectContract,
    SloAlertContract,
    LimitContract,
    PriorityContract,
):
    profile = POSTGRESQL.without("skip_locked_in_ctes")


class TestStoreWithoutAdvisoryLocks(UnderProfile, CatalogContract, LimitChangeContract):
    profile = POSTGRESQL.without("advisory_locks")


class TestStoreWithoutNotifications(UnderProfile, SteeringContract, DeliveryContract, KeyContract):
    profile = POSTGRESQL.without("notifications")


class TestStoreWithoutPartitions(UnderProfile, HistoryContract, SettleContract):
    profile = POSTGRESQL.without("partitions")


OF_STORES = tuple(name for name in ABILITIES if name != "idle_queries")
"""Abilities that several processes on one database can do without."""

if os.environ.get("CADENZA_SOAK"):
    for count in range(1, len(OF_STORES)):
        for missing in combinations(OF_STORES, count):
            name = f"TestStoreWithout_{'_and_'.join(missing)}"
            profile = POSTGRESQL.without(*missing)
            globals()[name] = type(
                name,
                (UnderProfile, StoreContract),
                {"profile": profile, "calls_in_vain": not profile.notifications},
            )


@pytest.mark.parametrize("name", NAMED)
def test_a_named_engine_is_a_profile_and_may_be_reduced_further(name: str) -> None:
    assert profile_of(name) == NAMED[name]
    assert profile_of(f"{name}, no-partitions") == NAMED[name].without("partitions")


@pytest.mark.parametrize("missing", ABILITIES)
def test_each_ability_can_be_missed_alone_and_a_profile_spells_itself(missing: str) -> None:
    profile = POSTGRESQL.without(missing)
    assert profile_of(str(profile)) == profile
    assert not getattr(profile, missing)
    bound = SESSION_BOUND if missing == "idle_queries" else ()
    assert {name for name in ABILITIES if not getattr(profile, name)} == {missing, *bound}


@pytest.mark.parametrize(
    "text", ["oracle", "no-indexes", "no-partitions,neon", "", "postgresql,,no-partitions"]
)
def test_what_is_no_profile_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"no-indexes|neon|oracle|^$"):
        profile_of(text)
