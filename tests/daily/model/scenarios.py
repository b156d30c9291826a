"""Where and when the state machine plays: zones beside changes of their clocks, due times, programmes."""

from datetime import UTC, date, datetime, time
from functools import cache
from typing import NamedTuple

from hypothesis import strategies as st
from tests.daily.model.reference_model import EVERY_DAY, Key, Pace, Programme
from tests.daily.model.wall_clocks import DAY, Hours

NAMES = ("ann", "bob", "cyd", "dan")
PROGRAMMES = st.sampled_from(["daily", "evening"])
KEYS = st.sampled_from(
    [*(Key("daily", name) for name in NAMES), Key("evening", "ann"), Key("evening", "bob")]
)
USERS = st.integers(0, 6)
"""One of those who are enrolled, counted round."""
EDGE_DUES = [time(0), time(0, 1), time(0, 59), time(1), time(12), time(23, 30), time(23, 59)]


class Place(NamedTuple):
    """Some zones, and a moment at which it becomes interesting there."""

    start: datetime
    zones: dict[str, time]
    """With a time that their clocks skip or pass twice."""


def place(start: str, **zones: str) -> Place:
    moment = datetime.fromisoformat(start).replace(tzinfo=UTC)
    return Place(moment, {NAMED[name]: time.fromisoformat(due) for name, due in zones.items()})


NAMED = {
    "utc": "UTC",
    "berlin": "Europe/Berlin",
    "nuuk": "America/Nuuk",
    "beirut": "Asia/Beirut",
    "troll": "Antarctica/Troll",
    "havana": "America/Havana",
    "los_angeles": "America/Los_Angeles",
    "tokyo": "Asia/Tokyo",
    "apia": "Pacific/Apia",
    "honolulu": "Pacific/Honolulu",
    "kiritimati": "Pacific/Kiritimati",
}
IN_UTC = [
    place("2026-03-09T23:00", utc="00:30"),
    place("2026-03-10T10:00", utc="12:00"),
]
BESIDE_CHANGES = [
    place("2026-03-28T21:00", berlin="02:30", nuuk="23:30", beirut="00:30", utc="01:00"),
    place("2026-10-24T19:00", berlin="02:30", nuuk="23:30", beirut="23:30", troll="01:30"),
    place("2026-03-08T03:00", los_angeles="02:15", tokyo="00:00", havana="00:30"),
    place("2011-12-29T08:00", apia="12:00", honolulu="23:00", kiritimati="00:30"),
]
PLACES = st.sampled_from([*IN_UTC, *BESIDE_CHANGES])
ZONES = st.integers(0, 3)
"""One of the place's, counted round."""
NEAR = st.sampled_from([1, 2, 15, 30, 59, 60, 61, 62, 61, 62, -1, 1_439, *[None] * 5])
"""In so many minutes somebody is due, or at the time that clocks skip or pass twice."""
DUES = st.one_of(st.sampled_from(EDGE_DUES), NEAR)
MOVED = st.sampled_from([None, time(0)])
"""Whoever moves is due at the same time, or as early as can be."""
OFF = st.sampled_from([-1, 0, 1])
EDGES = st.sampled_from(["opens", "opens", "cutoff", "cutoff", "midnight", "retry", "retry"])
SPANS = st.sampled_from([0, 1, 30, 60, 60, 240, 600, 3_600])
ABSENCES = st.sampled_from([0, 0, 60, 60, 3_600, 26 * 3_600, 8 * 86_400])
STEPS = st.sampled_from([-86_400, -7_200, -301, -300, -240, -6, -1, 1, 6, 240, 300, 301, 3_600, 90_000])
COUNTS = st.integers(0, 4)
PACES = st.sampled_from(
    [*[Pace()] * 6, Pace(1, 1), Pace(15, 7), Pace(30, 45), Pace(90, 1), Pace(600, 240), Pace(1_440, 60)]
)
"""Mostly that of the seed."""


@cache
def hours(first: date, zone: str, *, every: int, since: time = time(), until: time | None = None) -> Hours:
    """Open on some dates of the next weeks."""
    return Hours(zone, frozenset(first + number * DAY for number in range(-4, 60, every)), since, until)


@cache
def programmes(first: date) -> st.SearchStrategy[Programme]:
    """Of each kind some that leave dates out, and one that leaves none."""
    days = [first + number * DAY for number in range(3)]
    weekdays = [EVERY_DAY - {day.weekday()} for day in days]
    calendars = st.sampled_from(
        [
            hours(day, zone, every=every, since=since, until=until)
            for day in days[:2]
            for zone, since, until in OPEN
            for every in (1, 2)
        ]
    )
    kinds = st.one_of(
        st.sampled_from([None, 30, 120]).map(Programme),
        st.sampled_from([Programme(weekdays=one) for one in (*weekdays, EVERY_DAY - weekdays[0])]),
        calendars.map(lambda only: Programme(only=only)),
        calendars.map(lambda never: Programme(1_440, never=never)),
    )
    return st.builds(_with, kinds, st.sampled_from([None, 3, 20]), st.sampled_from([1, 50, 100, 100, 100]))


def _with(programme: Programme, retry_delay_minutes: int | None, share_percent: int) -> Programme:
    return programme._replace(retry_delay_minutes=retry_delay_minutes, share_percent=share_percent)


OPEN = [
    ("UTC", time(8), time(18)),
    ("Asia/Tokyo", time(), None),
    ("Asia/Tokyo", time(8), None),
    ("America/Los_Angeles", time(), None),
    ("America/Los_Angeles", time(), time(18)),
]
