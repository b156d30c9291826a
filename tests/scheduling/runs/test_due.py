"""What may be claimed, the claim itself, and the second look before it starts."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import NOTHING, future, past, spans, stored
from tests.scheduling.scheduling_fixtures import (
    HOUR,
    MINUTE,
    NOW,
    SECOND,
    a_lease,
    an_endpoint,
    at,
    claimed,
    started,
)

from cadenza.adapters.dispatch.http.hop import message_id
from cadenza.domain.scheduling.due import Cancel, Start, Wait, claim, claimable_at, closed_gate, due, recheck
from cadenza.domain.scheduling.endpoint import Endpoint, OpenSlot, evolve
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.validation import iso, milliseconds

DUE = {"next_run_at": NOW}


@pytest.mark.parametrize(
    ("standing", "gate"),
    [
        ({"archived": True, "enabled": False}, "archived"),
        ({"enabled": False}, "disabled"),
        ({"job_active": False}, "its job is paused"),
        ({"paused_until": at(1)}, f"paused until {iso(at(1))}"),
        ({"quota_opens_at": at(1)}, f"quota used up until {iso(at(1))}"),
    ],
)
def test_a_closed_gate_says_what_it_is_and_keeps_an_endpoint_from_being_due(
    standing: dict[str, Any], gate: str
) -> None:
    endpoint = an_endpoint(**DUE, **standing)
    assert closed_gate(endpoint, NOW) == gate
    assert not due(endpoint, NOW)


@pytest.mark.parametrize("standing", [{}, {"paused_until": NOW}, {"quota_opens_at": NOW}])
def test_what_opens_now_is_open(standing: dict[str, Any]) -> None:
    endpoint = an_endpoint(**DUE, **standing)
    assert closed_gate(endpoint, NOW) is None
    assert due(endpoint, NOW)


@pytest.mark.parametrize(
    "standing",
    [{"next_run_at": None}, {"next_run_at": at(1)}, {"lease": a_lease(NOW)}, {"lease": a_lease(at(-HOUR))}],
)
def test_what_is_not_planned_or_has_a_lease_even_an_old_one_is_not_due(standing: dict[str, Any]) -> None:
    assert not due(an_endpoint(**DUE | standing), NOW)


@pytest.mark.parametrize(("ahead_ms", "expected"), [(SECOND - 1, True), (SECOND, True), (SECOND + 1, False)])
def test_a_claim_reaches_as_far_ahead_as_it_is_told(ahead_ms: int, *, expected: bool) -> None:
    within = milliseconds(SECOND)
    assert due(an_endpoint(next_run_at=at(ahead_ms)), NOW, within) is expected
    assert due(an_endpoint(**DUE, paused_until=at(ahead_ms)), NOW, within) is expected
    assert due(an_endpoint(**DUE, quota_opens_at=at(ahead_ms)), NOW, within) is expected


@given(stored(), spans().map(milliseconds))
def test_what_is_due_is_due_from_the_moment_that_the_store_is_told(
    endpoint: Endpoint, within: timedelta
) -> None:
    first = claimable_at(endpoint)
    assert due(endpoint, NOW, within) == (first is not None and first <= NOW + within)


@pytest.mark.parametrize(
    "standing",
    [
        {"next_run_at": None},
        {"lease": a_lease(NOW)},
        {"archived": True},
        {"enabled": False},
        {"job_active": False},
    ],
)
def test_what_must_change_first_has_no_moment_to_be_claimed_at(standing: dict[str, Any]) -> None:
    assert claimable_at(an_endpoint(**DUE | standing)) is None


@given(stored(lease=NOTHING), spans())
def test_a_pause_and_a_closed_quota_are_never_crossed_by_a_claim(endpoint: Endpoint, within_ms: int) -> None:
    if due(endpoint, NOW, milliseconds(within_ms)) and closed_gate(endpoint, NOW) is not None:
        assert claimed(endpoint).started_at is None


def test_only_what_is_due_can_be_claimed() -> None:
    with pytest.raises(AssertionError, match=r"^only what is due can be claimed"):
        claimed(an_endpoint(next_run_at=None))


def test_a_claim_tells_what_it_is_for() -> None:
    endpoint = an_endpoint(next_run_at=at(-SECOND), next_source=Source.MANUAL)
    lease = a_lease(NOW)
    held = claim(endpoint, lease, NOW)
    assert (held.run_id, held.token, held.lease_until) == lease[1:2] + lease[0:1] + lease[2:]
    assert held.endpoint == evolve(endpoint, lease=lease)
    assert (held.slot, held.due_at, held.attempt) == (at(-SECOND), at(-SECOND), 1)
    assert (held.source, held.claimed_at, held.started_at) == (Source.MANUAL, NOW, NOW)
    assert held.key == endpoint.key == ("default", "ep-1")
    assert held.idempotency_key == "default:ep-1:2025-03-30T00:54:59Z"


@given(st.lists(st.tuples(*[st.text(alphabet="ab:%3A", max_size=4)] * 2), unique=True, max_size=20))
def test_slots_of_different_endpoints_never_share_an_idempotency_key(keys: list[tuple[str, str]]) -> None:
    claims = [
        claim(an_endpoint(tenant_id=tenant_id, id=id_, **DUE), a_lease(NOW), NOW) for tenant_id, id_ in keys
    ]
    assert len({held.idempotency_key for held in claims}) == len(keys)
    assert len({message_id(held) for held in claims}) == len(keys)


def test_a_claim_of_an_open_slot_is_its_next_attempt_with_the_same_idempotency_key() -> None:
    first = claimed(an_endpoint(next_run_at=at(-MINUTE)))
    again = claimed(an_endpoint(next_run_at=NOW, open_slot=OpenSlot(at(-MINUTE), 2)))
    assert (again.slot, again.due_at, again.attempt) == (at(-MINUTE), NOW, 3)
    assert again.idempotency_key == first.idempotency_key


def test_a_claim_ahead_of_its_moment_has_not_started() -> None:
    assert claimed(an_endpoint(next_run_at=at(1))).started_at is None
    assert claimed(an_endpoint(next_run_at=NOW)).started_at == NOW


def moved(**changes: Any) -> tuple[Endpoint, Any]:
    """A claim for one second from now, and the endpoint as it has changed since."""
    held = claimed(an_endpoint(next_run_at=at(SECOND), next_source=Source.BASELINE_INTERVAL))
    return evolve(held.endpoint, **changes), held


def test_what_is_still_due_starts_at_its_moment_and_not_before() -> None:
    endpoint, held = moved()
    assert recheck(endpoint, held, at(SECOND - 1)) == Wait(held._replace(endpoint=endpoint))
    claim_ = started(recheck(endpoint, held, at(SECOND)))
    assert (claim_.started_at, claim_.slot, claim_.due_at) == (at(SECOND), at(SECOND), at(SECOND))


def test_what_was_moved_earlier_starts_then_for_that_slot() -> None:
    endpoint, held = moved(next_run_at=at(500), next_source=Source.AI_ONESHOT)
    waiting = recheck(endpoint, held, at(499))
    assert isinstance(waiting, Wait)
    assert (waiting.claim.due_at, waiting.claim.started_at) == (at(500), None)
    claim_ = started(recheck(endpoint, held, at(500)))
    assert (claim_.slot, claim_.source, claim_.endpoint) == (at(500), Source.AI_ONESHOT, endpoint)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"next_run_at": at(SECOND + 1)}, f"moved to {iso(at(SECOND + 1))}"),
        ({"next_run_at": None}, "finished"),
        ({"enabled": False}, "disabled"),
        ({"paused_until": at(HOUR), "next_run_at": None}, f"paused until {iso(at(HOUR))}"),
        ({"paused_until": at(HOUR), "next_run_at": at(HOUR)}, f"paused until {iso(at(HOUR))}"),
    ],
)
def test_what_is_no_longer_due_is_cancelled_with_the_reason(changes: dict[str, Any], reason: str) -> None:
    endpoint, held = moved(**changes)
    assert recheck(endpoint, held, at(SECOND)) == Cancel(held, reason)


def test_what_was_moved_to_a_moment_that_has_come_starts_for_it() -> None:
    endpoint, held = moved(next_run_at=at(2 * SECOND))
    assert started(recheck(endpoint, held, at(2 * SECOND))).slot == at(2 * SECOND)


def test_an_open_slot_keeps_its_slot_when_it_is_moved() -> None:
    endpoint, held = moved(next_run_at=at(500), open_slot=OpenSlot(at(-MINUTE), 1))
    claim_ = started(recheck(endpoint, held._replace(slot=at(-MINUTE)), at(SECOND)))
    assert (claim_.slot, claim_.due_at) == (at(-MINUTE), at(500))


@given(stored(next_run_at=past() | future()), st.integers(0, 2 * HOUR).map(at))
def test_a_pause_is_never_crossed_by_a_start(endpoint: Endpoint, now: datetime) -> None:
    answer = recheck(endpoint, claimed(endpoint)._replace(started_at=None), now)
    if isinstance(answer, Start):
        assert not endpoint.paused(now)
        assert answer.claim.due_at <= now
