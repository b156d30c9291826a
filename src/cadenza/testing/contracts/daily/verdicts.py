"""Verdicts of daily users: one a day, never changed, listed and deleted by age."""

import asyncio
from collections.abc import Sequence
from datetime import time, timedelta
from functools import partial

import pytest

from cadenza.domain.daily.rules import (
    ServicePeriod,
    finalize_cutoffs,
    finalize_success,
)
from cadenza.domain.daily.user import (
    Cause,
    DailyGap,
    DailyUser,
    DayStatus,
    Finalization,
    Verdict,
    enrollment,
)
from cadenza.domain.daily.window import DAY
from cadenza.domain.errors import Conflict
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
)
from cadenza.testing.contracts.harness import Contract


class VerdictContract(Contract):
    """One verdict a user and day."""

    async def test_a_ruling_writes_the_verdict_and_moves_the_user_on(self, store: Store) -> None:
        key, other = await a_user(store.daily), await a_user(store.daily, "bob")
        at = NOON + timedelta(hours=5, seconds=1.5)
        (finalization,) = await store.daily.finalize_days(
            [key], lambda user: finalize_success(user, TODAY, at)
        )
        verdict = Verdict(*key, TODAY, DayStatus.SUCCESS, time(18), at)
        assert finalization is not None
        assert finalization.verdicts == (verdict,)
        user = await store.daily.daily_user(key)
        assert user == finalization.user
        assert (user.last_date, user.status, user.last_run_at) == (TODAY, DayStatus.SUCCESS, at)
        assert user.next_cutoff == NEW_YEAR + timedelta(days=1, hours=18)
        assert (
            await store.daily.verdicts_of(key) == await store.daily.verdicts_on("north", TODAY) == [verdict]
        )
        assert [one.key for one in await pending_days(store.daily, NEW_YEAR + timedelta(hours=18))] == [other]

    async def test_rulings_are_answered_in_order_and_none_about_who_is_gone(self, store: Store) -> None:
        keys = [await a_user(store.daily, name) for name in ("c", "a", "b")]
        await store.daily.remove_daily_user(keys[1])
        now = NEW_YEAR + timedelta(hours=18)
        answers = await finalize_past_cutoffs(store.daily, keys[2], keys[1], keys[0], now=now)
        assert [one and one.user.user_id for one in answers] == ["b", None, "c"]
        assert await finalize_past_cutoffs(store.daily, *keys, now=now) == [None, None, None]
        assert await store.daily.verdicts_of(keys[1]) == []

    async def test_a_rule_that_raises_writes_nothing(self, store: Store) -> None:
        keys = [await a_user(store.daily, name) for name in ("ann", "bob")]

        def refuse(user: DailyUser) -> Finalization | None:
            if user.user_id == "bob":
                raise Conflict("not now")
            return finalize_success(user, TODAY, NOON)

        with pytest.raises(Conflict, match="not now"):
            await store.daily.finalize_days(keys, refuse)
        assert await store.daily.verdicts_on("north", TODAY) == []
        assert len(await pending_days(store.daily, NEW_YEAR + timedelta(hours=18))) == 2

    async def test_a_verdict_is_never_changed(self, store: Store) -> None:
        key = await a_user(store.daily)
        (first,) = await store.daily.finalize_days([key], lambda user: finalize_success(user, TODAY, NOON))
        assert first is not None
        (second,) = await store.daily.finalize_days(
            [key],
            lambda user: Finalization(user, (first.verdicts[0]._replace(status=DayStatus.CUTOFF_REACHED),)),
        )
        assert second is not None
        assert second.verdicts == ()
        assert await store.daily.verdicts_of(key) == list(first.verdicts)

    async def test_of_many_at_once_one_gives_the_verdict(self, store: Store, peers: Sequence[Store]) -> None:
        wanted = [enrollment("north", f"user-{number:02}", time(18)) for number in range(40)]
        keys = [user.key for user in await enrolled_at(store.daily, *wanted)]
        now = NEW_YEAR + timedelta(hours=18)
        answers = await asyncio.gather(
            *(
                finalize_past_cutoffs(peer.daily, *(keys if place % 2 else keys[::-1]), now=now)
                for place, peer in enumerate([*peers] * 2)
            )
        )
        written = [one.user.key for answer in answers for one in answer if one is not None]
        assert sorted(written) == keys
        assert len(await store.daily.verdicts_on("north", TODAY, Page(1_000))) == 40

    async def test_days_owed_and_a_gap_are_written_together(self, store: Store) -> None:
        key = await a_user(store.daily)
        now = NOON + 20 * DAY
        (finalization,) = await store.daily.finalize_days(
            [key], partial(finalize_cutoffs, now=now, service=ServicePeriod(now))
        )
        assert finalization is not None
        late = await store.daily.verdicts_of(key)
        assert [one.service_date for one in late] == [TODAY + n * DAY for n in range(19, 12, -1)]
        assert all(one.late and one.cause is Cause.DOWN for one in late)
        assert tuple(reversed(late)) == finalization.verdicts
        gap = DailyGap(*key, TODAY, TODAY + 12 * DAY, now, Cause.DOWN)
        assert await store.daily.gaps_of(key) == [gap] == [finalization.gap]
        assert (await store.daily.daily_user(key)).next_cutoff == NEW_YEAR + timedelta(days=20, hours=18)

    async def test_verdicts_are_listed_by_day_and_by_user_page_by_page(self, store: Store) -> None:
        keys = [await a_user(store.daily, name) for name in ("b", "A", "c")]
        elsewhere = await a_user(store.daily, "b", tenant_id="south")
        for day in range(3):
            await finalize_past_cutoffs(
                store.daily, *keys, elsewhere, now=NEW_YEAR + timedelta(days=day, hours=18)
            )
        of_day = [one.user_id for one in await store.daily.verdicts_on("north", TODAY + DAY)]
        assert of_day == ["A", "b", "c"]
        assert [one.user_id for one in await store.daily.verdicts_on("north", TODAY, Page(1, "A"))] == ["b"]
        days = [one.service_date for one in await store.daily.verdicts_of(keys[0])]
        assert days == [TODAY + 2 * DAY, TODAY + DAY, TODAY]
        after = (TODAY + 2 * DAY).isoformat()
        assert [one.service_date for one in await store.daily.verdicts_of(keys[0], Page(1, after))] == [
            TODAY + DAY
        ]

    async def test_who_comes_back_is_known_by_the_last_verdict(self, store: Store) -> None:
        key = await a_user(store.daily)
        await store.daily.finalize_days([key], lambda user: finalize_success(user, TODAY, NOON))
        await store.daily.remove_daily_user(key)
        again = await a_user(store.daily)
        assert (await store.daily.daily_user(again)).next_date == TODAY + DAY
        await store.daily.remove_daily_user(key, with_days=True)
        assert await store.daily.verdicts_of(key) == []
        await a_user(store.daily)
        assert (await store.daily.daily_user(key)).next_date == TODAY

    async def test_old_days_are_forgotten_and_younger_ones_stay(self, store: Store) -> None:
        keys = [await a_user(store.daily), await a_user(store.daily, tenant_id="south")]
        now = NOON + 20 * DAY
        await finalize_past_cutoffs(store.daily, *keys, now=now)
        assert await store.daily.forget_days(TODAY + 13 * DAY) == 2
        assert await store.daily.gaps_of(keys[0]) == []
        assert await store.daily.forget_days(TODAY + 15 * DAY) == 4
        assert await store.daily.forget_days(TODAY + 15 * DAY) == 0
        assert [len(await store.daily.verdicts_of(key)) for key in keys] == [5, 5]
