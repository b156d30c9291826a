"""Figures of daily jobs: kept as verdicts come and go, and read within bounds."""

from datetime import date, time, timedelta
from functools import partial

from cadenza.domain.daily.keys import DailyKey, daily_key
from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.rules import SHARDS, finalize_success
from cadenza.domain.daily.user import DayCounts, enrollment
from cadenza.domain.daily.window import DAY, cutoff
from cadenza.domain.monitoring.statistics import (
    DayTotal,
    DueMinuteCounts,
    LocalCutoff,
    MissCursor,
    UndecidedUsers,
)
from cadenza.ports.store import Store
from cadenza.testing.contracts.daily.daily_fixtures import (
    NOON,
    TODAY,
    a_user,
    enrolled_at,
    finalize_past_cutoffs,
)
from cadenza.testing.contracts.harness import Contract

SIX, SEVEN = 18 * 60, 19 * 60
EVENING = cutoff(time(18), TODAY)


async def win(store: Store, *keys: DailyKey, day: date = TODAY) -> None:
    """Let users' jobs succeed half an hour before their cutoff."""
    for key in keys:
        due = (await store.daily.daily_user(key)).due
        at = cutoff(due, day) - timedelta(minutes=30)
        await store.daily.finalize_days([key], partial(finalize_success, day=day, returned_at=at))


