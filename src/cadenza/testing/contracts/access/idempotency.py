"""Replies: a request sent twice is carried out once. Rates: one counter for all."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime

import pytest

from cadenza.domain.errors import Conflict
from cadenza.domain.scheduling.endpoint import Job
from cadenza.ports.access import Answering, IdempotentReply
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract

BODY = bytes(range(256))
LONG_AGO = NEW_YEAR.replace(year=2024)


class IdempotencyContract(Contract):
    """`find_reply`, `keep_reply`, `begin_reply`, `drop_reply` and `forget_replies`."""

    async def test_a_free_key_is_taken(self, store: Store) -> None:
        assert await begun(store, a_reply()) is None

    async def test_a_taken_key_answers_the_reply_that_has_it(self, store: Store) -> None:
        first = a_reply("first")
        await begun(store, first)
        assert await begun(store, a_reply("second")) == first
        assert await begun(store, a_reply("first")) == first

    async def test_of_many_callers_one_takes_the_key(self, peers: Sequence[Store]) -> None:
        taking = [begun(peer, a_reply(f"{number}")) for number in range(8) for peer in peers]
        answers = await asyncio.gather(*taking)
        assert answers.count(None) == 1
        winner = await begun(peers[0], a_reply("late"))
        assert {answer for answer in answers if answer is not None} == {winner}

    async def test_keys_of_other_tenants_and_other_keys_are_free(self, store: Store) -> None:
        await begun(store, a_reply())
        assert await begun(store, a_reply(), tenant_id="south") is None
        assert await begun(store, a_reply(), key="other") is None

    async def test_the_answer_is_kept_for_whoever_asks_again(self, store: Store) -> None:
        done = a_reply()._replace(status=201, body=BODY)
        await begun(store, a_reply())
        assert await kept(store, done) is None
        assert await begun(store, a_reply()) == done
        assert await store.idempotency.find_reply("north", "key") == done

    async def test_a_key_without_a_reply_has_none(self, store: Store) -> None:
        assert await store.idempotency.find_reply("north", "key") is None
        first = a_reply()
        await begun(store, first)
        assert await store.idempotency.find_reply("north", "key") == first
        assert await store.idempotency.find_reply("south", "key") is None

    async def test_what_was_done_is_kept_with_its_reply(self, store: Store) -> None:
        assert await kept(store, done_reply(), writes=[(store, "first"), (store, "second")]) is None
        assert await jobs(store) == ["first", "second"]
        assert await kept(store, done_reply(), writes=[(store, "third")]) == done_reply()
        assert await jobs(store) == ["first", "second"]

    async def test_a_request_sees_what_it_has_written(self, store: Store) -> None:
        seen: list[list[str]] = []

        async def answer() -> IdempotentReply:
            seen.append(await jobs(store))
            await store.catalog.add_job(Job(id="first", name="first", tenant_id="north"))
            with suppress(Conflict):
                await store.catalog.add_job(Job(id="first", name="first", tenant_id="north"))
            seen.append([(await store.catalog.job("north", "first")).id])
            seen.append(await jobs(store))
            return done_reply()

        reply = await store.idempotency.keep_reply(
            "north", "key", a_reply(), answer=answer, stale_before=LONG_AGO
        )
        assert reply is None
        assert seen == [[], ["first"], ["first"]]

    async def test_of_many_requests_with_one_key_one_is_carried_out(self, peers: Sequence[Store]) -> None:
        ids = [f"{number}-{place}" for number in range(3) for place in range(len(peers))]
        answering = [
            kept(peer, done_reply(), writes=[(peer, id_)])
            for id_, peer in zip(ids, [*peers] * 3, strict=True)
        ]
        answers = await asyncio.gather(*answering)
        assert answers.count(None) == 1
        assert {one for one in answers if one is not None} == {done_reply()}
        assert await jobs(peers[0]) == [ids[answers.index(None)]]

    async def test_a_request_that_raises_leaves_the_key_free(self, store: Store) -> None:
        async def broken() -> IdempotentReply:
            raise ZeroDivisionError

        for writes in ([], [(store, "first")]):
            with pytest.raises(ZeroDivisionError):
                await kept(store, done_reply(), writes=writes, then=broken)
        assert await store.idempotency.find_reply("north", "key") is None
        assert await kept(store, done_reply(), writes=[(store, "second")]) is None

    async def test_a_key_in_progress_is_left_to_its_request(self, store: Store) -> None:
        first = a_reply("first")
        await begun(store, first)
        other = IdempotentReply("second", first.began_at, 200)
        assert await kept(store, other, writes=[(store, "second")]) == first
        assert await jobs(store) == []
        assert await kept(store, first._replace(status=200)) is None

    async def test_who_was_taken_over_changes_nothing(self, bench: Bench) -> None:
        first = a_reply()
        await begun(bench.store, first)
        bench.pass_ms(MINUTE)
        second = IdempotentReply(first.fingerprint, bench.ms(0))
        await bench.store.idempotency.begin_reply("north", "key", second, stale_before=bench.ms(-1))
        assert await kept(bench.store, first._replace(status=200)) == second
        await bench.store.idempotency.drop_reply("north", "key", first)
        assert await bench.store.idempotency.find_reply("north", "key") == second

    async def test_what_a_crash_left_in_progress_is_carried_out(self, bench: Bench) -> None:
        await begun(bench.store, a_reply())
        bench.pass_ms(MINUTE)
        done = IdempotentReply("request", bench.ms(0), 200)
        assert await kept(bench.store, done, stale_before=bench.ms(-1)) is None
        assert await bench.store.idempotency.find_reply("north", "key") == done

    async def test_what_a_crash_left_behind_is_taken_over(self, bench: Bench) -> None:
        await begun(bench.store, a_reply("crashed"))
        bench.pass_ms(MINUTE)
        later = IdempotentReply("again", bench.ms(0))
        assert (
            await bench.store.idempotency.begin_reply("north", "key", later, stale_before=bench.ms(-1))
            is None
        )
        assert await begun(bench.store, a_reply()) == later

    async def test_of_many_callers_one_takes_over(self, bench: Bench, peers: Sequence[Store]) -> None:
        await begun(bench.store, a_reply("crashed"))
        bench.pass_ms(MINUTE)
        taking = [
            peer.idempotency.begin_reply(
                "north", "key", IdempotentReply(f"{number}", bench.ms(0)), stale_before=bench.ms(-1)
            )
            for number in range(8)
            for peer in peers
        ]
        assert (await asyncio.gather(*taking)).count(None) == 1

    async def test_a_request_that_began_at_the_limit_is_not_stale(self, store: Store) -> None:
        first = a_reply("first")
        await begun(store, first)
        second = a_reply("second")
        assert (
            await store.idempotency.begin_reply("north", "key", second, stale_before=first.began_at) == first
        )

    async def test_an_answer_is_never_taken_over(self, bench: Bench) -> None:
        done = a_reply()._replace(status=200)
        await kept(bench.store, done)
        later = IdempotentReply("again", bench.ms(MINUTE))
        assert (
            await bench.store.idempotency.begin_reply("north", "key", later, stale_before=bench.ms(MINUTE))
            == done
        )

    async def test_a_key_that_was_given_back_is_free_again(self, store: Store) -> None:
        await begun(store, a_reply("first"))
        await store.idempotency.drop_reply("north", "key", a_reply("first"))
        assert await begun(store, a_reply("second")) is None
        await store.idempotency.drop_reply("north", "nothing", a_reply("first"))

    async def test_an_answer_is_never_given_back(self, store: Store) -> None:
        await kept(store, done_reply())
        await store.idempotency.drop_reply("north", "key", a_reply())
        assert await store.idempotency.find_reply("north", "key") == done_reply()

    async def test_a_key_is_given_back_for_its_own_tenant_alone(self, store: Store) -> None:
        first = a_reply("first")
        await begun(store, first)
        await store.idempotency.drop_reply("south", "key", first)
        assert await begun(store, a_reply("second")) == first

    async def test_replies_that_began_earlier_are_forgotten(self, bench: Bench) -> None:
        store = bench.store
        for minute, key in enumerate(("oldest", "old", "new")):
            await store.idempotency.begin_reply(
                "north", key, IdempotentReply(key, bench.ms(minute * MINUTE)), stale_before=LONG_AGO
            )
        assert await store.idempotency.forget_replies(bench.ms(2 * MINUTE)) == 2
        assert await store.idempotency.forget_replies(bench.ms(2 * MINUTE)) == 0
        assert await begun(store, a_reply(), key="new") == IdempotentReply("new", bench.ms(2 * MINUTE))
        assert await begun(store, a_reply(), key="old") is None


class RateContract(Contract):
    """`draw`."""

    async def test_what_is_drawn_adds_up(self, store: Store) -> None:
        assert await store.rates.draw("caller", window=100, amount=5) == 5
        assert await store.rates.draw("caller", window=100, amount=2) == 7

    async def test_subjects_and_windows_are_counted_apart(self, store: Store) -> None:
        await store.rates.draw("caller", window=100, amount=5)
        assert await store.rates.draw("other", window=100, amount=1) == 1
        assert await store.rates.draw("caller", window=101, amount=2) == 2
        assert await store.rates.draw("caller", window=100, amount=1) == 6

    async def test_old_windows_go(self, store: Store) -> None:
        await store.rates.draw("caller", window=100, amount=5)
        await store.rates.draw("other", window=200, amount=1)
        assert await store.rates.draw("caller", window=100, amount=3) == 3

    @pytest.mark.parametrize("amount", [1, 7])
    async def test_many_that_draw_at_once_get_shares_that_do_not_overlap(
        self, peers: Sequence[Store], amount: int
    ) -> None:
        drawing = [peer.rates.draw("caller", window=100, amount=amount) for _ in range(8) for peer in peers]
        drawn = await asyncio.gather(*drawing)
        assert sorted(drawn) == [amount * number for number in range(1, len(drawn) + 1)]


def a_reply(fingerprint: str = "request") -> IdempotentReply:
    """One that is being worked on."""
    return IdempotentReply(fingerprint, NEW_YEAR.replace(microsecond=123_456))


async def begun(
    store: Store, reply: IdempotentReply, *, tenant_id: str = "north", key: str = "key"
) -> IdempotentReply | None:
    """Take a key when nothing is stale."""
    return await store.idempotency.begin_reply(tenant_id, key, reply, stale_before=LONG_AGO)


def done_reply() -> IdempotentReply:
    """One that was carried out."""
    return a_reply()._replace(status=201, body=BODY)


async def kept(
    store: Store,
    reply: IdempotentReply,
    *,
    writes: Sequence[tuple[Store, str]] = (),
    then: Answering | None = None,
    stale_before: datetime = LONG_AGO,
) -> IdempotentReply | None:
    """Carry out a request that adds jobs."""

    async def answer() -> IdempotentReply:
        for peer, id_ in writes:
            await peer.catalog.add_job(Job(id=id_, name=id_, tenant_id="north"))
        return reply if then is None else await then()

    begun_reply = reply._replace(status=None, body=b"")
    return await store.idempotency.keep_reply(
        "north", "key", begun_reply, answer=answer, stale_before=stale_before
    )


async def jobs(store: Store) -> list[str]:
    """The ids of all jobs."""
    return [job.id for job in await store.catalog.jobs("north")]
