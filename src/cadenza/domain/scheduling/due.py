"""Which endpoints are due, the claim to one, and the second look before it starts."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from cadenza.domain.scheduling.calendars.gate import claimed_from, why_not_open
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.endpoint import Endpoint, Lease, evolve
from cadenza.domain.scheduling.policy import Misfire
from cadenza.domain.scheduling.requested_runs.queue import RunRequest
from cadenza.domain.scheduling.requested_runs.waiting import next_request, request_opens_at
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.validation import iso, milliseconds

AT_ONCE = timedelta(0)
FOREVER = datetime(9999, 1, 1, tzinfo=UTC)
"""The end of a pause that lasts until somebody resumes the endpoint."""
JOB_NOT_ACTIVE = "its job is paused"


def closed_gate(endpoint: Endpoint, now: datetime) -> str | None:
    """What keeps the endpoint from running at all, in words; None if every gate is open."""
    for closed, words in (
        (endpoint.archived, "archived"),
        (not endpoint.enabled, "disabled"),
        (not endpoint.job_active, JOB_NOT_ACTIVE),
        (endpoint.retired, "retired: no running program declares its function"),
    ):
        if closed:
            return words
    if endpoint.paused_until is not None and endpoint.paused_until > now:
        return f"paused until {end_in_words(endpoint.paused_until)}"
    if endpoint.quota_opens_at is not None and endpoint.quota_opens_at > now:
        return f"quota used up until {iso(endpoint.quota_opens_at)}"
    return None if endpoint.calendar_rules is NO_RULES else why_not_open(endpoint.calendar_rules, now)


def end_in_words(paused_until: datetime) -> str:
    """The end of a pause: a moment, or the word `resumed` where only somebody who resumes it ends it."""
    return "resumed" if paused_until >= FOREVER else iso(paused_until)


def opens_at(endpoint: Endpoint) -> datetime | None:
    """The moment from which it may run if nothing changes; None if it must change first."""
    if endpoint.next_run_at is None or endpoint.archived or not (endpoint.enabled and endpoint.job_active):
        return None
    moment = endpoint.next_run_at
    if endpoint.paused_until is not None and endpoint.paused_until > moment:
        moment = endpoint.paused_until
    if endpoint.quota_opens_at is not None and endpoint.quota_opens_at > moment:
        moment = endpoint.quota_opens_at
    return moment if endpoint.calendar_rules is NO_RULES else claimed_from(endpoint, moment)


def claimable_at(endpoint: Endpoint) -> datetime | None:
    """The moment from which it may be claimed, for its schedule or for a run that was requested.

    A lease, also one that ran out, protects until it is swept.
    """
    if endpoint.lease:
        return None
    regular = opens_at(endpoint)
    return (
        regular
        if endpoint.requested is None or request_to_claim(endpoint) is None
        else request_opens_at(endpoint)
    )


def request_to_claim(endpoint: Endpoint) -> RunRequest | None:
    """The requested run that the next claim, or the present lease, is for; None if it is for the schedule."""
    queue = endpoint.requested
    if queue is None:
        return None
    if endpoint.lease is None:
        return next_request(endpoint, opens_at(endpoint))
    return None if queue.in_flight is None else queue.of_slot(queue.in_flight)


def due(endpoint: Endpoint, now: datetime, within: timedelta = AT_ONCE) -> bool:
    """May it be claimed?"""
    moment = claimable_at(endpoint)
    return moment is not None and moment <= now + within


def claim(
    endpoint: Endpoint, lease: Lease, now: datetime, *, version: int = 0, place: int | str = 0
) -> Claim:
    """Lease a due endpoint. What is due already counts as started; the rest waits for its moment."""
    if endpoint.requested is not None:
        asked = next_request(endpoint, opens_at(endpoint))
        taken = endpoint.requested._replace(in_flight=None if asked is None else asked.slot)
        endpoint = evolve(endpoint, lease=lease, requested=taken)
        if asked is not None:
            return _claim_request(endpoint, asked, now, version=version, place=place)
    moment = opens_at(endpoint)
    assert moment is not None, "only what is due can be claimed"
    assert endpoint.next_run_at is not None, "what opens has a next run"
    open_slot = endpoint.open_slot
    return Claim(
        lease.run_id,
        lease.token,
        endpoint if endpoint.lease is lease else evolve(endpoint, lease=lease),
        open_slot.slot if open_slot else endpoint.next_run_at,
        moment,
        open_slot.attempts + 1 if open_slot else 1,
        endpoint.next_source,
        now,
        lease.until,
        now if moment <= now else None,
        version,
        place,
    )


def _claim_request(
    endpoint: Endpoint, asked: RunRequest, now: datetime, *, version: int, place: int | str
) -> Claim:
    moment, lease = request_opens_at(endpoint), endpoint.lease
    assert moment is not None, "only what is due can be claimed"
    assert lease is not None, "a claim has a lease"
    return Claim(
        lease.run_id,
        lease.token,
        endpoint,
        asked.slot,
        moment,
        asked.attempt,
        asked.source,
        now,
        lease.until,
        now if moment <= now else None,
        version,
        place,
    )


class Start(NamedTuple):
    """Go: the claim, with the slot it is started for."""

    claim: Claim


class Wait(NamedTuple):
    """Not yet: its moment is still ahead, perhaps nearer than before."""

    claim: Claim


class Cancel(NamedTuple):
    """No longer: it has been moved, or a gate has closed since it was claimed."""

    claim: Claim
    reason: str


Recheck = Start | Wait | Cancel


def recheck(endpoint: Endpoint, held: Claim, now: datetime) -> Recheck:
    """Look at a claimed endpoint again before it starts: is it still due, and when?"""
    if held.is_requested:
        return _recheck_request(endpoint, held, now)
    moment = opens_at(endpoint)
    if moment is None:
        return Cancel(held, closed_gate(endpoint, now) or "finished")
    if moment > max(held.due_at, now):
        return Cancel(held, closed_gate(endpoint, now) or f"moved to {iso(moment)}")
    slot = held.slot if endpoint.open_slot else endpoint.next_run_at or held.slot
    fresh = held._replace(endpoint=endpoint, slot=slot, due_at=moment, source=endpoint.next_source)
    return Wait(fresh) if moment > now else Start(fresh._replace(started_at=now))


def _recheck_request(endpoint: Endpoint, held: Claim, now: datetime) -> Recheck:
    """A requested run starts unless it is no longer asked for, or a gate has closed."""
    queue, moment = endpoint.requested, request_opens_at(endpoint)
    if moment is None or queue is None or queue.of_slot(held.slot) is None:
        return Cancel(held, closed_gate(endpoint, now) or "it is no longer asked for")
    if moment > max(held.due_at, now):
        return Cancel(held, closed_gate(endpoint, now) or f"moved to {iso(moment)}")
    fresh = held._replace(endpoint=endpoint, due_at=moment)
    return Wait(fresh) if moment > now else Start(fresh._replace(started_at=now))


SKIP = Misfire.SKIP


def misfired(claim: Claim, now: datetime) -> bool:
    """Is it later than its grace allows, and does its owner want it skipped then?

    A requested run never is.
    """
    policy = claim.endpoint.policy
    if policy.misfire is not SKIP or claim.is_requested:
        return False
    return now - claim.planned_at > milliseconds(policy.misfire_grace_ms)
