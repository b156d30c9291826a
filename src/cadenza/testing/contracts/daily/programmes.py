"""Daily programmes: stored, followed by their calendars, and kept apart from each other."""

import asyncio
from dataclasses import replace
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from cadenza.domain.daily.keys import DAILY, ProgrammeKey, daily_key
from cadenza.domain.daily.programme import MOST_PROGRAMMES, Programme, ProgrammePrompt
from cadenza.domain.daily.user import DayCounts, enrollment
from cadenza.domain.daily.window import DAY, WINDOW
from cadenza.domain.errors import Conflict, LimitReached, NotFound
from cadenza.domain.monitoring.statistics import DayTotal, DueMinuteCounts, LocalCutoff
from cadenza.domain.scheduling.calendars.calendar import calendar_of
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.ports.catalog import Page
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.daily.daily_fixtures import (
    NOON,
    TODAY,
    a_user,
    enrolled_at,
    finalize_past_cutoffs,
    pending_days,
    with_a_conversation,
)
from cadenza.testing.contracts.harness import Contract

WORK = calendar_of("work", "Europe/Berlin", [(NOON, NOON + DAY), (NOON + 3 * DAY, NOON + 4 * DAY)])
EVENING = Programme(
    tenant_id="north",
    id="evening",
    name="Evening digest",
    target=HttpTarget("https://example.com/evening", "POST", body={"kind": "evening"}),
    window_minutes=90,
    retry_delay_minutes=5,
    job_timeout_ms=60_000,
    share_percent=40,
    weekdays=(1, 2, 3, 4, 5),
    only_during=WORK,
    never_during=replace(WORK, id="holidays"),
    resets_conversation=False,
    created_at=NOON,
)
KEY = EVENING.key


