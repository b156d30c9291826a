"""Calendars of endpoints: nothing starts while they are closed, and each time has one skipped verdict."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from random import Random

from tests.simulation.whole_system.process_clocks import START

from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.calendars.calendar import calendar_of
from cadenza.domain.scheduling.calendars.gate import is_closed, why_not_open
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules, WhenClosed
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.run import Claim, Run, RunStatus

FAR = START + timedelta(days=365)
CLOSED_S = ((8, 16), (22, 37), (44, 49))
"""When a calendar is closed, in seconds from the start."""


def with_calendars(endpoint: Endpoint, random: Random) -> Endpoint:
    """The endpoint, or in some seeds one that keeps to a calendar."""
    if random.random() < 0.75:
        return endpoint
    edges = [START - timedelta(days=1)]
    for begin_s, end_s in CLOSED_S:
        edges += (START + timedelta(seconds=begin_s), START + timedelta(seconds=end_s))
    edges.append(FAR)
    work = calendar_of("work", "UTC", list(zip(edges[::2], edges[1::2], strict=True)))
    when_closed = random.choice(list(WhenClosed))
    return evolve(endpoint, calendar_rules=CalendarRules(only_during=work, when_closed=when_closed))


def start_violation(claim: Claim, now: datetime) -> str | None:
    """What is wrong with a run that starts now, by the clock of its process; None if it is open."""
    rules = claim.endpoint.calendar_rules
    if rules is NO_RULES or not is_closed(rules, now):
        return None
    return f"while it is {why_not_open(rules, now)}"


def closure_violations(endpoint: Endpoint, runs: Sequence[Run], *, was_set_back: bool) -> Iterator[str]:
    """Times that its calendars were closed with more than one skipped verdict.

    A clock that is set back, or behind, shows the same time again; what runs once has no other slot.
    """
    open_times = endpoint.calendar_rules.open_times
    if open_times is None or was_set_back or isinstance(endpoint.baseline, Once):
        return
    skipped = [run for run in runs if run.status is RunStatus.SKIPPED and _by_calendar(run)]
    closures = Counter(open_times.closed_since(run.finished_at or run.slot) for run in skipped)
    for since, count in closures.items():
        if count > 1:
            yield f"{count} slots were skipped since it closed at {since}"


def _by_calendar(run: Run) -> bool:
    return (run.reason or "").startswith("outside of the calendar")
