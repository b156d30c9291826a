"""Endpoints, hints and moments that crowd around the edges of the rules."""

from datetime import datetime
from itertools import accumulate, product
from typing import Any

from hypothesis import strategies as st
from tests.scheduling.scheduling_fixtures import HOUR, MINUTE, NOW, SECOND, a_calendar, an_endpoint, at

from cadenza.domain.scheduling.baseline import Baseline, Cron, DayPart, DayParts, Every, Once
from cadenza.domain.scheduling.calendars.calendar import Calendar, calendar_of
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules, WhenClosed
from cadenza.domain.scheduling.endpoint import Endpoint, Lease, OpenSlot, evolve
from cadenza.domain.scheduling.hint import HintMode, IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import REQUESTED, Source
from cadenza.domain.scheduling.policy import Backoff, Guard, Policy
from cadenza.domain.validation import milliseconds

SPANS = (1, 1_000, 20_000, 60_000, 300_000, 3_600_000)
# Drawing is what costs time here, so that spans, guards and policies are drawn whole.
ODD_SPANS = (2, 7, 999, 1_001, 12_345, 19_999, 59_999, 61_000, 123_456, 1_234_567, 3_599_999, 7_200_000)
WIDEST = 7_200_000
BESIDE = (-1, 0, 1)
EDGES = sorted({sign * span + beside for span in (0, *SPANS) for sign in (-1, 1) for beside in BESIDE})
NO_GUARD = st.just(Guard())
NOTHING = st.none()
LINES = ("*/1 * * * *", "*/5 * * * *", "*/15 * * * *", "*/30 * * * *")


def spans() -> st.SearchStrategy[int]:
    return st.sampled_from(SPANS + ODD_SPANS)


def moments() -> st.SearchStrategy[datetime]:
    return (st.sampled_from(EDGES) | st.integers(-WIDEST, WIDEST)).map(at)


def future() -> st.SearchStrategy[datetime]:
    return (st.sampled_from([edge for edge in EDGES if edge > 0]) | st.integers(1, WIDEST)).map(at)


def past() -> st.SearchStrategy[datetime]:
    return (st.sampled_from([edge for edge in EDGES if edge <= 0]) | st.integers(-WIDEST, 0)).map(at)


def aims() -> st.SearchStrategy[tuple[int | None, int]]:
    """A place beside one of the marks that are known later, or anywhere."""
    beside_a_mark = st.tuples(st.integers(0, 11), st.sampled_from(BESIDE))
    return beside_a_mark | st.tuples(st.none(), st.sampled_from(EDGES) | st.integers(-WIDEST, WIDEST))


def hit(aim: tuple[int | None, int], marks: list[datetime]) -> datetime:
    which, beside = aim
    return (NOW if which is None else marks[which % len(marks)]) + milliseconds(beside)


def everies() -> st.SearchStrategy[Every]:
    return st.sampled_from([Every(span) for span in SPANS + ODD_SPANS])


def crons() -> st.SearchStrategy[Cron]:
    return st.sampled_from([Cron(line) for line in LINES])


def onces() -> st.SearchStrategy[Once]:
    return st.builds(Once, moments())


def repeating() -> st.SearchStrategy[Every | Cron]:
    return everies() | crons()


def day_parts() -> st.SearchStrategy[DayParts]:
    """Two parts around now, and an interval or a line otherwise."""
    opens = ((-HOUR, -MINUTE), (-SECOND, 5 * MINUTE), (MINUTE, HOUR), (-2 * HOUR, 2 * HOUR))
    several = [
        calendar_of(f"part{place}", "UTC", [(at(begin), at(end))]) for place, (begin, end) in enumerate(opens)
    ]
    pairs = st.sampled_from([(one, other) for one in several for other in several if one is not other])
    return st.builds(_parted, pairs, repeating(), repeating(), repeating())


def _parted(
    calendars: tuple[Calendar, Calendar], first: Every | Cron, second: Every | Cron, otherwise: Every | Cron
) -> DayParts:
    parts = zip(calendars, (first, second), strict=True)
    return DayParts(tuple(DayPart(calendar, cadence) for calendar, cadence in parts), otherwise)


def baselines() -> st.SearchStrategy[Baseline]:
    return everies() | crons() | onces() | day_parts()


def guards() -> st.SearchStrategy[Guard]:
    bounds = (None, *SPANS, 61_000)
    pairs = [(low, high) for low in bounds for high in bounds]
    return st.sampled_from([Guard(low, high) for low, high in pairs if not low or not high or low <= high])


def modes() -> st.SearchStrategy[HintMode]:
    return st.sampled_from(HintMode)


def policies() -> st.SearchStrategy[Policy]:
    kinds = product((1, 2, 3, 4), (0, *SPANS), Backoff)
    return st.sampled_from(
        [Policy(max_attempts=most, retry_delay_ms=delay, backoff=backoff) for most, delay, backoff in kinds]
    )


def interval_hints(expiries: st.SearchStrategy[datetime]) -> st.SearchStrategy[IntervalHint]:
    return st.builds(IntervalHint, spans(), expiries)


def one_shots(
    moment: st.SearchStrategy[datetime], expiries: st.SearchStrategy[datetime]
) -> st.SearchStrategy[OneShotHint]:
    return st.builds(OneShotHint, moment, expiries)


