"""Cron lines, held against a small model of Debian's daemon at every kind of clock change."""

import sys
from bisect import bisect_right
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

import pytest
from cronsim import CronSim
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cadenza.adapters import cron as module
from cadenza.adapters.cron import CronsimCron
from cadenza.domain.errors import InvalidRequest
from cadenza.ports.clock import CronCalculator

MINUTE, MICROSECOND = timedelta(minutes=1), timedelta(microseconds=1)
CLOCK_CHANGES = {
    "Europe/Berlin": ["2026-03-29T01:00Z", "2026-10-25T01:00Z"],
    "America/New_York": ["2026-03-08T07:00Z", "2026-11-01T06:00Z"],
    "Australia/Lord_Howe": ["2026-04-04T15:00Z", "2026-10-03T15:30Z"],  # by half an hour
    "America/Santiago": ["2026-04-05T03:00Z", "2026-09-06T04:00Z"],  # to and from midnight
    "America/Havana": ["2026-03-08T05:00Z", "2026-11-01T05:00Z"],  # midnight skipped, and repeated
    "Africa/Casablanca": ["2026-02-15T02:00Z", "2026-03-22T02:00Z"],
    "Antarctica/Troll": ["2026-03-29T01:00Z", "2026-10-25T01:00Z"],  # by two hours
    "Antarctica/Casey": ["2010-03-04T15:00Z", "2011-10-27T18:00Z", "2020-10-03T16:01Z"],  # by three
    "Pacific/Apia": ["2011-09-24T14:00Z", "2011-12-30T10:00Z", "2012-03-31T14:00Z"],  # a day skipped
    "Pacific/Kwajalein": ["1969-09-30T13:00Z"],  # 23 hours repeated
    "Asia/Kolkata": ["2026-03-29T01:00Z"],  # none
}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def values(field: str, low: int, high: int) -> set[int]:
    """The numbers a field names, read without cronsim."""
    named: set[int] = set()
    for part in field.replace("*", f"{low}-{high}").split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        named |= set(range(int(first), int(last or (high if step else first)) + 1, int(step or 1)))
    return named


class Entry:
    def __init__(self, expression: str) -> None:
        minute, hour, day, month, weekday = expression.split()
        self.minutes, self.hours = values(minute, 0, 59), values(hour, 0, 23)
        self.days, self.months = values(day, 1, 31), values(month, 1, 12)
        self.weekdays = {number % 7 for number in values(weekday, 0, 7)}
        self.wildcard = minute[0] == "*" or hour[0] == "*"
        self.day_rule = all if day[0] == "*" or weekday[0] == "*" else any

    def fits(self, local: datetime) -> bool:
        if local.minute not in self.minutes or local.hour not in self.hours or local.month not in self.months:
            return False
        return self.day_rule([local.day in self.days, local.isoweekday() % 7 in self.weekdays])


def debian(entry: Entry, zone: ZoneInfo, start: datetime, end: datetime) -> Iterator[datetime]:
    """The daemon's own loop: a virtual clock follows the wall clock, minute by minute."""
    moment, virtual = start, start.astimezone(zone).replace(tzinfo=None)
    while (moment := moment + MINUTE) <= end:
        local = moment.astimezone(zone).replace(tzinfo=None)
        jump, due = (local - virtual) // MINUTE, entry.fits(local)
        if -180 < jump <= 0:
            due = due and entry.wildcard
        else:
            if 1 < jump <= 180 and not entry.wildcard:
                due = any(entry.fits(virtual + step * MINUTE) for step in range(1, jump + 1))
            virtual = local
        if due:
            yield moment


def each(words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words.split())


minutes = each("0 30 59 * */15 */40 5,45 10-50/20 45 1")
hours = each("* */2 0 1 2 3 23 0-4 1,2 2,3 22-23 0-23/3")
days = st.sampled_from(["* * *", "* * 0", "* * 7", "* * 6", "* * */7", "1-7 * *", "*/2 * 1-5", "8 * 6"])
expressions = st.builds("{} {} {}".format, minutes, hours, days)
dates, months = each("* L LW 29 1,15 */10 28-31"), each("* FEB feb,JUN-aug */5 12 2")
weekdays = each("* 0 7 SUN mon-fri FRI#2 5L */3 6,7")
any_line = st.tuples(minutes, hours, dates, months, weekdays).map(" ".join)
distances = st.timedeltas(-timedelta(hours=4), timedelta(hours=4))
changes = st.sampled_from([(zone, at(text)) for zone, texts in CLOCK_CHANGES.items() for text in texts])
lines = st.tuples(expressions, changes)


