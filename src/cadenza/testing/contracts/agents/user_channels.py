"""Contracts of users' channels: messages are claimed by one, settled once, and left to sockets."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from cadenza.domain.agents.channels.channel_choice import ChannelDecision, ChannelSituation, choose_channel
from cadenza.domain.agents.channels.quiet_hours import QuietHours
from cadenza.domain.agents.channels.user_channels import ChannelHealth, UserChannel, UserChannels, with_health
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.users import UserKey
from cadenza.domain.channel import Channel, ChannelType
from cadenza.domain.errors import NotFound
from cadenza.ports.alerting import ChannelSend, DueUser, TakenSends
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.agents.conversation_fixtures import (
    ANNA,
    BERT,
    COMMAND,
    NAMESAKE,
    AgentContract,
    ConversationFixture,
)

MINUTE = timedelta(minutes=1)
HEALTH = ChannelHealth(2, NEW_YEAR + MINUTE, "answered 503")


def user_channels(*names: str, **fields: Any) -> UserChannels:
    """Webhooks with these ids, the preferred one first."""
    made = (
        UserChannel(
            id=name, tenant_id="north", channel=Channel(ChannelType.WEBHOOK, f"https://{name}.example")
        )
        for name in names
    )
    return UserChannels(channels=tuple(made), **fields)


class UserChannelContract(AgentContract):
    """`ChannelStore`, and what it means for `DeliveryStore`."""

    @pytest.fixture
    async def phone(self, talk: ConversationFixture) -> "ChannelFixture":
        """Users and agents; the first user has a channel."""
        await talk.add_users_and_agents()
        phone = ChannelFixture(talk)
        await phone.set_channels()
        return phone

    async def test_channels_come_back_as_they_were_set(self, phone: "ChannelFixture") -> None:
        quiet = QuietHours(NEW_YEAR.time().replace(hour=22), NEW_YEAR.time().replace(hour=7))
        wanted = user_channels("a", "b", quiet=quiet, health={"a": HEALTH})
        await phone.set_channels(wanted)
        assert await phone.store.channels.channels(ANNA) == wanted
        assert await phone.store.channels.channels(BERT) == UserChannels()
        with pytest.raises(NotFound):
            await phone.store.channels.channels(UserKey("north", "nobody"))
        with pytest.raises(NotFound):
            await phone.set_channels(user=UserKey("north", "nobody"))

    async def test_a_message_is_claimed_by_one_of_many(self, phone: "ChannelFixture") -> None:
        await phone.talk.say("hello")
        taken = await asyncio.gather(*(phone.take() for _ in range(8)))
        (send,) = (send for sends in taken for send in sends)
        assert (send.delivery.seq, send.channel.id, send.attempt) == (1, "phone", 1)
        assert send.until == NEW_YEAR + MINUTE

    async def test_a_claim_that_nobody_settles_is_taken_again_when_it_has_ended(
        self, phone: "ChannelFixture"
    ) -> None:
        await phone.talk.say("hello")
        (lost,) = await phone.take()
        assert await phone.take(NEW_YEAR + MINUTE / 2) == []
        (again,) = await phone.take(NEW_YEAR + MINUTE)
        assert again.delivery == lost.delivery
        await phone.settle(lost, problem="too late")
        assert await phone.take(NEW_YEAR + MINUTE) == []

    async def test_what_a_channel_accepted_is_delivered_and_no_socket_is_sent_it(
        self, phone: "ChannelFixture"
    ) -> None:
        await phone.talk.say("one", firing="run-1")
        await phone.talk.say("two", firing="run-2")
        (send,) = await phone.take()
        await phone.settle(send)
        assert [one.seq for one in await phone.talk.undelivered()] == [2]
        kept = await phone.store.deliveries.deliveries(ANNA, after=0, limit=9)
        assert [one.seq for one in kept] == [2]
        assert (await phone.store.deliveries.missed(ANNA)).firings == 1

    async def test_messages_are_taken_in_order_one_at_a_time(self, phone: "ChannelFixture") -> None:
        for number in range(3):
            await phone.talk.say(f"{number}")
        for seq in (1, 2, 3):
            (send,) = await phone.take()
            assert send.delivery.seq == seq
            assert await phone.take() == []
            await phone.settle(send)
        assert await phone.take() == []
        assert await phone.due() == 0

    async def test_what_was_acknowledged_or_has_no_words_is_not_taken(self, phone: "ChannelFixture") -> None:
        await phone.talk.say("read")
        await phone.talk.say("canvas", to_deliver=(COMMAND,))
        await phone.talk.say("answer", delivered_in_response=True)
        await phone.talk.say("words")
        await phone.store.deliveries.acknowledge(ANNA, 1)
        (send,) = await phone.take()
        assert send.delivery.seq == 4
        await phone.settle(send)
        assert [one.seq for one in await phone.talk.undelivered()] == [2]

    async def test_a_user_is_due_with_a_message_until_there_is_nothing_to_send(
        self, phone: "ChannelFixture"
    ) -> None:
        assert await phone.due() == 1
        assert await phone.due() == 0
        await phone.talk.say("to Bert", key=phone.of(BERT))
        await phone.talk.say("at once", delivered_in_response=True)
        assert await phone.due() == 0
        await phone.talk.say("hello")
        assert await phone.due(NEW_YEAR - MINUTE) == 0
        assert await phone.due() == 1

    async def test_a_refusal_changes_the_channels_and_the_user_is_due_again(
        self, phone: "ChannelFixture"
    ) -> None:
        await phone.talk.say("hello")
        (send,) = await phone.take()
        await phone.settle(send, problem="answered 503")
        assert (await phone.store.channels.channels(ANNA)).health == {"phone": HEALTH}
        assert await phone.take() == []
        (again,) = await phone.take(HEALTH.again_at)
        assert (again.delivery, again.attempt) == (send.delivery, 3)

    async def test_what_was_accepted_after_the_claim_ended_is_delivered_all_the_same(
        self, phone: "ChannelFixture"
    ) -> None:
        await phone.talk.say("hello")
        (slow,) = await phone.take()
        (second,) = await phone.take(NEW_YEAR + MINUTE)
        await phone.settle(slow)
        assert await phone.talk.undelivered() == []
        await phone.settle(second)
        assert await phone.take(NEW_YEAR + 2 * MINUTE) == []

    async def test_a_change_leaves_a_claim_in_force_alone(self, phone: "ChannelFixture") -> None:
        await phone.talk.say("hello")
        (send,) = await phone.take()
        await phone.set_channels(user_channels("mail"))
        assert await phone.take(NEW_YEAR + MINUTE / 2) == []
        await phone.settle(send, problem="answered 503")
        (other,) = await phone.take()
        assert other.channel.id == "mail"

    async def test_a_socket_waits_while_a_channel_is_sending(self, phone: "ChannelFixture") -> None:
        await phone.talk.say("hello")
        (send,) = await phone.take()
        assert (await phone.reserve()).sending_until == send.until
        await phone.settle(send)
        assert (await phone.reserve()).sending_until is None

    async def test_channels_leave_a_user_to_a_socket_that_reserved(self, phone: "ChannelFixture") -> None:
        await phone.talk.say("hello")
        assert (await phone.reserve()).uses_channels
        assert await phone.take() == []
        assert await phone.take(NEW_YEAR + MINUTE / 2 - timedelta(seconds=1)) == []
        assert len(await phone.take(NEW_YEAR + MINUTE)) == 1

    async def test_a_reservation_holds_for_a_message_that_comes_after_it(
        self, phone: "ChannelFixture"
    ) -> None:
        assert await phone.due() == 1
        await phone.reserve()
        await phone.talk.say("hello")
        assert await phone.take(NEW_YEAR + MINUTE / 2 - timedelta(seconds=1)) == []

    async def test_a_claim_that_ended_is_no_reason_for_a_socket_to_wait(
        self, phone: "ChannelFixture"
    ) -> None:
        await phone.talk.say("hello")
        (lost,) = await phone.take()
        assert (await phone.reserve(lost.until)).sending_until is None
        assert await phone.take(lost.until) == []

    async def test_who_never_set_channels_uses_none(self, phone: "ChannelFixture") -> None:
        for user in (BERT, NAMESAKE):
            assert not (await phone.reserve(user=user)).uses_channels

    async def test_a_removed_user_has_no_channels_any_more(self, phone: "ChannelFixture") -> None:
        await phone.talk.say("hello")
        (send,) = await phone.take()
        await phone.store.users.remove_user(ANNA)
        await phone.settle(send)
        await phone.talk.add_users_and_agents()
        assert await phone.store.channels.channels(ANNA) == UserChannels()

    async def test_users_are_taken_longest_due_first_and_no_more_than_asked(
        self, phone: "ChannelFixture"
    ) -> None:
        await phone.set_channels(user=BERT, due_at=NEW_YEAR - MINUTE)
        for user in (ANNA, BERT):
            await phone.talk.say(f"to {user.id}", key=phone.of(user))
        assert [one.delivery.user for one in await phone.take(limit=1)] == [BERT]
        assert [one.delivery.user for one in await phone.take(limit=1)] == [ANNA]

    async def test_commits_and_decisions_at_once_lose_no_message(self, phone: "ChannelFixture") -> None:
        async def say(number: int) -> None:
            await phone.talk.say(f"{number}")

        async def deliver() -> None:
            for send in await phone.take():
                await phone.settle(send)

        for start in range(0, 24, 4):
            await asyncio.gather(*(work for n in range(start, start + 4) for work in (say(n), deliver())))
        while await phone.talk.undelivered():
            assert await phone.due(settle=True), "a message is undelivered, and its user is not due"


class ChannelFixture:
    """A store whose messages are claimed for channels, as if sockets had had their time."""

    def __init__(self, talk: ConversationFixture) -> None:
        self.talk = talk
        self.store: Store = talk.store
        self._claims = 0

    def of(self, user: UserKey) -> ConversationKey:
        """The conversation of a user with the tutor."""
        return ConversationKey(*user, "tutor")

    async def set_channels(
        self,
        channels: UserChannels | None = None,
        user: UserKey = ANNA,
        due_at: datetime = NEW_YEAR,
    ) -> None:
        """Replace a user's channels."""
        wanted = channels or user_channels("phone")
        await self.store.channels.amend_channels(user, lambda _: wanted, now=NEW_YEAR, due_at=due_at)

    async def take(self, now: datetime = NEW_YEAR, *, limit: int = 9) -> Sequence[ChannelSend]:
        """Claim what is to be sent."""
        return (await self._take(now, limit)).sends

    async def due(self, now: datetime = NEW_YEAR, *, settle: bool = False) -> int:
        """How many users are looked at; what is claimed of them is settled, if asked."""
        taken = await self._take(now, 9)
        for send in taken.sends if settle else ():
            await self.settle(send)
        return taken.looked_at

    async def settle(self, send: ChannelSend, *, problem: str | None = None) -> None:
        """Record that it was accepted, or had a problem."""
        health = None if problem is None else HEALTH
        change = partial(with_health, channel_id=send.channel.id, health=health)
        accepted = problem is None
        await self.store.channels.settle_send(send, change, now=NEW_YEAR, accepted=accepted)

    async def reserve(self, now: datetime = NEW_YEAR, user: UserKey = ANNA) -> Any:
        """Reserve a user's messages for a socket, for a minute."""
        return await self.store.deliveries.reserve_for_socket(user, now=now, until=now + MINUTE)

    async def _take(self, now: datetime, limit: int) -> TakenSends:
        self._claims += 1
        rule = partial(_choose, now=now)
        return await self.store.channels.take_sends(rule, now=now, token=f"{self._claims}", limit=limit)


def _choose(due: DueUser, now: datetime) -> ChannelDecision:
    return choose_channel(
        ChannelSituation(now=now, oldest=due.oldest, channels=due.channels, socket_first=timedelta())
    )
