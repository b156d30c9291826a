"""Turns for agents outside of Cadenza: offered once, taken by one, changed one after the other."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from cadenza.domain.agents.agent_turn import (
    AgentTurn,
    AnswerCall,
    TurnAnswer,
    TurnCall,
    TurnState,
    lease,
    row_id,
    take_answer,
)
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.users import AgentKey
from cadenza.domain.errors import Conflict, NotFound
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.agents.conversation_fixtures import (
    ANNA,
    BERT,
    COACH,
    TUTOR,
    AgentContract,
    ConversationFixture,
)

WAIT = timedelta(minutes=1)
SHORT = timedelta(seconds=10)
FULL_TURN = AgentTurn(
    id="full",
    conversation=TUTOR,
    payload={"words": "äöü \N{SNOWMAN}", "n": [1, 2.5, None, {"deep": True}]},
    created_at=NEW_YEAR.replace(microsecond=123_456),
    expires_at=NEW_YEAR + WAIT,
    state=TurnState.LEASED,
    token="digest",  # noqa: S106 - A digest that stands for one.
    earlier_tokens=("one", "two"),
    lease_until=NEW_YEAR + SHORT,
    attempts=3,
    calls=(
        TurnCall("a", "create_schedule", {"name": "x"}, done=True, result={"id": "sched-aaaaa"}),
        TurnCall("b", "delete_schedule", {}, done=True, refused="Not found."),
    ),
    refused_answers=2,
)
ANSWER = TurnAnswer(messages=("Done.", ""), calls=(AnswerCall("list_schedules", {"a": [1]}),), tokens=7)


def an_agent_turn(name: str = "turn", key: ConversationKey = TUTOR, **fields: Any) -> AgentTurn:
    """A turn that waits for a minute from the new year on."""
    given: dict[str, Any] = {
        "id": row_id(key, name),
        "conversation": key,
        "payload": {"words": name},
        "created_at": NEW_YEAR,
        "expires_at": NEW_YEAR + WAIT,
    }
    return AgentTurn(**(given | fields))


def leased(token: str, until: datetime = NEW_YEAR + SHORT) -> Any:
    """The decision to lease a turn."""
    return partial(lease, token=token, until=until)


class AgentTurnContract(AgentContract):
    """`offer_turn`, `agent_turn`, `amend_turn`, `take_turn`, `forget_turns` and the notifications."""

    calls_in_vain = False
    """Whether who waits for one turn may also be called for others."""

    async def test_a_turn_comes_back_as_it_was(self, store: Store, talk: ConversationFixture) -> None:
        await talk.add_users_and_agents()
        answered = replace(FULL_TURN, id="answered", state=TurnState.ANSWERED, payload=None, answer=ANSWER)
        for turn in (FULL_TURN, answered, an_agent_turn()):
            assert await store.agent_turns.offer_turn(turn) == turn
            assert await store.agent_turns.agent_turn(turn.id) == turn
        with pytest.raises(NotFound, match="Turn other not found"):
            await store.agent_turns.agent_turn("other")

    async def test_a_turn_that_is_offered_again_goes_on_with_a_new_end(
        self, store: Store, talk: ConversationFixture
    ) -> None:
        await talk.add_users_and_agents()
        await store.agent_turns.offer_turn(FULL_TURN)
        again = an_agent_turn(id=FULL_TURN.id, expires_at=NEW_YEAR + 2 * WAIT)
        expected = replace(FULL_TURN, expires_at=NEW_YEAR + 2 * WAIT)
        assert await store.agent_turns.offer_turn(again) == expected
        assert await store.agent_turns.agent_turn(FULL_TURN.id) == expected

    async def test_a_turn_needs_its_user_and_its_agent(self, store: Store, talk: ConversationFixture) -> None:
        await talk.add_users_and_agents()
        for key, missing in (
            (ConversationKey("north", "nobody", "tutor"), "User nobody"),
            (ConversationKey("north", "anna", "nobody"), "Agent nobody"),
        ):
            with pytest.raises(NotFound, match=f"{missing} not found"):
                await store.agent_turns.offer_turn(an_agent_turn(key=key))

    async def test_the_oldest_turn_that_can_be_taken_is_taken(
        self, store: Store, talk: ConversationFixture
    ) -> None:
        await talk.add_users_and_agents()
        turns = store.agent_turns
        for place, name in enumerate(("a", "b", "c", "d")):
            await turns.offer_turn(an_agent_turn(name, created_at=NEW_YEAR - place * SHORT))
        await turns.offer_turn(an_agent_turn("over", expires_at=NEW_YEAR))
        await turns.offer_turn(an_agent_turn("another's", COACH))
        await turns.amend_turn(row_id(TUTOR, "d"), leased("busy"))
        await turns.amend_turn(row_id(TUTOR, "b"), leased("ran out", NEW_YEAR))
        taken = [await turns.take_turn(TUTOR.agent, now=NEW_YEAR, change=leased(f"{n}")) for n in range(4)]
        assert [one and one.payload for one in taken] == [
            {"words": "c"},
            {"words": "b"},
            {"words": "a"},
            None,
        ]
        assert await turns.agent_turn(row_id(TUTOR, "c")) == taken[0]
        assert await turns.take_turn(AgentKey("south", "tutor"), now=NEW_YEAR, change=leased("x")) is None

    async def test_an_answered_turn_is_not_taken(self, store: Store, talk: ConversationFixture) -> None:
        await talk.add_users_and_agents()
        turn = await store.agent_turns.offer_turn(an_agent_turn())
        await store.agent_turns.amend_turn(turn.id, leased("mine", NEW_YEAR))
        answer = partial(take_answer, token="mine", answer=ANSWER, now=NEW_YEAR)  # noqa: S106
        answered = await store.agent_turns.amend_turn(turn.id, answer)
        assert (answered.answer, answered.payload) == (ANSWER, None)
        with pytest.raises(Conflict, match="an answer counts once"):
            await store.agent_turns.amend_turn(turn.id, answer)
        assert await store.agent_turns.agent_turn(turn.id) == answered
        later = NEW_YEAR + SHORT
        assert await store.agent_turns.take_turn(TUTOR.agent, now=later, change=leased("other")) is None

    async def test_of_many_callers_one_gets_each_turn(
        self, peers: Sequence[Store], talk: ConversationFixture
    ) -> None:
        await talk.add_users_and_agents()
        for number in range(5):
            await talk.store.agent_turns.offer_turn(an_agent_turn(f"{number}"))

        async def take(number: int) -> str | None:
            turns = peers[number % len(peers)].agent_turns
            taken = await turns.take_turn(TUTOR.agent, now=NEW_YEAR, change=leased(f"token-{number}"))
            return None if taken is None else taken.id

        taken = [one for one in await asyncio.gather(*map(take, range(12))) if one is not None]
        left = [one for number in range(12) if (one := await take(number)) is not None]
        assert sorted([*taken, *left]) == sorted(row_id(TUTOR, f"{number}") for number in range(5))

    async def test_changes_of_one_turn_happen_one_after_the_other(
        self, peers: Sequence[Store], talk: ConversationFixture
    ) -> None:
        await talk.add_users_and_agents()
        turn = await talk.store.agent_turns.offer_turn(an_agent_turn())
        work = (
            peers[number % len(peers)].agent_turns.amend_turn(
                turn.id, lambda one: replace(one, refused_answers=one.refused_answers + 1)
            )
            for number in range(10)
        )
        await asyncio.gather(*work)
        assert (await talk.store.agent_turns.agent_turn(turn.id)).refused_answers == 10

    async def test_a_change_that_is_refused_leaves_the_turn_as_it_is(
        self, store: Store, talk: ConversationFixture
    ) -> None:
        await talk.add_users_and_agents()
        turn = await store.agent_turns.offer_turn(an_agent_turn())

        def refuse(_: AgentTurn) -> AgentTurn:
            raise Conflict("No.")

        with pytest.raises(Conflict):
            await store.agent_turns.amend_turn(turn.id, refuse)
        with pytest.raises(NotFound):
            await store.agent_turns.amend_turn("other", lambda one: one)
        assert await store.agent_turns.agent_turn(turn.id) == turn

    async def test_who_waits_for_a_turn_or_an_agent_is_notified(
        self, peers: Sequence[Store], talk: ConversationFixture
    ) -> None:
        await talk.add_users_and_agents()
        turn, other = an_agent_turn(), an_agent_turn("other", COACH)
        mine, offers, others = asyncio.Event(), asyncio.Event(), asyncio.Event()
        listening = peers[-1].agent_turns
        ends = [
            listening.on_turn_change(turn.id, mine.set),
            listening.on_turn_offer(TUTOR.agent, offers.set),
            listening.on_turn_change(other.id, others.set),
        ]
        await peers[0].agent_turns.offer_turn(turn)
        for event in (mine, offers):
            await asyncio.wait_for(event.wait(), timeout=30)
        await asyncio.sleep(0.05)  # Whoever begins to listen may be called for what was missed.
        for event in (mine, offers, others):
            event.clear()
        await peers[0].agent_turns.amend_turn(turn.id, leased("token"))
        await asyncio.wait_for(mine.wait(), timeout=30)
        if not self.calls_in_vain:
            assert not offers.is_set()
            assert not others.is_set()
        for end in ends:
            end()
        mine.clear()
        await peers[0].agent_turns.amend_turn(turn.id, leased("again"))
        await asyncio.sleep(0.05)
        assert not mine.is_set()

    async def test_turns_that_nobody_waits_for_are_forgotten(
        self, store: Store, talk: ConversationFixture
    ) -> None:
        await talk.add_users_and_agents()
        await store.agent_turns.offer_turn(an_agent_turn("old", expires_at=NEW_YEAR - SHORT))
        kept = await store.agent_turns.offer_turn(an_agent_turn("new", expires_at=NEW_YEAR))
        assert await store.agent_turns.forget_turns(NEW_YEAR) == 1
        assert await store.agent_turns.agent_turn(kept.id) == kept
        with pytest.raises(NotFound):
            await store.agent_turns.agent_turn(row_id(TUTOR, "old"))

    async def test_turns_go_with_their_user_and_their_agent(
        self, store: Store, talk: ConversationFixture
    ) -> None:
        await talk.add_users_and_agents()
        berts = ConversationKey(*BERT, "tutor")
        for turn in (an_agent_turn(), an_agent_turn(key=COACH), an_agent_turn(key=berts)):
            await store.agent_turns.offer_turn(turn)
        await store.users.remove_user(ANNA)
        for key in (TUTOR, COACH):
            with pytest.raises(NotFound):
                await store.agent_turns.agent_turn(row_id(key, "turn"))
        kept = await store.agent_turns.agent_turn(row_id(berts, "turn"))
        assert kept.conversation == berts
        await store.agents.remove_agent(berts.agent)
        with pytest.raises(NotFound):
            await store.agent_turns.agent_turn(row_id(berts, "turn"))
