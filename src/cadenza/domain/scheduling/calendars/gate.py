"""When calendars, a start and an end let an endpoint run, and what keeps it from running."""

from datetime import datetime

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules, WhenClosed
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.target import HeartbeatTarget
from cadenza.domain.validation import iso

CLOSED, RUN_AT_END = Source.CLOSED, WhenClosed.RUN_AT_END  # Python 3.11 is slow to find members.


def first_open(rules: CalendarRules, since: datetime) -> datetime | None:
    """The first moment at or after another one at which it may run; None if there is none.

    A moment at which it may run is answered as it is, the same object.
    """
    at, starts, ends = since, rules.starts_at, rules.ends_at
    if starts is not None and at < starts:
        at = starts
    if rules.open_times is not None:
        opening = rules.open_times.opens_at(at)
        if opening is None:
            return None
        at = opening
    return None if ends is not None and at >= ends else at


def is_closed(rules: CalendarRules, at: datetime) -> bool:
    """May it not run at this moment?"""
    return first_open(rules, at) is not at


def why_not_open(rules: CalendarRules, at: datetime) -> str | None:
    """What keeps it from running at a moment, in words; None if it may run then."""
    opening = first_open(rules, at)
    if opening is at:
        return None
    if rules.ends_at is not None and at >= rules.ends_at:
        return f"its schedule ended at {iso(rules.ends_at)}"
    if rules.starts_at is not None and at < rules.starts_at:
        return f"it starts at {iso(rules.starts_at)}"
    closed = rules.why_closed(at) or "its calendars are closed"
    return f"{closed}, and not open again" if opening is None else f"{closed} until {iso(opening)}"


def claimed_from(endpoint: Endpoint, moment: datetime) -> datetime:
    """The moment from which an endpoint with calendars may be claimed, given when it would be without.

    1. A slot that is to be skipped comes due at its moment, and so does a heartbeat, which runs nothing.
    2. Everything else waits for the opening; if there is none, it comes due to be closed.
    """
    to_be_skipped = endpoint.next_source is CLOSED and endpoint.open_slot is None
    if to_be_skipped or type(endpoint.target) is HeartbeatTarget:
        return moment
    return first_open(endpoint.calendar_rules, moment) or moment


def refuse_never_open_together(rules: CalendarRules, now: datetime) -> None:
    """InvalidRequest if calendars are never open together, from now or a start on."""
    if rules.open_times is None or rules.opens_after(now) is not None:
        return
    names = " and ".join(one.id for one in rules.calendars)
    leave = "leaves" if len(rules.calendars) == 1 else "leave"
    raise InvalidRequest(
        f"Nothing would ever run: {names} {leave} no open time ahead; change one of them, or name another.",
        "calendar",
    )


def refuse_never(endpoint: Endpoint, now: datetime) -> None:
    """InvalidRequest if an endpoint that is being written could never run, as far as that is known.

    1. Its calendars are never open together, from now or its start on.
    2. What runs once would do so outside of its start, end or calendars, and is not to run at the end.
    """
    rules, baseline = endpoint.calendar_rules, endpoint.baseline
    if rules is NO_RULES:
        return
    refuse_never_open_together(rules, now)
    if isinstance(baseline, Once) and baseline.at > now and is_closed(rules, baseline.at):
        if rules.when_closed is RUN_AT_END and first_open(rules, baseline.at) is not None:
            return
        why = f"It would not run at {iso(baseline.at)}: {why_not_open(rules, baseline.at)}."
        raise InvalidRequest(f"{why} Choose another moment.", "baseline")
