"""How the places of a worker are shared."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.access.places import (
    AHEAD_MS,
    PER_FREE_PLACE,
    RecentRuns,
    claim_shares,
    claims_for,
    places_for,
)

TENANTS = ("one", "two", "three", "four")
places = st.integers(1, 500)
held_by = st.dictionaries(st.sampled_from(TENANTS), st.integers(1, 200))


def claimed(held: dict[str, int], wanted: dict[str, int], *, free: int, most: int) -> Counter[str]:
    """What one claim takes in the worst case: as much as it may of those who want most."""
    shares = claim_shares(held, free=free, most=most)
    left, taken = shares.limit, Counter[str]()
    for tenant_id, count in sorted(wanted.items(), key=lambda one: one[0] in shares.bounds):
        taken[tenant_id] = min(left, count, shares.bounds.get(tenant_id, left))
        left -= taken[tenant_id]
    return taken


def until_nobody_may(wanted: dict[str, int], *, worker: int, most: int) -> Counter[str]:
    """What tenants hold that all hang, when nobody may take more."""
    held = Counter[str]()
    while taken := +claimed(held, wanted, free=worker - held.total(), most=most):
        held += taken
        wanted = {tenant_id: count - taken[tenant_id] for tenant_id, count in wanted.items()}
    return held


@given(held=st.integers(0, 1_000), free=places)
def test_nobody_takes_more_than_there_is_and_a_tenant_without_a_place_always_gets_one(
    held: int, free: int
) -> None:
    assert 0 <= places_for(held, free) <= free
    assert places_for(0, free) >= 1


@given(held=st.integers(0, 1_000), free=places)
def test_who_holds_more_may_take_less_and_more_free_places_are_more_for_everybody(
    held: int, free: int
) -> None:
    assert places_for(held + 1, free) <= places_for(held, free) <= places_for(held, free + 1)


@given(held=st.integers(0, 1_000), free=places)
def test_each_place_is_taken_while_the_tenant_holds_less_than_its_share(held: int, free: int) -> None:
    taken = 0
    while taken < free and held + taken < PER_FREE_PLACE * (free - taken):
        taken += 1
    assert places_for(held, free) == taken


@pytest.mark.parametrize(("worker", "alone"), [(1, 1), (4, 4), (5, 4), (10, 8), (50, 40), (100, 80)])
def test_alone_a_tenant_may_hold_four_of_five_places(worker: int, alone: int) -> None:
    assert until_nobody_may({"one": 1_000}, worker=worker, most=500) == {"one": alone}


@given(worker=st.integers(5, 500), most=st.integers(1, 100), tenants=st.integers(1, 4))
def test_when_tenants_hang_that_came_together_some_places_stay_free(
    worker: int, most: int, tenants: int
) -> None:
    held = until_nobody_may(dict.fromkeys(TENANTS[:tenants], 1_000), worker=worker, most=most)
    assert held.total() <= worker
    if worker >= (PER_FREE_PLACE + 1) ** tenants:
        assert held.total() < worker


@given(held=held_by, free=places, most=st.integers(1, 500), wanted=held_by)
def test_a_claim_keeps_every_tenant_within_its_share(
    held: dict[str, int], free: int, most: int, wanted: dict[str, int]
) -> None:
    taken = claimed(held, wanted, free=free, most=most)
    assert taken.total() <= min(free, most)
    for tenant_id, count in taken.items():
        assert count <= places_for(held.get(tenant_id, 0), free)


@given(held=held_by, free=places, most=st.integers(1, 500))
def test_a_tenant_that_holds_nothing_is_never_kept_waiting_for_a_free_place(
    held: dict[str, int], free: int, most: int
) -> None:
    assert claimed(held, {"new": 1}, free=free, most=most)["new"] == 1


@given(held=held_by, free=places, most=st.integers(1, 500), tenant_id=st.sampled_from(TENANTS))
def test_a_tenant_that_may_take_a_place_is_not_left_out(
    held: dict[str, int], free: int, most: int, tenant_id: str
) -> None:
    may = places_for(held.get(tenant_id, 0), free)
    assert bool(claimed(held, {tenant_id: 1}, free=free, most=most)[tenant_id]) is (may > 0)


counts = st.floats(min_value=0, max_value=1e6)
recent_runs = st.builds(RecentRuns, ended=counts, waited=counts, busy_ms=counts)


@given(places=st.integers(0, 10_000), recent=recent_runs)
def test_free_places_stand_for_a_claim_each_or_more_and_none_for_none(
    places: int, recent: RecentRuns
) -> None:
    claims = claims_for(places, recent)
    assert claims >= places
    assert bool(claims) == bool(places)


@given(places=st.integers(1, 10_000), recent=recent_runs)
def test_as_many_of_the_claims_will_wait_as_there_are_places(places: int, recent: RecentRuns) -> None:
    known = recent.ended + recent.waited
    assert claims_for(places, recent) * recent.waited <= places * known * 1.001 + 1 or not recent.ended


@given(places=st.integers(1, 10_000), each_ms=st.floats(0.01, 10_000), ended=st.integers(1, 100_000))
def test_claims_beyond_the_places_end_soon(places: int, each_ms: float, ended: int) -> None:
    beyond = claims_for(places, RecentRuns(ended, 0, ended * each_ms)) - places
    assert beyond * each_ms <= AHEAD_MS * 1.001


def test_before_anything_ran_a_place_stands_for_one_claim() -> None:
    assert claims_for(100, RecentRuns()) == 100


def test_a_few_quick_runs_say_little_about_the_next() -> None:
    assert claims_for(100, RecentRuns(ended=5, busy_ms=0.1)) == 105
    assert claims_for(100, RecentRuns(ended=10_000, busy_ms=100)) == 10_100