@settings(max_examples=150, deadline=None)
@given(changes, expressions, st.sampled_from([0, 1, 59_999_999]))
@example(("Europe/Berlin", at("2026-10-25T01:00Z")), "* * * * *", 0)
@example(("Antarctica/Casey", at("2010-03-04T15:00Z")), "30 23 * * *", 0)
@example(("Australia/Lord_Howe", at("2026-04-04T15:00Z")), "45 * * * *", 0)
@example(("Australia/Lord_Howe", at("2026-10-03T15:30Z")), "*/10 3 * * *", 0)
@example(("America/Santiago", at("2026-09-06T04:00Z")), "*/15 0 * * 0", 0)
def test_fires_agree_with_the_daemon(change: tuple[str, datetime], expression: str, rest: int) -> None:
    (zone, moment), forgetful, day = change, CronsimCron(cached=0), timedelta(hours=30)
    fires = list(debian(Entry(expression), ZoneInfo(zone), moment - day, moment + day))
    for distance in [*range(-1500, 1500, 60), *range(-185, 185)]:
        after = moment + distance * MINUTE + rest * MICROSECOND
        answer, later = forgetful.next(expression, after, zone), fires[bisect_right(fires, after) :]
        assert answer == later[0] if later else answer > moment + day


@settings(deadline=None)
@given(st.tuples(lines, lines, lines), st.lists(st.tuples(st.integers(0, 2), distances), max_size=30))
def test_the_answer_never_depends_on_what_was_asked_before(
    known: tuple[tuple[str, tuple[str, datetime]], ...], asked: list[tuple[int, timedelta]]
) -> None:
    cron = CronsimCron(cached=2)
    for index, distance in asked:
        expression, (zone, moment) = known[index]
        fresh = CronsimCron().next(expression, moment + distance, zone)
        assert cron.next(expression, moment + distance, zone) == fresh


@given(expressions, st.sampled_from(list(CLOCK_CHANGES)), st.datetimes(at("1980-01-01").replace(tzinfo=None)))
def test_a_fire_is_the_first_whole_minute_later(expression: str, zone: str, naive: datetime) -> None:
    after = min(naive.replace(tzinfo=UTC), at("9990-01-01"))
    fire = CronsimCron().next(expression, after, zone)
    assert fire > after
    assert (fire.tzinfo, fire.second, fire.microsecond) == (UTC, 0, 0)
    assert CronsimCron().next(expression, fire - MICROSECOND, zone) == fire


@given(any_line, st.datetimes().map(lambda naive: naive.replace(year=1990 + naive.year % 200, day=1)))
def test_without_clock_changes_the_fires_are_those_of_cronsim(expression: str, naive: datetime) -> None:
    after = naive.replace(tzinfo=UTC)
    fire = next(CronSim(expression, after), None)
    if fire is None:
        with pytest.raises(InvalidRequest, match="never fires"):
            CronsimCron().next(expression, after)
    else:
        assert CronsimCron().next(expression, after) == fire


def test_fields_that_exclude_each_other_never_fire() -> None:
    with pytest.raises(InvalidRequest, match="never fires"):
        CronsimCron().check("0 * */10 FEB 5L")


@pytest.mark.parametrize(
    ("expression", "zone", "after", "expected"),
    [
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", "29 03:00+0200, 30 02:30+0200"),
        ("0,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", "29 03:00+0200, 30 02:00+0200"),
        ("*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", "30 02:00+0200, 30 02:30+0200"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", "25 02:30+0200, 26 02:30+0100"),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10Z", "26 02:30+0100, 27 02:30+0100"),
        ("30 * * * *", "Europe/Berlin", "2026-10-25T00:10Z", "25 02:30+0200, 25 02:30+0100"),
        ("30 * * * *", "UTC", "2026-10-25T02:10+01:00", "25 01:30+0000, 25 02:30+0000"),
        ("0 9 * * *", "Pacific/Apia", "2011-12-29T12:00Z", "29 09:00-1000, 31 09:00+1400"),
        (" @Midnight", "UTC", "2026-01-01T00:00Z", "02 00:00+0000, 03 00:00+0000"),
        ("0\t0 * * 7", "UTC", "2026-01-01T00:00Z", "04 00:00+0000, 11 00:00+0000"),
    ],
)
def test_two_fires_by_example(expression: str, zone: str, after: str, expected: str) -> None:
    first = CronsimCron().next(expression, datetime.fromisoformat(after), zone)
    fires = [first, CronsimCron().next(expression, first, zone)]
    assert ", ".join(f"{fire.astimezone(ZoneInfo(zone)):%d %H:%M%z}" for fire in fires) == expected


def test_names_stand_for_lines() -> None:
    fires = [CronsimCron().next(name, at("2026-05-06T07:08Z")) for name in module.NICKNAMES]
    assert " ".join(f"{fire:%m%d%H}" for fire in fires) == "050608 050700 050700 051000 060100 010100 010100"


