"""Users with a daily job: kept, found by their next cutoff alone, and given one verdict a day."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from functools import partial

import pytest

from cadenza.domain.agents.conversation import ConversationKey, Message, Role, Turn
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.domain.daily.rules import (
    SHARDS,
    ServicePeriod,
    enroll,
    finalize_cutoffs,
    finalize_success,
    new_daily_user,
    shard_of,
)
from cadenza.domain.daily.user import (
    Cause,
    DailyGap,
    DailyUser,
    DayStatus,
    DueChange,
    Enrollment,
    Finalization,
    Verdict,
    enrollment,
)
from cadenza.domain.daily.window import DAY, WINDOW
from cadenza.domain.errors import Conflict, NotFound
from cadenza.ports.catalog import Page
from cadenza.ports.daily import DailyStore, PendingDay
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Contract

NOON = NEW_YEAR + timedelta(hours=12)
TODAY = NEW_YEAR.date()
EVER = NEW_YEAR + 400 * DAY


async def enrolled_at(store: DailyStore, *wanted: Enrollment, now: datetime = NOON) -> list[DailyUser]:
    """Enroll users, as the rules have it."""
    return await store.enroll(wanted, partial(enroll, now=now))


async def a_user(store: DailyStore, user_id: str = "ann", due: time = time(18), **fields: str) -> UserKey:
    """Enroll one user at noon."""
    (user,) = await enrolled_at(store, enrollment(fields.get("tenant_id", "north"), user_id, due))
    return user.key


async def pending_days(store: DailyStore, until: datetime = EVER) -> list[PendingDay]:
    """What is owed in all shards, soonest first."""
    found = [await store.pending_days(shard, until=until, limit=1_000) for shard in range(SHARDS)]
    return sorted(one for owed in found for one in owed)


async def cut(store: DailyStore, *keys: UserKey, now: datetime) -> list[Finalization | None]:
    """Rule about what has been cut off by now."""
    return await store.finalize_days(keys, partial(finalize_cutoffs, now=now, service=ServicePeriod(now)))


async def with_a_conversation(store: Store, user_id: str) -> ConversationKey:
    """A daily user who has said something at noon."""
    user = await a_user(store.daily, user_id)
    await store.users.put_user(User(id=user_id, tenant_id="north"))
    await store.agents.put_agent(Agent(id="agent", name="agent", tenant_id="north"))
    key = ConversationKey(*user, "agent")
    await store.conversations.commit_turn(a_turn(key, NOON))
    return key


def a_turn(key: ConversationKey, at: datetime) -> Turn:
    """Somebody says something."""
    said = Message(id=f"{key.user_id}-{at}", role=Role.USER, text="hello", at=at)
    return Turn(id=said.id, conversation=key, began_at=at, ended_at=at, messages=(said,))


def everything(user: DailyUser | None) -> DailyUser:
    """A record with everything in it."""
    assert user is not None
    return replace(
        user,
        changes=(DueChange(TODAY + DAY, time(0, 1)), DueChange(TODAY + 9 * DAY, time(23, 59))),
        last_date=TODAY - DAY,
        status=DayStatus.CUTOFF_REACHED,
        last_run_at=NOON.replace(microsecond=123_456),
    )


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
        seen: list[tuple[UserKey, bool, date | None]] = []

        def decide(wanted: Enrollment, user: DailyUser | None, last: date | None) -> DailyUser:
            seen.append((wanted.key, user is not None, last))
            return user or new_daily_user(wanted, NOON)

        other = enrollment("north", "bob", time(9))
        await store.daily.enroll([other, Enrollment(key, time(18))], decide)
        assert seen == [(other.key, False, None), (key, True, None)]

    async def test_a_decision_about_users_that_raises_changes_nothing(self, store: Store) -> None:
        def refuse(wanted: Enrollment, *_: object) -> DailyUser:
            if wanted.key.id == "bob":
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
        assert [user.user_id for user in users] == [one.key.id for one in wanted]
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
        stranger = UserKey("south", key.id)
        for attempt in (store.daily.daily_user(stranger), store.daily.remove_daily_user(stranger)):
            with pytest.raises(NotFound, match="There is no daily user ann"):
                await attempt
        await store.daily.remove_daily_user(key)
        assert await pending_days(store.daily) == []
        with pytest.raises(NotFound):
            await store.daily.daily_user(key)

    async def test_owed_days_come_soonest_first_up_to_and_with_the_moment(self, store: Store) -> None:
        for number, due in enumerate((time(20), time(18), time(18, 1), time(9))):
            await a_user(store.daily, f"user-{number}", due)
        until = NEW_YEAR + timedelta(hours=18, minutes=1)
        names = [one.user_id for one in await pending_days(store.daily, until)]
        assert names == ["user-1", "user-2"]
        assert [one.user_id for one in await pending_days(store.daily)] == [
            "user-1",
            "user-2",
            "user-0",
            "user-3",
        ]
        first = (await pending_days(store.daily))[0]
        assert first == PendingDay(NEW_YEAR + timedelta(hours=18), "north", "user-1")
        assert (first.service_date, first.key) == (TODAY, UserKey("north", "user-1"))

    async def test_owed_days_of_a_shard_come_page_by_page(self, store: Store) -> None:
        wanted = [enrollment("north", f"user-{n:03}", time(18, n % 3)) for n in range(300)]
        users = await enrolled_at(store.daily, *wanted)
        shard = shard_of(users[0].key)
        whole = await store.daily.pending_days(shard, until=EVER, limit=1_000)
        assert {one.key for one in whole} == {user.key for user in users if shard_of(user.key) == shard}
        paged: list[PendingDay] = []
        while page := await store.daily.pending_days(
            shard, until=EVER, limit=2, after=paged[-1] if paged else None
        ):
            assert len(page) <= 2
            paged += page
        assert paged == whole == sorted(whole)

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
        answers = await cut(store.daily, keys[2], keys[1], keys[0], now=now)
        assert [one and one.user.user_id for one in answers] == ["b", None, "c"]
        assert await cut(store.daily, *keys, now=now) == [None, None, None]
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
                cut(peer.daily, *(keys if place % 2 else keys[::-1]), now=now)
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
            await cut(store.daily, *keys, elsewhere, now=NEW_YEAR + timedelta(days=day, hours=18))
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
        await cut(store.daily, *keys, now=now)
        assert await store.daily.forget_days(TODAY + 13 * DAY) == 2
        assert await store.daily.gaps_of(keys[0]) == []
        assert await store.daily.forget_days(TODAY + 15 * DAY) == 4
        assert await store.daily.forget_days(TODAY + 15 * DAY) == 0
        assert [len(await store.daily.verdicts_of(key)) for key in keys] == [5, 5]

    async def test_a_cutoff_lets_the_users_conversations_start_afresh(self, store: Store) -> None:
        keys = [await with_a_conversation(store, name) for name in ("ann", "bob")]
        cutoff = NEW_YEAR + timedelta(hours=18)
        await store.daily.finalize_days([keys[1].user], lambda user: finalize_success(user, TODAY, NOON))
        assert [len(await store.conversations.context(key, 10)) for key in keys] == [1, 1]
        await cut(store.daily, *(key.user for key in keys), now=cutoff)
        assert [len(await store.conversations.context(key, 10)) for key in keys] == [0, 1]
        await store.conversations.commit_turn(a_turn(keys[0], cutoff))
        assert len(await store.conversations.context(keys[0], 10)) == 1

    async def test_days_go_with_the_person(self, store: Store) -> None:
        keys = [await with_a_conversation(store, name) for name in ("ann", "bob")]
        await cut(store.daily, *(key.user for key in keys), now=NOON + 20 * DAY)
        await store.users.remove_user(keys[0].user)
        assert [user.user_id for user in await store.daily.daily_users("north")] == ["bob"]
        assert len(await pending_days(store.daily)) == 1
        assert await store.daily.verdicts_of(keys[0].user) == []
        assert await store.daily.gaps_of(keys[0].user) == []
        assert len(await store.daily.verdicts_of(keys[1].user)) == 7

    async def test_a_window_is_found_when_it_opens(self, store: Store) -> None:
        await a_user(store.daily, due=time(0, 30))
        cutoff = NEW_YEAR + timedelta(days=1, minutes=30)
        second = timedelta(seconds=1)
        assert await pending_days(store.daily, cutoff - WINDOW - second + WINDOW) == []
        assert [one.cutoff for one in await pending_days(store.daily, cutoff)] == [cutoff]