class DailyStatisticsContract(Contract):
    """Figures of daily jobs."""

    async def test_verdicts_are_tallied_by_due_minute_as_they_are_written(self, store: Store) -> None:
        ann, bob = await a_user(store.daily, "ann"), await a_user(store.daily, "bob")
        cid = await a_user(store.daily, "cid", time(19))
        await win(store, ann, cid)
        assert await store.daily_statistics.tallies("north", TODAY) == [
            DueMinuteCounts(SIX, DayCounts(1, 0, 0)),
            DueMinuteCounts(SEVEN, DayCounts(1, 0, 0)),
        ]
        await finalize_past_cutoffs(store.daily, ann, bob, cid, now=EVENING)
        await finalize_past_cutoffs(store.daily, ann, bob, cid, now=EVENING)
        assert await store.daily_statistics.tallies("north", TODAY) == [
            DueMinuteCounts(SIX, DayCounts(1, 1, 0)),
            DueMinuteCounts(SEVEN, DayCounts(1, 0, 0)),
        ]
        assert await store.daily_statistics.tallies("south", TODAY) == []
        assert await store.daily_statistics.tallies("north", TODAY + DAY) == []

    async def test_verdicts_that_are_forgotten_are_tallied_no_more(self, store: Store) -> None:
        ann, bob = await a_user(store.daily, "ann"), await a_user(store.daily, "bob")
        await win(store, ann)
        await finalize_past_cutoffs(store.daily, ann, bob, now=EVENING)
        await store.daily.remove_daily_user(ann, with_days=True)
        assert await store.daily_statistics.tallies("north", TODAY) == [
            DueMinuteCounts(SIX, DayCounts(0, 1, 0))
        ]
        await store.daily.forget_days(TODAY + DAY)
        assert await store.daily_statistics.tallies("north", TODAY) == []
        assert await store.daily_statistics.day_totals("north", since=TODAY, until=TODAY) == []

    async def test_days_are_added_up_newest_first(self, store: Store) -> None:
        users = [await a_user(store.daily, name, due) for name, due in (("ann", time(18)), ("bob", time(19)))]
        await win(store, *users)
        await finalize_past_cutoffs(store.daily, *users, now=EVENING + DAY)
        totals = await store.daily_statistics.day_totals("north", since=TODAY, until=TODAY + DAY)
        assert totals == [
            DayTotal(TODAY + DAY, DayCounts(0, 1, 0)),
            DayTotal(TODAY, DayCounts(2, 0, 0)),
        ]
        assert (
            await store.daily_statistics.day_totals("north", since=TODAY + 2 * DAY, until=TODAY + 9 * DAY)
            == []
        )
        assert await store.daily_statistics.day_totals("south", since=TODAY, until=TODAY + DAY) == []

    async def test_days_of_gaps_are_counted_as_late(self, store: Store) -> None:
        ann, bob = await a_user(store.daily, "ann"), await a_user(store.daily, "bob")
        other = await a_user(store.daily, "ann", tenant_id="south")
        await win(store, ann)
        await finalize_past_cutoffs(store.daily, ann, bob, other, now=NOON + 20 * DAY)
        totals = await store.daily_statistics.day_totals("north", since=TODAY - DAY, until=TODAY + 30 * DAY)
        in_gap, by_verdicts = DayCounts(0, 2, 2, in_gaps=2), DayCounts(0, 2, 2)
        assert totals == [
            *[DayTotal(TODAY + n * DAY, by_verdicts) for n in range(19, 12, -1)],
            *[DayTotal(TODAY + n * DAY, in_gap) for n in range(12, 0, -1)],
            DayTotal(TODAY, DayCounts(1, 1, 1, in_gaps=1)),
        ]
        some = await store.daily_statistics.day_totals("north", since=TODAY + 3 * DAY, until=TODAY + 4 * DAY)
        assert some == [DayTotal(TODAY + n * DAY, in_gap) for n in (4, 3)]
        await store.daily.remove_daily_user(bob, with_days=True)
        (left,) = await store.daily_statistics.day_totals("north", since=TODAY + DAY, until=TODAY + DAY)
        assert left.counts == DayCounts(0, 1, 1, in_gaps=1)

    async def test_who_waits_is_counted_by_due_minute_and_cutoff(self, store: Store) -> None:
        wanted = [enrollment("north", f"user-{n}", time(18 + n % 2)) for n in range(7)]
        berlin = enrollment("north", "berlin", time(18), timezone="Europe/Berlin")
        await enrolled_at(store.daily, *wanted, berlin, enrollment("south", "foreign", time(18)))
        count = partial(store.daily_statistics.waiting, "north", TODAY)
        hour = timedelta(hours=1)
        in_berlin = LocalCutoff(SIX, (await store.daily.daily_user(berlin.key)).next_cutoff)
        assert in_berlin.cutoff in (EVENING - hour, EVENING - 2 * hour)
        of_day = {LocalCutoff(SIX, EVENING): 4, LocalCutoff(SEVEN, EVENING + hour): 3, in_berlin: 1}
        assert await count(each=20) == UndecidedUsers(of_day)
        assert await store.daily_statistics.waiting("north", TODAY + DAY, each=20) == UndecidedUsers({})
        await win(store, wanted[0].key)
        assert (await count(each=20)).users[LocalCutoff(SIX, EVENING)] == 3

    async def test_who_waits_is_counted_by_programme(self, store: Store) -> None:
        await store.programmes.put_programme(Programme(tenant_id="north", id="evening"))
        other = enrollment("north", "ann", time(18), programme_id="evening")
        await enrolled_at(store.daily, enrollment("north", "ann", time(19)), other)
        waiting = await store.daily_statistics.waiting("north", TODAY, each=20, programme_id="evening")
        assert waiting == UndecidedUsers({LocalCutoff(SIX, EVENING): 1})

    async def test_what_was_not_counted_to_its_end_is_not_told(self, store: Store) -> None:
        early = [enrollment("north", f"user-{n}", time(17)) for n in range(SHARDS)]
        late = [enrollment("north", f"user-{n}", time(18)) for n in range(SHARDS, 40 * SHARDS)]
        await enrolled_at(store.daily, *early, *late)
        waiting = await store.daily_statistics.waiting("north", TODAY, each=20)
        five = LocalCutoff(17 * 60, EVENING - timedelta(hours=1))
        assert waiting == UndecidedUsers({five: SHARDS}, EVENING)

    async def test_misses_come_by_due_time_and_user_page_by_page(self, store: Store) -> None:
        dues = {"cid": time(17), "bob": time(18), "ann": time(18), "dan": time(18)}
        users = [await a_user(store.daily, name, due) for name, due in dues.items()]
        await win(store, users[-1])
        await a_user(store.daily, "ann", tenant_id="south")
        await finalize_past_cutoffs(store.daily, *users, daily_key("south", "ann"), now=EVENING)
        first = await store.daily_statistics.misses("north", TODAY, limit=2)
        assert [one.user_id for one in first] == ["cid", "ann"]
        rest = await store.daily_statistics.misses(
            "north", TODAY, limit=2, after=MissCursor(first[-1].due_bucket, "ann")
        )
        assert [one.user_id for one in rest] == ["bob"]
        assert await store.daily_statistics.misses("north", TODAY + DAY, limit=2) == []
