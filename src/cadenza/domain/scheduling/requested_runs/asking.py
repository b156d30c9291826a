"""Takes requests for runs beside the schedule: slots to run again, and slots that the schedule missed."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import assert_never

from cadenza.domain.agents.schedule_protection import not_for_schedules
from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.monitoring.heartbeat import refuse_heartbeat
from cadenza.domain.scheduling.baseline import Cron, DayParts, Every, Once, cadence_at
from cadenza.domain.scheduling.calendars.day_part_planning import (
    INSTANT,
    Stretch,
    propose,
    stretch_at,
    stretches,
)
from cadenza.domain.scheduling.calendars.gate import first_open, is_closed, why_not_open
from cadenza.domain.scheduling.calendars.rules import NO_RULES
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.plan import RunKind
from cadenza.domain.scheduling.requested_runs.queue import MOST_WAITING, RequestQueue, RunRequest
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.validation import milliseconds


@not_for_schedules
def take_requests(endpoint: Endpoint, wanted: Sequence[RunRequest], *, now: datetime) -> ChangedEndpoint:
    """Let requested runs wait behind those that wait already, as many as there is room for.

    A slot that waits already does not wait twice. Conflict if its calendars let nothing run any more.
    """
    refuse_heartbeat(endpoint)
    if first_open(endpoint.calendar_rules, now) is None:
        raise Conflict(f"{endpoint.name} runs no more: {why_not_open(endpoint.calendar_rules, now)}.")
    queue = endpoint.requested or RequestQueue((), now)
    slots = {one.slot for one in queue.waiting}
    new = [one for one in wanted if one.slot not in slots][: MOST_WAITING - len(queue.waiting)]
    if not new:
        return ChangedEndpoint(endpoint)
    return ChangedEndpoint(evolve(endpoint, requested=queue._replace(waiting=(*queue.waiting, *new))))


def is_over(endpoint: Endpoint, run: Run, later: Iterable[Run], open_run: Run | None) -> bool:
    """Has the slot of a closed run its verdict, so that it may be run again?

    A slot that is tried again, or is due, has none yet.
    """
    if run.verdict or run.kind is not RunKind.SCHEDULED or any(one.verdict for one in later):
        return True
    is_open = endpoint.open_slot is not None and endpoint.open_slot.slot == run.slot
    is_due = endpoint.next_run_at == run.slot
    return not (is_open or is_due or (open_run is not None and open_run.slot == run.slot))


def next_attempt(runs: Iterable[Run]) -> int:
    """The number of the next attempt at a slot that these runs were of."""
    return max(run.attempt for run in runs) + 1


def has_succeeded(runs: Iterable[Run]) -> bool:
    """Has a run of a slot succeeded?"""
    return any(run.status is RunStatus.SUCCESS for run in runs)


def missed_slots(
    endpoint: Endpoint, since: datetime, until: datetime, served: Iterable[datetime], cron: CronClock
) -> Iterator[datetime]:
    """The slots of a baseline from one moment up to another, without the second, that no run was for.

    1. A cron line has its fires; one that a run was for is not missed.
    2. An interval is counted from the first moment; a slot is missed if no run was for it, nor for a
       moment before the next.
    3. Day parts have the slots of the part that was in force, an interval's from where it began.
    4. A slot at which its calendars were closed is not missed.
    """
    slots = _slots_without_run(endpoint, since, until, served, cron)
    rules = endpoint.calendar_rules
    return slots if rules is NO_RULES else (slot for slot in slots if not is_closed(rules, slot))


def _slots_without_run(
    endpoint: Endpoint, since: datetime, until: datetime, served: Iterable[datetime], cron: CronClock
) -> Iterator[datetime]:
    baseline = endpoint.baseline
    match baseline:
        case Cron():
            return _missed_fires(baseline, since, until, frozenset(served), cron)
        case Every():
            return _missed_spans(milliseconds(baseline.interval_ms), since, until, sorted(served))
        case Once():
            raise InvalidRequest("What runs once has no slots to backfill; run it again.", "endpoint_id")
        case DayParts():
            return _missed_in_parts(baseline, since, until, sorted(served), cron)
    assert_never(baseline)


def _missed_fires(
    line: Cron, since: datetime, until: datetime, served: frozenset[datetime], cron: CronClock
) -> Iterator[datetime]:
    at = cron.next(line.expression, since - INSTANT, line.timezone)
    while at < until:
        if at not in served:
            yield at
        at = cron.next(line.expression, at, line.timezone)


def _missed_spans(
    span: timedelta, since: datetime, until: datetime, served: Sequence[datetime]
) -> Iterator[datetime]:
    at = since
    while at < until:
        place = bisect_left(served, at)
        if place == len(served) or served[place] >= at + span:
            yield at
        at += span


def _missed_in_parts(
    day_parts: DayParts, since: datetime, until: datetime, served: Sequence[datetime], cron: CronClock
) -> Iterator[datetime]:
    for stretch in _stretches_from(day_parts, since, until, cron):
        at = stretch.first
        while at < min(stretch.closes, until):
            place = bisect_left(served, at)
            if place == len(served) or served[place] >= min(at + stretch.step, stretch.closes):
                yield at
            at += stretch.step


def _stretches_from(
    day_parts: DayParts, since: datetime, until: datetime, cron: CronClock
) -> Iterator[Stretch]:
    """The slots of day parts, one at the first moment itself if an interval is in force there."""
    if isinstance(cadence_at(day_parts, since), Every):
        first = since
    else:
        found = propose(day_parts, last=since, after=since - INSTANT, cron=cron)
        if found is None:
            return
        first = found.at
    stretch = stretch_at(day_parts, first)
    yield stretch
    if stretch.closes < until:
        yield from stretches(day_parts, last=stretch.last, until=until, cron=cron)
