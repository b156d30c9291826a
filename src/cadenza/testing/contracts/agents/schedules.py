"""Schedules: found by their user, and decided about one after the other."""

import asyncio
from collections.abc import Sequence

import pytest

from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Conflict, NotAllowed, NotFound
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.ports.catalog import Page
from cadenza.ports.store import Store
from cadenza.testing.contracts.agents.conversation_fixtures import (
    ANNA,
    BERT,
    NAMESAKE,
    AgentContract,
    ConversationFixture,
    a_schedule,
)
from cadenza.testing.contracts.harness import Bench

FULL = a_schedule(
    target=PromptTarget("tutor", "anna", "Say: \N{SNOWMAN}\n{}", may_schedule=True, request="abc")
)


class ScheduleContract(AgentContract):
    """`add_schedule`, `schedules`."""

    async def test_a_schedule_comes_back_as_it_was(self, talk: ConversationFixture, store: Store) -> None:
        await talk.add_users_and_agents()
        assert await store.schedules.add_schedule(ANNA, lambda _: FULL) == FULL
        assert await store.schedules.schedules(ANNA) == [FULL] == [await store.endpoints.get(FULL.key)]

    async def test_a_user_has_their_own_schedules_in_order_and_page_by_page(
        self, talk: ConversationFixture, bench: Bench, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        await bench.add("anna", tenant_id="north")
        for letter in "cab":
            await store.endpoints.add(a_schedule(f"sched-{letter}"))
        await store.endpoints.add(a_schedule("sched-bert", BERT))
        await store.endpoints.add(a_schedule("sched-south", NAMESAKE))
        assert await ids(store) == ["sched-a", "sched-b", "sched-c"]
        assert await ids(store, page=Page(1, after="sched-a")) == ["sched-b"]
        assert await ids(store, UserKey("south", "bert")) == []

    async def test_what_will_not_fire_again_is_listed_if_it_is_wanted(
        self, talk: ConversationFixture, bench: Bench, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        await store.endpoints.add(a_schedule("sched-done", baseline=Once(bench.ms(0))))
        await store.endpoints.add(a_schedule("sched-off", enabled=False))
        gone = a_schedule("sched-gone")
        await store.endpoints.add(gone)
        await store.endpoints.amend(
            gone.key, lambda endpoint: ChangedEndpoint(evolve(endpoint, archived=True))
        )
        assert await ids(store) == ["sched-done"]
        await bench.run_once()
        assert await ids(store) == []
        assert await ids(store, active_only=False) == ["sched-done", "sched-off"]

    async def test_what_is_firing_is_active(
        self, talk: ConversationFixture, bench: Bench, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        await store.endpoints.add(a_schedule("sched-once", baseline=Once(bench.ms(0))))
        await bench.claim_one()
        assert await ids(store) == ["sched-once"]

    async def test_a_decision_sees_what_is_active_and_may_keep_it(
        self, talk: ConversationFixture, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        first = await store.schedules.add_schedule(ANNA, lambda _: a_schedule("sched-a"))
        await store.endpoints.add(a_schedule("sched-off", enabled=False))
        await store.endpoints.add(a_schedule("sched-bert", BERT))
        seen: list[Sequence[Endpoint]] = []

        def decide(active: Sequence[Endpoint]) -> Endpoint:
            seen.append(active)
            return active[0]

        assert await store.schedules.add_schedule(ANNA, decide) == first
        assert [[one.id for one in active] for active in seen] == [["sched-a"]]
        assert len(await store.schedules.schedules(ANNA)) == 1

    async def test_a_decision_that_raises_keeps_nothing(
        self, talk: ConversationFixture, store: Store
    ) -> None:
        await talk.add_users_and_agents()

        def refuse(_: Sequence[Endpoint]) -> Endpoint:
            raise NotAllowed("too many")

        with pytest.raises(NotAllowed, match="too many"):
            await store.schedules.add_schedule(ANNA, refuse)
        assert await store.schedules.schedules(ANNA, active_only=False) == []

    async def test_a_schedule_needs_its_user_and_an_id_of_its_own(
        self, talk: ConversationFixture, store: Store
    ) -> None:
        await talk.add_users_and_agents()
        await store.endpoints.add(a_schedule("sched-a", BERT))
        with pytest.raises(Conflict):
            await store.schedules.add_schedule(ANNA, lambda _: a_schedule("sched-a"))
        nobody = UserKey("north", "nobody")
        with pytest.raises(NotFound, match="User nobody not found"):
            await store.schedules.add_schedule(nobody, lambda _: a_schedule("sched-b", nobody))
        with pytest.raises(NotFound):
            await store.endpoints.get(EndpointKey("north", "sched-b"))

    async def test_decisions_about_one_user_happen_one_after_the_other(
        self, talk: ConversationFixture, peers: Sequence[Store]
    ) -> None:
        await talk.add_users_and_agents()

        def adding(name: str, active: Sequence[Endpoint]) -> Endpoint:
            if len(active) >= 3:
                raise NotAllowed("too many")
            return a_schedule(name)

        answers = await asyncio.gather(
            *(
                peer.schedules.add_schedule(ANNA, lambda active, n=number: adding(f"sched-{n}", active))  # type: ignore[misc]
                for number, peer in enumerate([*peers] * 3)
            ),
            return_exceptions=True,
        )
        assert sum(isinstance(answer, NotAllowed) for answer in answers) == len(answers) - 3
        assert len(await peers[0].schedules.schedules(ANNA)) == 3

    async def test_a_new_schedule_rings_the_bell(self, talk: ConversationFixture, bench: Bench) -> None:
        await talk.add_users_and_agents()
        async with bench.wakes_workers():
            await bench.store.schedules.add_schedule(ANNA, lambda _: a_schedule())


async def ids(
    store: Store, user: UserKey = ANNA, *, active_only: bool = True, page: Page | None = None
) -> list[str]:
    """The ids of schedules in the order in which they are listed."""
    found = await store.schedules.schedules(user, active_only=active_only, page=page or Page())
    return [endpoint.id for endpoint in found]