def marks_of(endpoint: Endpoint) -> list[datetime]:
    """Where the rules turn: now, what was last, one of each span after it, and what is set already."""
    last, guard, baseline = endpoint.last_run_at or NOW, endpoint.guard, endpoint.baseline
    lengths = [guard.min_interval_ms, guard.max_interval_ms]
    if isinstance(baseline, Every):
        lengths.append(baseline.interval_ms)
    marks = [NOW, last, *(last + milliseconds(length) for length in lengths if length is not None)]
    if isinstance(baseline, Once):
        marks.append(baseline.at)
    known = (
        endpoint.paused_until,
        endpoint.next_run_at,
        endpoint.one_shot_hint and endpoint.one_shot_hint.at,
    )
    return [*marks, *(moment for moment in known if moment)]


AIM = NOTHING | aims()
INTERVAL = NOTHING | st.tuples(spans(), aims())
ONE_SHOT = NOTHING | st.tuples(aims(), aims())
SKIPS = st.sampled_from((None, None, NOW)) | past()
NO_CALENDARS = st.just(NO_RULES)
LATEST_EDGE = 400 * WIDEST


@st.composite
def calendars(draw: st.DrawFn, id: str = "work") -> Calendar:
    """Open spans around now, some of them short and close together, and the last one far ahead."""
    steps = draw(st.lists(spans(), min_size=1, max_size=9))
    first = draw(st.sampled_from((-WIDEST, -60_000, -1, 0, 1, 60_000)))
    edges = list(accumulate(steps, initial=first))
    return a_calendar(*edges[: len(edges) // 2 * 2], edges[-1] + 2 * WIDEST, LATEST_EDGE, id=id)


@st.composite
def calendar_rules(draw: st.DrawFn) -> CalendarRules:
    """Rules with one or more calendars, with and without a start and an end."""
    parts: dict[str, Any] = {"when_closed": draw(st.sampled_from(WhenClosed))}
    names = ("only_during", "never_during", "job_only_during", "job_never_during")
    for name in draw(st.sampled_from([(name,) for name in names] + [names[:2], (names[0], names[3])])):
        parts[name] = draw(calendars(name.replace("_", "-")))
    if draw(st.integers(0, 3)) == 0:
        parts["starts_at"] = draw(moments())
    if draw(st.integers(0, 5)) == 0:
        parts["ends_at"] = at(draw(st.integers(WIDEST + 1, 6 * WIDEST)))
    return CalendarRules(**parts)


BASIC: dict[str, st.SearchStrategy[Any]] = {
    "last_run_at": NOTHING | past() | st.just(at(1)),
    "baseline": baselines(),
    "guard": guards(),
    "hint_mode": modes(),
    "policy": policies(),
    "failure_count": st.integers(0, 7),
    "skipped_at": SKIPS,
}


@st.composite
def endpoints(draw: st.DrawFn, /, **chosen: st.SearchStrategy[Any]) -> Endpoint:
    """Endpoints to plan for; any part can be chosen, the others are drawn, most of them beside an edge."""
    basic = {name: draw(chosen.get(name, default)) for name, default in BASIC.items()}
    basic["calendar_rules"] = draw(chosen.get("calendar_rules", NO_CALENDARS))
    endpoint = an_endpoint(**basic)
    marks = marks_of(endpoint)
    aimed = {"interval_hint": INTERVAL, "one_shot_hint": ONE_SHOT, "paused_until": AIM}
    parts = {name: draw(chosen.get(name, default)) for name, default in aimed.items()}
    if isinstance(endpoint.baseline, Once):
        parts["interval_hint"] = None
    elif isinstance(parts["interval_hint"], tuple):
        span, aim = parts["interval_hint"]
        parts["interval_hint"] = IntervalHint(span, hit(aim, marks))
    if isinstance(parts["one_shot_hint"], tuple):
        moment, expiry = parts["one_shot_hint"]
        parts["one_shot_hint"] = OneShotHint(hit(moment, marks), hit(expiry, marks))
    if isinstance(parts["paused_until"], tuple):
        parts["paused_until"] = hit(parts["paused_until"], marks)
    return evolve(endpoint, **parts)


STANDING: dict[str, st.SearchStrategy[Any]] = {
    "next_run_at": AIM,
    "quota_opens_at": AIM,
    "lease": NOTHING | aims(),
    "open_slot": NOTHING | st.tuples(aims(), st.integers(1, 3)),
    "next_source": st.sampled_from(
        [source for source in Source if source not in {Source.RETIRED, *REQUESTED}]
    ),
}


@st.composite
def stored(draw: st.DrawFn, /, **chosen: st.SearchStrategy[Any]) -> Endpoint:
    """Endpoints as a store holds them: planned, perhaps claimed, perhaps waiting for a retry or a quota."""
    endpoint = draw(endpoints(**{name: part for name, part in chosen.items() if name not in STANDING}))
    marks = marks_of(endpoint)
    parts = {name: draw(chosen.get(name, default)) for name, default in STANDING.items()}
    for name in ("next_run_at", "quota_opens_at"):
        if isinstance(parts[name], tuple):
            parts[name] = hit(parts[name], marks)
    if parts["lease"] is not None:
        parts["lease"] = Lease("token", "run-0", hit(parts["lease"], marks))
    if parts["open_slot"] is not None:
        aim, attempts = parts["open_slot"]
        parts["open_slot"] = OpenSlot(hit(aim, marks), attempts)
    return evolve(endpoint, **parts)
