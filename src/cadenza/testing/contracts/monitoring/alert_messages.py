"""Contracts of messages about conditions: taken by one, sent until they are settled, and dropped."""

from datetime import timedelta
from functools import partial
from typing import Any

from cadenza.domain.monitoring.alert_message import AlertMessage
from cadenza.domain.monitoring.condition import acknowledge, endpoint_condition
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Contract
from cadenza.testing.contracts.monitoring.conditions import apply, failed, plan, recovered, take, texts

MINUTE = timedelta(minutes=1)


class AlertMessageContract(Contract):
    """`take_messages`, `settle_message` and `forget_messages`."""

    async def test_a_message_that_no_one_settles_is_taken_again(self, store: Store) -> None:
        await apply(store, failed("a"))
        await plan(store)
        assert len(await take(store)) == 1
        assert await take(store, NEW_YEAR + MINUTE / 2) == []
        (again,) = await store.alert_messages.take_messages(
            now=NEW_YEAR + MINUTE, until=NEW_YEAR + 2 * MINUTE, limit=9
        )
        assert again.attempt == 2

    async def test_a_message_comes_back_as_it_was_made(self, store: Store) -> None:
        await apply(store, failed("a"))
        await plan(store)
        (message,) = await take(store)
        key = endpoint_condition("north", "a")
        assert message == AlertMessage(tenant_id="north", route_id="", alert=failed("a"), condition_id=key.id)

    async def test_a_settled_message_is_sent_again_only_if_it_should(self, store: Store) -> None:
        await apply(store, failed("a", job_id="1"), failed("b", 1, job_id="2"))
        await plan(store)
        first, second = await take(store)
        await store.alert_messages.settle_message(first.key, None)
        await store.alert_messages.settle_message(second.key, NEW_YEAR + 5 * MINUTE)
        assert await take(store, NEW_YEAR + 4 * MINUTE) == []
        assert await take(store, NEW_YEAR + 5 * MINUTE) == [second]

    async def test_messages_are_taken_oldest_first_and_no_more_than_asked(self, store: Store) -> None:
        await apply(store, *(failed(f"{n}", 3 - n, job_id=f"{n}") for n in range(3)))
        await plan(store)
        assert [one.alert.facts["endpoint_id"] for one in await take(store, limit=2)] == ["2", "1"]

    async def test_without_a_default_route_its_messages_are_left_to_others(self, store: Store) -> None:
        await apply(store, failed("a"))
        await plan(store)
        about: dict[str, Any] = {"now": NEW_YEAR, "until": NEW_YEAR + MINUTE}
        assert await store.alert_messages.take_messages(**about, limit=9, default=False) == []
        assert len(await store.alert_messages.take_messages(**about, limit=9)) == 1

    async def test_an_end_waits_for_the_message_of_its_beginning(self, store: Store) -> None:
        await apply(store, failed("a"))
        await plan(store)
        (begun,) = await take(store)
        await apply(store, recovered("a", 1), now=NEW_YEAR + MINUTE)
        await plan(store, NEW_YEAR + MINUTE)
        await store.alert_messages.settle_message(begun.key, NEW_YEAR + 9 * MINUTE)
        assert await texts(store, NEW_YEAR + 2 * MINUTE) == []
        assert await take(store, NEW_YEAR + 9 * MINUTE) == [begun]
        await store.alert_messages.settle_message(begun.key, None)
        assert await texts(store, NEW_YEAR + 9 * MINUTE) == [
            "Endpoint a recovered after 3 consecutive failures."
        ]

    async def test_a_message_that_was_dropped_does_not_come_back_with_its_failure(self, store: Store) -> None:
        await apply(store, failed("a"))
        await plan(store)
        (message,) = await take(store)
        change = partial(acknowledge, by="me", note=None, now=NEW_YEAR)
        await store.conditions.amend_condition(endpoint_condition("north", "a"), change, release_at=NEW_YEAR)
        await store.alert_messages.settle_message(message.key, NEW_YEAR + MINUTE)
        assert await take(store, NEW_YEAR + 5 * MINUTE) == []

    async def test_old_messages_are_dropped(self, store: Store) -> None:
        await apply(store, failed("a", job_id="1"), failed("b", 9, job_id="2"))
        await plan(store)
        await store.alert_messages.forget_messages(NEW_YEAR + 5 * MINUTE)
        assert [one.alert.facts["endpoint_id"] for one in await take(store)] == ["b"]