class ProgrammeContract(Contract):
    """`ProgrammeStore`, and users, verdicts and statistics of several programmes."""

    async def test_a_programme_comes_back_as_it_was(self, store: Store) -> None:
        targets = (EVENING.target, ProgrammePrompt("agent", "What is new?"), CallableTarget("digest"), None)
        for target in targets:
            wanted = replace(EVENING, target=target)
            assert await store.programmes.put_programme(wanted) == wanted
            assert await store.programmes.programme(KEY) == wanted
        plain = Programme(tenant_id="north", id="plain")
        await store.programmes.put_programme(plain)
        assert await store.programmes.programme(plain.key) == plain

    async def test_daily_exists_for_every_tenant_and_no_other_programme_does(self, store: Store) -> None:
        assert await store.programmes.programme(ProgrammeKey("north")) == Programme(tenant_id="north")
        with pytest.raises(NotFound, match="Programme evening not found"):
            await store.programmes.programme(KEY)
        with pytest.raises(NotFound, match="Programme evening not found"):
            await enrolled_at(store.daily, enrollment("north", "ann", time(18), programme_id="evening"))
        assert await store.daily.daily_users("north", programme_id="evening") == []

    async def test_a_changed_programme_keeps_when_it_was_made(self, store: Store) -> None:
        await store.programmes.put_programme(EVENING)
        changed = replace(EVENING, window_minutes=30, created_at=NOON + DAY)
        assert await store.programmes.put_programme(changed) == replace(changed, created_at=NOON)

    async def test_programmes_are_listed_by_tenant_and_id_page_by_page(self, store: Store) -> None:
        for tenant_id, id_ in (("south", "a"), ("north", "c"), ("north", "a"), ("north", "b")):
            await store.programmes.put_programme(Programme(tenant_id=tenant_id, id=id_))
        assert [one.id for one in await store.programmes.programmes("north", Page(2))] == ["a", "b"]
        assert [one.id for one in await store.programmes.programmes("north", Page(2, "b"))] == ["c"]
        everywhere = [one.key for one in await store.programmes.all_programmes(limit=10)]
        assert everywhere == [("north", "a"), ("north", "b"), ("north", "c"), ("south", "a")]
        rest = await store.programmes.all_programmes(limit=1, after=ProgrammeKey("north", "b"))
        assert [one.key for one in rest] == [("north", "c")]

    async def test_a_tenant_has_so_many_programmes_and_no_more(self, store: Store) -> None:
        for number in range(MOST_PROGRAMMES):
            await store.programmes.put_programme(Programme(tenant_id="north", id=f"programme-{number}"))
        with pytest.raises(LimitReached, match="at most 100 daily programmes"):
            await store.programmes.put_programme(EVENING)
        await store.programmes.put_programme(Programme(tenant_id="north", id="programme-7", share_percent=1))
        await store.programmes.put_programme(Programme(tenant_id="south", id="evening"))

    async def test_a_programme_is_deleted_when_nobody_is_enrolled_and_nothing_is_lost(
        self, store: Store
    ) -> None:
        await store.programmes.put_programme(EVENING)
        (user,) = await enrolled_at(store.daily, enrollment("north", "ann", time(18), programme_id="evening"))
        with pytest.raises(Conflict, match="Users are enrolled in the programme evening"):
            await store.programmes.delete_programme(KEY, with_days=True)
        await finalize_past_cutoffs(store.daily, user.key, now=NOON + 20 * DAY)
        await store.daily.remove_daily_user(user.key)
        with pytest.raises(Conflict, match="results of past days"):
            await store.programmes.delete_programme(KEY)
        assert len(await store.daily.verdicts_of(user.key)) == 7
        await store.programmes.delete_programme(KEY, with_days=True)
        assert await store.daily.verdicts_of(user.key) == []
        assert await store.daily.gaps_of(user.key) == []
        with pytest.raises(NotFound):
            await store.programmes.delete_programme(KEY)

    async def test_of_daily_only_the_settings_are_deleted(self, store: Store) -> None:
        key = await a_user(store.daily)
        await store.programmes.put_programme(replace(EVENING, id=DAILY))
        await store.programmes.delete_programme(ProgrammeKey("north"))
        assert await store.programmes.programme(ProgrammeKey("north")) == Programme(tenant_id="north")
        assert (await store.daily.daily_user(key)).user_id == "ann"

    async def test_nobody_is_enrolled_in_a_programme_that_is_deleted_meanwhile(
        self, store: Store, peers: tuple[Store, ...]
    ) -> None:
        await store.programmes.put_programme(EVENING)
        wanted = [enrollment("north", f"user-{n}", time(18), programme_id="evening") for n in range(20)]
        enrolling = [enrolled_at(peer.daily, *wanted) for peer in peers]
        done = await asyncio.gather(
            *enrolling, peers[0].programmes.delete_programme(KEY), return_exceptions=True
        )
        assert all(isinstance(one, list | NotFound | Conflict | None) for one in done)
        users = await store.daily.daily_users("north", programme_id="evening")
        stored = await store.programmes.programmes("north")
        assert bool(users) is bool(stored)

    async def test_programmes_keep_their_users_and_verdicts_apart(self, store: Store) -> None:
        await store.programmes.put_programme(EVENING)
        daily = await a_user(store.daily)
        (evening,) = await enrolled_at(
            store.daily, enrollment("north", "ann", time(18), programme_id="evening")
        )
        found = await pending_days(store.daily)
        assert [one.key for one in found] == [daily, evening.key]
        await finalize_past_cutoffs(store.daily, evening.key, now=NOON + 20 * DAY)
        assert await store.daily.verdicts_of(daily) == []
        assert await store.daily.gaps_of(daily) == []
        assert len(await store.daily.verdicts_of(evening.key)) == 7
        day = TODAY + 19 * DAY
        assert await store.daily.verdicts_on("north", day) == []
        (verdict,) = await store.daily.verdicts_on("north", day, programme_id="evening")
        assert (verdict.programme_id, verdict.user_id, verdict.service_date) == ("evening", "ann", day)
        await store.daily.remove_daily_user(evening.key, with_days=True)
        assert (await store.daily.daily_user(daily)).key == daily

    async def test_statistics_are_those_of_one_programme(self, store: Store) -> None:
        await store.programmes.put_programme(EVENING)
        daily = await a_user(store.daily)
        (evening,) = await enrolled_at(
            store.daily, enrollment("north", "ann", time(18), programme_id="evening")
        )
        await finalize_past_cutoffs(store.daily, daily, now=NOON + DAY)
        await finalize_past_cutoffs(store.daily, evening.key, now=NOON + 20 * DAY)
        statistics = store.daily_statistics
        for name, day in (("daily", TODAY), ("evening", TODAY + 19 * DAY)):
            (tally,) = await statistics.tallies("north", day, programme_id=name)
            assert tally == DueMinuteCounts(18 * 60, DayCounts(0, 1, 1))
            (total,) = await statistics.day_totals("north", since=day, until=day, programme_id=name)
            assert total == DayTotal(day, DayCounts(0, 1, 1))
            (missed,) = await statistics.misses("north", day, limit=5, programme_id=name)
            assert missed.programme_id == name
        (gap,) = await statistics.day_totals("north", since=TODAY, until=TODAY, programme_id="evening")
        assert gap.counts.in_gaps == 1
        waiting = await statistics.waiting("north", TODAY + 20 * DAY, each=9, programme_id="evening")
        assert waiting.users == {LocalCutoff(18 * 60, NEW_YEAR + 20 * DAY + timedelta(hours=18)): 1}

    async def test_all_programmes_go_with_the_person(self, store: Store) -> None:
        await store.programmes.put_programme(EVENING)
        key = await with_a_conversation(store, "ann")
        (user,) = await enrolled_at(store.daily, enrollment("north", "ann", time(18), programme_id="evening"))
        await finalize_past_cutoffs(store.daily, user.key, now=NOON + 20 * DAY)
        await store.users.remove_user(key.user)
        assert await pending_days(store.daily) == []
        assert await store.daily.verdicts_of(user.key) == []
        assert await store.daily.gaps_of(user.key) == []

    async def test_a_due_time_in_a_zone_comes_back_and_is_found_when_its_window_opens(
        self, store: Store
    ) -> None:
        wanted = enrollment("north", "ann", time(7, 30), timezone="Pacific/Kiritimati")
        (user,) = await enrolled_at(store.daily, wanted)
        assert await store.daily.daily_user(user.key) == user
        local = datetime.combine(user.next_date, time(7, 30), ZoneInfo("Pacific/Kiritimati"))
        assert user.next_cutoff == local
        (found,) = await pending_days(store.daily, user.next_cutoff - WINDOW)
        assert (found.key, found.service_date, found.due) == (user.key, user.next_date, time(7, 30))
        assert (found.cutoff, found.opens_at) == (user.next_cutoff, user.opens_at)
        assert await pending_days(store.daily, user.opens_at - timedelta(microseconds=1)) == []
        (finalization,) = await finalize_past_cutoffs(store.daily, user.key, now=user.next_cutoff)
        assert finalization is not None
        (verdict,) = await store.daily.verdicts_of(daily_key("north", "ann"))
        assert (verdict.service_date, verdict.due) == (user.next_date, time(7, 30))