@pytest.mark.parametrize("weekday", range(7))
def test_the_rarest_day_is_found_forty_years_ahead(weekday: int) -> None:
    after, cron = at("2025-01-01T00:00Z"), CronsimCron()
    for day in (date(year, 2, 29) for year in range(2028, 2200, 4) if year != 2100):
        if day.isoweekday() % 7 == weekday:
            after = cron.next(f"0 0 * 2 {weekday}#5", after)
            assert after.date() == day


REFUSED: dict[str, list[Any]] = {
    "five fields": ["", "* * * *", "0 * * * * *", "0 0 * * * * 2026"],
    "its minute is wrong": ["61 * * * *", "*/0 * * * *", "? * * * *", "1-0 * * * *"],
    "its (hour|day-of-month|month) is wrong": [
        "* 24 * * *",
        "* * 32 * *",
        "* * 0 2 *",
        "* * * 13 *",
        "* * 30 0 *",
    ],
    "its day-of-week is wrong": ["* * * * 8", "* * * * SAT-MON"],
    "never fires": ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 */31 * MON#2"],
    "@reboot names no time|known are @hourly": ["@reboot", "@often", "@daily @daily"],
    "one line of plain ASCII": ["* * * * *\n", "\u0663 * * * *", "*\u00a0* * * *"],
    "maximum is 256": ["0," * 200 + "0 * * * *"],
    "must be a text": [b"* * * * *", ["*"] * 5, None],
}
UNKNOWN: list[Any] = ["Mars/Olympus", "Europe", "europe/berlin", "UTC+1", "Z\u00fcrich", "", "Z" * 65]
UNKNOWN += ["../etc/passwd", "/etc/passwd", "Europe/../UTC", "UTC\n", "UTC\0", None, ["UTC"], ZoneInfo("UTC")]
UNKNOWN += ["localtime", "posix/UTC", "right/UTC", "zone.tab"]  # files of some machines


@pytest.mark.parametrize(("reason", "line"), [(why, line) for why in REFUSED for line in REFUSED[why]])
def test_a_bad_expression_is_refused_with_the_reason(reason: str, line: Any) -> None:
    for ask in (CronsimCron().check, lambda line: CronsimCron().next(line, at("2026-01-01T00:00Z"))):
        with pytest.raises(InvalidRequest, match=reason) as refused:
            ask(line)
        assert (refused.value.field, "\n" in refused.value.message) == ("expression", False)


@pytest.mark.parametrize("zone", UNKNOWN)
def test_what_names_no_zone_is_refused(zone: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        CronsimCron().check("* * * * *", zone)
    assert (refused.value.field, "\n" in refused.value.message) == ("timezone", False)


def test_every_zone_of_the_database_is_taken() -> None:
    for zone in available_timezones() - {"localtime"}:
        CronsimCron().check("0 9 * * *", zone)


def test_a_wildcard_line_that_fits_only_a_skipped_hour_never_fires() -> None:
    CronsimCron().check("*/30 2 * 3 0L", "UTC")
    with pytest.raises(InvalidRequest, match="never fires"):
        CronsimCron().check("*/30 2 * 3 0L", "Europe/Berlin")


LAST = datetime.max.replace(tzinfo=UTC)
UNFIT: list[Any] = [LAST, LAST.replace(tzinfo=ZoneInfo("Pacific/Pago_Pago"))]  # the calendar ends
UNFIT += [LAST.replace(year=2025, tzinfo=None), time(tzinfo=UTC), "now", None]


def test_a_moment_without_a_zone_or_a_next_one_is_refused_also_from_memory() -> None:
    cron = CronsimCron()
    cron.next("0 0 1 1 *", at("2025-12-31T12:00Z"))
    for after in UNFIT:
        with pytest.raises(InvalidRequest) as refused:
            cron.next("0 0 1 1 *", after)
        assert refused.value.field == "after"


def test_until_the_fire_nothing_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cron: CronCalculator = CronsimCron()
    after = at("2026-01-01T00:00Z")
    fire = cron.next("0 0 2 1 *", after)
    monkeypatch.setattr(module.CronExpression, "first_after", None)
    assert cron.next("0 0 2 1 *", fire - MICROSECOND) == cron.next("0 0 2 1 *", after) == fire


def test_threads_may_share_one_cron_and_its_bounded_memory() -> None:
    cron, usual = CronsimCron(cached=2), sys.getswitchinterval()
    lines = [f"{step % 7} * * * *" for step in range(2000)]
    afters = [at("2026-10-24T22:00Z") + step * 7 % 211 * MINUTE for step in range(2000)]
    sys.setswitchinterval(1e-6)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(cron.next, lines, afters))
    sys.setswitchinterval(usual)
    assert answers == list(map(CronsimCron(cached=0).next, lines, afters))
    assert cron._read.cache_info().currsize == 2
