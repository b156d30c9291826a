"""Daily users: stored, found by their next cutoff alone, and given one verdict a day."""

import asyncio
from collections.abc import Sequence
from datetime import date, time, timedelta

import pytest

from cadenza.domain.daily.keys import DAILY, DailyKey, daily_key
from cadenza.domain.daily.rules import (
    finalize_success,
    new_daily_user,
    shard_of,
)
from cadenza.domain.daily.user import (
    DailyUser,
    Enrollment,
    enrollment,
)
from cadenza.domain.daily.window import DAY, WINDOW
from cadenza.domain.errors import Conflict, NotFound
from cadenza.ports.catalog import Page
from cadenza.ports.daily import PendingDay
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.daily.daily_fixtures import (
    EVER,
    NOON,
    TODAY,
    a_turn,
    a_user,
    daily_of,
    enrolled_at,
    everything,
    finalize_past_cutoffs,
    pending_days,
    with_a_conversation,
)
from cadenza.testing.contracts.harness import Contract


class DailyContract(Contract):
    """`enroll`, `pending_days`, `finalize_days`, and what is listed and forgotten."""

    async def test_a_daily_user_comes_back_as_it_was(self, store: Store) -> None:
        for number, due in enumerate((time(), time(0, 59), time(23, 59))):
            wanted = enrollment("north", f"user-{number}", due)
            (plain,) = await store.daily.enroll([wanted], lambda one, *_: new_daily_user(one, NOON))
            assert await store.daily.daily_user(wanted.key) == plain
            (full,) = await store.daily.enroll([wanted], lambda _, user, __: everything(user))
            assert await store.daily.daily_user(wanted.key) == full == everything(plain)
        assert len(await store.daily.daily_users("north")) == 3

    async def test_a_decision_about_users_sees_what_there_is(self, store: Store) -> None:
        key = await a_user(store.daily)
        seen: list[tuple[DailyKey, bool, date | None]] = []

        def decide(wanted: Enrollment, user: DailyUser | None, last: date | None) -> DailyUser:
            seen.append((wanted.key, user is not None, last))
            return user or new_daily_user(wanted, NOON)

        other = enrollment("north", "bob", time(9))
        await store.daily.enroll([other, Enrollment(key, time(18))], decide)
        assert seen == [(other.key, False, None), (key, True, None)]

    async def test_a_decision_about_users_that_raises_changes_nothing(self, store: Store) -> None:
        def refuse(wanted: Enrollment, *_: object) -> DailyUser:
            if wanted.key.user_id == "bob":
                raise Conflict("not now")
            return new_daily_user(wanted, NOON)

        with pytest.raises(Conflict, match="not now"):
            await store.daily.enroll([enrollment("north", name, time(9)) for name in ("ann", "bob")], refuse)
        assert await store.daily.daily_users("north") == []

    async def test_users_enrolled_by_many_at_once_are_enrolled_once(
        self, store: Store, peers: Sequence[Store]
    ) -> None:
        wanted = [enrollment("north", f"user-{number:02}", time(18)) for number in range(50)]
        later = [one._replace(due=time(20)) for one in reversed(wanted)]
        batches = [wanted, later] * 2
        await asyncio.gather(
            *(enrolled_at(peer.daily, *batch) for peer, batch in zip(peers, batches, strict=True))
        )
        users = await store.daily.daily_users("north")
        assert [user.user_id for user in users] == [one.key.user_id for one in wanted]
        assert len(await pending_days(store.daily)) == 50

    async def test_daily_users_are_listed_by_id_and_tenant_page_by_page(self, store: Store) -> None:
        for name in ("c", "A", "b"):
            await a_user(store.daily, name)
        await a_user(store.daily, "a", tenant_id="south")
        assert [user.user_id for user in await store.daily.daily_users("north")] == ["A", "b", "c"]
        assert [user.user_id for user in await store.daily.daily_users("north", Page(2))] == ["A", "b"]
        assert [user.user_id for user in await store.daily.daily_users("north", Page(2, "b"))] == ["c"]

    async def test_a_daily_user_is_seen_and_removed_by_its_own_tenant_alone(self, store: Store) -> None:
        key = await a_user(store.daily)
        stranger = daily_key("south", key.user_id)
        for attempt in (store.daily.daily_user(stranger), store.daily.remove_daily_user(stranger)):
            with pytest.raises(NotFound, match="Daily user ann not found"):
                await attempt
        await store.daily.remove_daily_user(key)
        assert await pending_days(store.daily) == []
        with pytest.raises(NotFound):
            await store.daily.daily_user(key)

    async def test_owed_days_come_soonest_first_up_to_and_with_the_moment(self, store: Store) -> None:
        for number, due in enumerate((time(20), time(18), time(18, 1), time(9))):
            await a_user(store.daily, f"user-{number}", due)
        until = NEW_YEAR + timedelta(hours=17, minutes=1)
        names = [one.user_id for one in await pending_days(store.daily, until)]
        assert names == ["user-1", "user-2"]
        assert [one.user_id for one in await pending_days(store.daily)] == [
            "user-1",
            "user-2",
            "user-0",
            "user-3",
        ]
        first = (await pending_days(store.daily))[0]
        six = NEW_YEAR + timedelta(hours=18)
        assert first == PendingDay(six, "north", DAILY, "user-1", TODAY, six - WINDOW, time(18))
        assert first.key == daily_key("north", "user-1")

    async def test_owed_days_of_a_shard_come_page_by_page(self, store: Store) -> None:
        wanted = [enrollment("north", f"user-{n:03}", time(18, n % 3)) for n in range(300)]
        users = await enrolled_at(store.daily, *wanted)
        shard = shard_of(users[0].key.user)
        whole = await store.daily.pending_days(shard, until=EVER, limit=1_000)
        assert {one.key for one in whole} == {user.key for user in users if shard_of(user.key.user) == shard}
        paged: list[PendingDay] = []
        while page := await store.daily.pending_days(
            shard, until=EVER, limit=2, after=paged[-1] if paged else None
        ):
            assert len(page) <= 2
            paged += page
        assert paged == whole == sorted(whole)

    async def test_a_cutoff_lets_the_users_conversations_start_afresh(self, store: Store) -> None:
        keys = [await with_a_conversation(store, name) for name in ("ann", "bob")]
        cutoff = NEW_YEAR + timedelta(hours=18)
        await store.daily.finalize_days([daily_of(keys[1])], lambda user: finalize_success(user, TODAY, NOON))
        assert [len(await store.conversations.context(key, 10)) for key in keys] == [1, 1]
        await finalize_past_cutoffs(store.daily, *map(daily_of, keys), now=cutoff)
        assert [len(await store.conversations.context(key, 10)) for key in keys] == [0, 1]
        await store.conversations.commit_turn(a_turn(keys[0], cutoff))
        assert len(await store.conversations.context(keys[0], 10)) == 1

    async def test_days_go_with_the_person(self, store: Store) -> None:
        keys = [await with_a_conversation(store, name) for name in ("ann", "bob")]
        await finalize_past_cutoffs(store.daily, *map(daily_of, keys), now=NOON + 20 * DAY)
        await store.users.remove_user(keys[0].user)
        assert [user.user_id for user in await store.daily.daily_users("north")] == ["bob"]
        assert len(await pending_days(store.daily)) == 1
        assert await store.daily.verdicts_of(daily_of(keys[0])) == []
        assert await store.daily.gaps_of(daily_of(keys[0])) == []
        assert len(await store.daily.verdicts_of(daily_of(keys[1]))) == 7

    async def test_a_window_is_found_when_it_opens(self, store: Store) -> None:
        await a_user(store.daily, due=time(0, 30))
        cutoff = NEW_YEAR + timedelta(days=1, minutes=30)
        second = timedelta(seconds=1)
        assert await pending_days(store.daily, cutoff - WINDOW - second) == []
        assert [one.cutoff for one in await pending_days(store.daily, cutoff - WINDOW)] == [cutoff]
