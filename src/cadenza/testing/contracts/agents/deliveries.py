"""Undelivered messages: numbered without gaps, replayed in order, and delivered once acknowledged."""

import asyncio
from collections.abc import Sequence
from functools import partial

from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.delivery import Missed, Subtitle
from cadenza.domain.agents.users import UserKey
from cadenza.ports.store import Store
from cadenza.testing.contracts.agents.conversation_fixtures import (
    ANNA,
    BERT,
    COMMAND,
    NAMESAKE,
    TUTOR,
    AgentContract,
    ConversationFixture,
)
from cadenza.testing.contracts.harness import MINUTE, Bench


class DeliveryContract(AgentContract):
    """Deliveries: numbering, reading, acknowledgement, notification, and retention."""

    async def test_a_message_that_is_owed_comes_back_as_it_was(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        words = Subtitle("äöü \N{SNOWMAN}\n\t\"'")
        deliveries = await talk.say(
            "x", to_deliver=(words, COMMAND), schedule_id="sched-aaaaa", firing="run-1"
        )
        assert await talk.undelivered() == deliveries
        first, second = deliveries
        assert (first.message, second.message) == (words, COMMAND)
        assert (first.id, second.id) == ("run-1.1", "run-1.2")
        assert (first.seq, second.seq, first.agent_id) == (1, 2, "tutor")
        assert (first.schedule_id, first.firing, first.delivered) == ("sched-aaaaa", "run-1", False)
        assert first.owed_at == bench.ms(0)

    async def test_numbers_are_a_users_own_and_have_no_gaps(
        self, talk: ConversationFixture, peers: Sequence[Store]
    ) -> None:
        await talk.add_users_and_agents()
        talkers = [ConversationKey(*ANNA, "tutor"), ConversationKey(*ANNA, "coach")]
        talkers += [ConversationKey(*BERT, "tutor"), ConversationKey(*NAMESAKE, "tutor")]
        turns = [talk.turn(f"{number}", key) for number in range(8) for key in talkers]
        await asyncio.gather(
            *(peers[place % len(peers)].conversations.commit_turn(turn) for place, turn in enumerate(turns))
        )
        assert [one.seq for one in await talk.undelivered()] == list(range(1, 17))
        for user in (BERT, NAMESAKE):
            assert [one.seq for one in await talk.undelivered(user)] == list(range(1, 9))

    async def test_who_has_read_up_to_a_number_never_finds_an_earlier_one(
        self, talk: ConversationFixture, peers: Sequence[Store]
    ) -> None:
        await talk.add_users_and_agents()
        seen: list[int] = []
        writing = asyncio.gather(
            *(
                peers[place % len(peers)].conversations.commit_turn(talk.turn(f"{place}"))
                for place in range(40)
            )
        )
        while not writing.done() or len(seen) < 40:
            page = await talk.undelivered(after=seen[-1] if seen else 0, limit=3)
            seen += [one.seq for one in page]
            await asyncio.sleep(0)
        assert seen == list(range(1, 41))

    async def test_what_is_owed_is_read_in_pages_within_bounds(
        self, talk: ConversationFixture, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        for number in range(5):
            await talk.say(f"{number}")
        assert [one.seq for one in await talk.undelivered(after=1, limit=2)] == [2, 3]
        assert [one.seq for one in await talk.undelivered(after=3, upto=4)] == [4]
        assert await talk.undelivered(upto=0) == []
        assert await talk.undelivered(after=5) == []

    async def test_an_acknowledgement_is_for_everything_up_to_it(
        self, talk: ConversationFixture, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        for number in range(4):
            await talk.say(f"{number}")
        assert await store.deliveries.acknowledge(ANNA, 2) == 2
        assert await store.deliveries.acknowledge(ANNA, 2) == 0
        assert [one.seq for one in await talk.undelivered()] == [3, 4]
        everything = await store.deliveries.deliveries(ANNA, after=0, limit=10)
        assert [(one.seq, one.delivered) for one in everything] == [
            (1, True),
            (2, True),
            (3, False),
            (4, False),
        ]
        assert await store.deliveries.acknowledge(ANNA, 1_000) == 2
        assert [one.seq for one in await talk.say("new")] == [5]
        assert [one.seq for one in await talk.undelivered()] == [5]

    async def test_a_user_acknowledges_their_own_messages_alone(
        self, talk: ConversationFixture, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        for user in (ANNA, BERT, NAMESAKE):
            await talk.say("hi", ConversationKey(*user, "tutor"))
        await store.deliveries.acknowledge(ANNA, 10)
        assert [len(await talk.undelivered(user)) for user in (ANNA, BERT, NAMESAKE)] == [0, 1, 1]

    async def test_what_was_handed_over_with_the_answer_is_not_owed(self, talk: ConversationFixture) -> None:
        await talk.add_users_and_agents()
        deliveries = await talk.say("over http", delivered_in_response=True)
        assert [(one.seq, one.delivered) for one in deliveries] == [(1, True)]
        assert await talk.undelivered() == []

    async def test_firings_are_counted_however_many_messages_they_left(
        self, talk: ConversationFixture, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        assert await store.deliveries.missed(ANNA) == Missed()
        await talk.say("a", to_deliver=(Subtitle("1"), COMMAND), firing="run-1")
        await talk.say("b", firing="run-2")
        await talk.say("chat")
        await talk.say("c", ConversationKey(*BERT, "tutor"), firing="run-3")
        assert await store.deliveries.missed(ANNA) == Missed(firings=2)
        await store.deliveries.acknowledge(ANNA, 1)
        assert await store.deliveries.missed(ANNA) == Missed(firings=2), "one message is still owed"
        await store.deliveries.acknowledge(ANNA, 2)
        assert await store.deliveries.missed(ANNA) == Missed(firings=1)

    async def test_what_a_socket_was_sent_is_owed_and_not_missed(
        self, talk: ConversationFixture, peers: Sequence[Store]
    ) -> None:
        await talk.add_users_and_agents()
        for name in ("run-1", "run-2", "run-3"):
            await talk.say("a", firing=name)
        await talk.say("b", ConversationKey(*NAMESAKE, "tutor"), firing="run-4")
        await peers[0].deliveries.mark_sent(ANNA, 2)
        assert await peers[-1].deliveries.missed(ANNA) == Missed(firings=1)
        await peers[-1].deliveries.mark_sent(ANNA, 1)
        assert await peers[0].deliveries.missed(ANNA) == Missed(firings=1), "another socket was further"
        assert [one.seq for one in await talk.undelivered()] == [1, 2, 3]
        assert await peers[0].deliveries.missed(NAMESAKE) == Missed(firings=1)
        await peers[0].deliveries.mark_sent(UserKey("north", "nobody"), 5)

    async def test_what_is_delivered_and_old_is_forgotten_and_what_is_owed_is_not(
        self, talk: ConversationFixture, bench: Bench, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        await talk.say("delivered")
        await store.deliveries.acknowledge(ANNA, 1)
        await talk.say("owed")
        bench.pass_ms(MINUTE)
        await talk.say("fresh", delivered_in_response=True)
        assert await store.deliveries.forget_deliveries(delivered_before=bench.ms(0)) == 0
        left = await store.deliveries.deliveries(ANNA, after=0, limit=9)
        assert [one.seq for one in left] == [2, 3]
        assert await store.deliveries.last_seqs([ANNA]) == {ANNA: 3}

    async def test_what_expires_is_counted_until_its_user_is_told(
        self, talk: ConversationFixture, bench: Bench, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        for number in range(3):
            await talk.say(f"{number}", firing=f"run-{number}")
        await talk.say("theirs", ConversationKey(*BERT, "tutor"))
        await store.deliveries.acknowledge(ANNA, 1)
        bench.pass_ms(MINUTE)
        await talk.say("fresh", firing="run-9")
        before = bench.ms(0)
        forget = partial(
            store.deliveries.forget_deliveries,
            delivered_before=bench.ms(-2 * MINUTE),
            undelivered_before=before,
        )
        assert (await forget(), await forget()) == (3, 0)
        assert await store.deliveries.missed(ANNA) == Missed(firings=1, expired=2)
        assert await store.deliveries.missed(BERT) == Missed(expired=1)
        assert [one.seq for one in await store.deliveries.deliveries(ANNA, after=0, limit=9)] == [1, 4]
        await store.deliveries.mark_sent(ANNA, 0, expired=1)
        assert await store.deliveries.missed(ANNA) == Missed(firings=1, expired=1)
        await store.deliveries.mark_sent(ANNA, 4, expired=5)
        assert await store.deliveries.missed(ANNA) == Missed()

    async def test_last_numbers_are_told_of_many_at_once(
        self, talk: ConversationFixture, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        await talk.say("a", to_deliver=(COMMAND, COMMAND))
        nobody = UserKey("north", "nobody")
        assert await store.deliveries.last_seqs([ANNA, BERT, NAMESAKE, nobody]) == {
            ANNA: 2,
            BERT: 0,
            NAMESAKE: 0,
        }
        assert await store.deliveries.last_seqs([]) == {}

    async def test_a_new_message_calls_for_its_user_alone(
        self, talk: ConversationFixture, peers: Sequence[Store]
    ) -> None:
        await talk.add_users_and_agents()
        notified = {user: asyncio.Event() for user in (ANNA, BERT)}
        ends = [peers[-1].deliveries.on_new_delivery(user, event.set) for user, event in notified.items()]
        await peers[0].conversations.commit_turn(talk.turn("hi", TUTOR))
        await asyncio.wait_for(notified[ANNA].wait(), timeout=30)
        await asyncio.sleep(0.05)  # Whoever begins to listen may be called for what was missed.
        for event in notified.values():
            event.clear()
        await peers[0].conversations.commit_turn(talk.turn("more", TUTOR))
        await asyncio.wait_for(notified[ANNA].wait(), timeout=30)
        assert not notified[BERT].is_set()
        for end in ends:
            end()
        notified[ANNA].clear()
        await peers[0].conversations.commit_turn(talk.turn("again", TUTOR))
        await asyncio.sleep(0.05)
        assert not notified[ANNA].is_set()
