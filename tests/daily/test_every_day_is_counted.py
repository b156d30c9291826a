"""I6 checked from outside, day by day, as an operator could: also over weeks without service."""

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from tests.daily.daily_fixtures import FAILED, DailyFixture, MakeDaily
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.daily.user import DONE, DailyRunResult

MIDNIGHT = datetime(2025, 1, 1, tzinfo=UTC)
FIRST_DAY, LAST_DAY = date(2025, 1, 1), date(2025, 2, 14)
DAY = timedelta(days=1)
DUES = {
    "ann": time(0),
    "bob": time(0, 30),
    "cid": time(9),
    "dan": time(9),
    "eve": time(22, 30),
}
DAYS = [FIRST_DAY + n * DAY for n in range((LAST_DAY - FIRST_DAY).days + 1)]


async def serve(daily: DailyFixture, until: datetime) -> None:
    while daily.clocks.now() < until:
        await daily.tick()
        daily.clocks.advance(timedelta(minutes=10))


async def a_long_gap(make_daily: MakeDaily, app: ApplicationFixture) -> DailyFixture:
    """Two days of service, five weeks without, and service again."""
    daily = make_daily(MIDNIGHT - timedelta(minutes=80), store=app.store.daily, tick_ms=600_000)

    def answer(user_id: str, _: date) -> DailyRunResult:
        return FAILED if user_id == "dan" else DONE

    daily.runs.answer = answer
    for name, due in DUES.items():
        await daily.enroll(name, due)
    await serve(daily, MIDNIGHT + 2 * DAY + timedelta(hours=12))
    await daily.crash()
    daily.clocks.go_to(MIDNIGHT + 40 * DAY + timedelta(hours=9))
    daily.start()
    await serve(daily, MIDNIGHT + 45 * DAY - timedelta(hours=1))
    return daily


async def read_day(app: ApplicationFixture, day: date) -> tuple[dict[str, int], list[str]]:
    """The counts of a day, and whose verdicts are listed."""
    page = await app.ask("get_day", date=day.isoformat(), limit=2)
    counts, users = page["counts"], [one["user_id"] for one in page["items"]]
    while page["next_cursor"] is not None:
        page = await app.ask("get_day", date=day.isoformat(), limit=2, cursor=page["next_cursor"])
        users += [one["user_id"] for one in page["items"]]
    return counts, users


async def finalized_days(app: ApplicationFixture, user_id: str) -> Counter[date]:
    """How often each day of a user was finalized, by a verdict of its own or within a gap."""
    found = await app.ask("list_user_days", user_id=user_id, limit=200)
    days = Counter(date.fromisoformat(one["service_date"]) for one in found["items"])
    for gap in found["gaps"]:
        first, last = date.fromisoformat(gap["from_date"]), date.fromisoformat(gap["to_date"])
        days.update(first + n * DAY for n in range((last - first).days + 1))
    return days


async def test_every_user_has_exactly_one_finalization_on_every_day_over_a_long_gap(
    make_daily: MakeDaily, app: ApplicationFixture
) -> None:
    await a_long_gap(make_daily, app)
    gap_days = 0
    for day in DAYS:
        counts, users = await read_day(app, day)
        assert counts["success"] + counts["cutoff_reached"] == len(DUES), f"I6: {day} {counts}"
        assert len(users) + counts["in_gaps"] == len(DUES)
        assert counts["in_gaps"] <= counts["late"] <= counts["cutoff_reached"]
        gap_days += counts["in_gaps"]
    for name in DUES:
        assert await finalized_days(app, name) == Counter(DAYS), f"I6: {name}"
    assert gap_days > 25 * len(DUES)


async def test_the_events_tell_as_many_days_as_can_be_read(
    make_daily: MakeDaily, app: ApplicationFixture
) -> None:
    daily = await a_long_gap(make_daily, app)
    told: Counter[Any] = Counter()
    for event in daily.telemetry.events:
        if event.name == "sched.finalize":
            told[event.metadata["status"]] += int(event.measurements["days"])
    read: Counter[Any] = Counter()
    for day in DAYS:
        counts, _ = await read_day(app, day)
        read += Counter({status: counts[status] for status in ("success", "cutoff_reached")})
    assert told == read


async def test_days_of_a_gap_are_shown_in_windows_and_history(
    make_daily: MakeDaily, app: ApplicationFixture
) -> None:
    daily = await a_long_gap(make_daily, app)
    seen = await app.ask("get_windows", date="2025-01-20")
    assert seen["counts"] == {"success": 0, "cutoff_reached": 5, "late": 5, "in_gaps": 5}
    assert seen["windows"] == []
    app.clock.jump(round((daily.clocks.now() - app.clock.now()) / timedelta(milliseconds=1)))
    history = (await app.ask("get_history", days=60))["items"]
    days = {one["date"]: one["success"] + one["cutoff_reached"] for one in history}
    assert [days[day.isoformat()] for day in DAYS] == [len(DUES)] * len(DAYS)
    assert list(days) == sorted(days, reverse=True)
