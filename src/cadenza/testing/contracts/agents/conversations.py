"""Conversations: what was said stays in its order, and one at a time speaks."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from cadenza.domain.agents.conversation import ConversationKey, Role
from cadenza.domain.errors import NotFound
from cadenza.ports.catalog import Page
from cadenza.ports.store import Store
from cadenza.testing.contracts.agents.conversation_fixtures import (
    ANNA,
    BERT,
    COACH,
    FULL,
    MINE,
    NAMESAKE,
    TUTOR,
    YOURS,
    AgentContract,
    ConversationFixture,
    a_message,
)
from cadenza.testing.contracts.harness import MINUTE, Bench


class ConversationContract(AgentContract):
    """`begin_turn`, `renew_turn`, `end_turn`, `commit_turn`, `context`, `messages`, `reset_context`."""

    async def test_a_message_comes_back_as_it_was(self, talk: ConversationFixture, store: Store) -> None:
        await talk.add_users_and_agents()
        plain = a_message("plain", "hi")
        await talk.say("x", messages=(FULL, plain))
        assert await store.conversations.context(TUTOR, 10) == [FULL, plain]
        assert await store.conversations.messages(TUTOR) == [plain, FULL]

    async def test_context_is_the_newest_oldest_first(self, talk: ConversationFixture) -> None:
        await talk.add_users_and_agents()
        for text in ("a", "b", "c"):
            await talk.say(text)
        assert await talk.texts(limit=3) == ["b!", "c?", "c!"]
        assert await talk.texts(limit=100) == ["a?", "a!", "b?", "b!", "c?", "c!"]

    async def test_all_that_was_said_is_listed_newest_first_page_by_page(
        self, talk: ConversationFixture, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        for text in ("a", "b"):
            await talk.say(text)
        assert [one.text for one in await store.conversations.messages(TUTOR, Page(3))] == ["b!", "b?", "a!"]
        assert [one.text for one in await store.conversations.messages(TUTOR, Page(3, after="a"))] == ["a?"]

    async def test_conversations_are_apart_by_user_agent_and_tenant(self, talk: ConversationFixture) -> None:
        await talk.add_users_and_agents()
        others = [COACH, ConversationKey(*BERT, "tutor"), ConversationKey(*NAMESAKE, "tutor")]
        for number, key in enumerate([TUTOR, *others]):
            await talk.say(f"{number}", key)
        assert await talk.texts() == ["0?", "0!"]
        assert [await talk.texts(key) for key in others] == [["1?", "1!"], ["2?", "2!"], ["3?", "3!"]]

    async def test_a_reset_starts_a_users_conversations_afresh(
        self, talk: ConversationFixture, bench: Bench, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        bert = ConversationKey(*BERT, "tutor")
        for key in (TUTOR, COACH, bert):
            await talk.say("before", key)
        bench.pass_ms(MINUTE)
        await store.conversations.reset_context(ANNA, bench.clock.now())
        assert await talk.texts() == await talk.texts(COACH) == []
        assert await talk.texts(bert) == ["before?", "before!"]
        await talk.say("after")
        assert await talk.texts() == ["after?", "after!"]
        assert len(await store.conversations.messages(TUTOR)) == 4

    async def test_a_turn_that_began_before_a_reset_is_no_context_after_it(
        self, talk: ConversationFixture, bench: Bench, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        under_way = talk.turn("old")
        bench.pass_ms(MINUTE)
        await store.conversations.reset_context(ANNA, bench.clock.now())
        bench.pass_ms(MINUTE)
        assert await store.conversations.commit_turn(under_way) is not None
        assert await talk.texts() == []
        await store.conversations.reset_context(ANNA, bench.ms(-5 * MINUTE))
        assert await talk.texts() == []

    async def test_of_many_one_has_the_turn(
        self, talk: ConversationFixture, bench: Bench, peers: Sequence[Store]
    ) -> None:
        await talk.add_users_and_agents()
        asked = {"now": bench.ms(0), "until": bench.ms(MINUTE)}
        asking = [
            peer.conversations.begin_turn(TUTOR, token=f"token-{number}", **asked)
            for number, peer in enumerate([*peers] * 4)
        ]
        assert (await asyncio.gather(*asking)).count(True) == 1
        assert await bench.store.conversations.begin_turn(COACH, token=MINE, **asked)

    async def test_a_turn_is_free_again_when_it_is_ended(
        self, talk: ConversationFixture, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        assert await begin(talk, MINE)
        assert await begin(talk, MINE), "who has it may ask again"
        assert not await begin(talk, YOURS)
        await store.conversations.end_turn(TUTOR, token=YOURS)
        assert not await begin(talk, YOURS)
        await store.conversations.end_turn(TUTOR, token=MINE)
        assert await begin(talk, YOURS)

    async def test_a_turn_that_ran_out_is_taken_over_and_lost_to_who_had_it(
        self, talk: ConversationFixture, bench: Bench, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        assert await begin(talk, MINE)
        bench.pass_ms(MINUTE - 1)
        assert not await begin(talk, YOURS)
        bench.pass_ms(1)
        assert await begin(talk, YOURS)
        assert not await store.conversations.renew_turn(TUTOR, token=MINE, until=bench.ms(MINUTE))
        assert await store.conversations.commit_turn(talk.turn("lost", token=MINE)) is None
        assert (await talk.texts(), await talk.undelivered()) == ([], [])
        assert await store.deliveries.last_seqs([ANNA]) == {ANNA: 0}
        await talk.say("kept", token=YOURS)
        assert await talk.texts() == ["kept?", "kept!"]

    async def test_a_turn_that_is_renewed_lasts_longer(
        self, talk: ConversationFixture, bench: Bench, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        assert await begin(talk, MINE)
        assert await store.conversations.renew_turn(TUTOR, token=MINE, until=bench.ms(3 * MINUTE))
        bench.pass_ms(2 * MINUTE)
        assert not await begin(talk, YOURS)
        bench.pass_ms(MINUTE)
        assert await begin(talk, YOURS)

    async def test_a_commit_ends_the_turn(self, talk: ConversationFixture) -> None:
        await talk.add_users_and_agents()
        assert await begin(talk, MINE)
        await talk.say("said", token=MINE)
        assert await begin(talk, YOURS)

    async def test_nobody_speaks_with_who_is_not_there(self, talk: ConversationFixture) -> None:
        await talk.add_users_and_agents()
        for key, missing in (
            (ConversationKey("north", "nobody", "tutor"), "user nobody"),
            (ConversationKey("north", "anna", "nobody"), "agent nobody"),
            (ConversationKey("south", "bert", "tutor"), "user bert"),
            (ConversationKey("south", "anna", "coach"), "agent coach"),
        ):
            with pytest.raises(NotFound, match=f"{missing.capitalize()} not found"):
                await begin(talk, "token", key)

    async def test_a_firing_is_committed_once(self, talk: ConversationFixture) -> None:
        await talk.add_users_and_agents()
        first = await talk.say("daily", firing="daily:1", tokens=5)
        assert await talk.say("daily", firing="daily:1", tokens=5) == first
        assert (await talk.undelivered(), await talk.texts()) == (first, ["daily?", "daily!"])

    async def test_turns_that_are_committed_at_once_stay_whole(
        self, talk: ConversationFixture, peers: Sequence[Store]
    ) -> None:
        await talk.add_users_and_agents()
        turns = [talk.turn(f"{number}") for number in range(4 * len(peers))]
        await asyncio.gather(
            *(peer.conversations.commit_turn(turn) for peer, turn in zip([*peers] * 4, turns, strict=True))
        )
        texts = await talk.texts()
        assert len(texts) == 2 * len(turns)
        assert all(
            (asked, answered) == (f"{asked[:-1]}?", f"{asked[:-1]}!")
            for asked, answered in zip(texts[::2], texts[1::2], strict=True)
        )

    async def test_what_was_said_long_ago_is_forgotten(
        self, talk: ConversationFixture, bench: Bench, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        await talk.say("old", COACH)
        await talk.say("old")
        bench.pass_ms(MINUTE)
        await talk.say("new")
        assert await store.conversations.forget_messages(bench.ms(0)) == 4
        assert await talk.texts() == ["new?", "new!"]
        await talk.say("newer")
        assert [one.role for one in await store.conversations.context(TUTOR, 10)] == [
            Role.USER,
            Role.AGENT,
        ] * 2


async def begin(talk: ConversationFixture, token: str, key: ConversationKey = TUTOR, **asked: Any) -> bool:
    """Ask for the turn, for a minute."""
    now, until = talk.bench.ms(0), talk.bench.ms(MINUTE)
    return await talk.store.conversations.begin_turn(key, token=token, now=now, until=until, **asked)
