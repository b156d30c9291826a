"""Users and agents: kept, listed, and gone with everything that is theirs."""

from dataclasses import replace
from typing import Any

import pytest

from cadenza.domain.access.key import ApiKey
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.users import Agent, AgentKey, Runtime, User, UserKey, agent_target
from cadenza.domain.errors import NotFound
from cadenza.domain.monitoring.alert import failure_alert
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.ports.access import IdempotentReply, StoredKey, user_reply_key
from cadenza.ports.agents import AgentUsage
from cadenza.ports.catalog import Page
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.agents.conversation_fixtures import (
    ANNA,
    BERT,
    COACH,
    NAMESAKE,
    TUTOR,
    AgentContract,
    ConversationFixture,
    a_schedule,
)
from cadenza.testing.contracts.harness import MINUTE, Bench
from cadenza.testing.contracts.planning.analyses import an_analysis

FULL_USER = User(id="full", tenant_id="north", timezone="Europe/Berlin", created_at=NEW_YEAR)
FULL_AGENT = Agent(
    id="full",
    tenant_id="north",
    name="A name, äöü \N{SNOWMAN}",
    instructions="Be kind.\nBe brief.",
    model="provider:model",
    created_at=NEW_YEAR.replace(microsecond=1),
)


FULL_HTTP_AGENT = replace(
    FULL_AGENT,
    id="http",
    model=None,
    runtime=Runtime.HTTP,
    target=agent_target("https://agent.example/turns", {"X-Key": "${secret:key}"}, ["${secret:signing}"]),
)
PULL_AGENT = replace(FULL_AGENT, id="pull", model=None, runtime=Runtime.PULL)


class UserAgentContract(AgentContract):
    """`put_user`, `user`, `users`, `remove_user` and the same of agents; what turns cost."""

    async def test_people_come_back_as_they_were(self, store: Store) -> None:
        assert await store.users.put_user(FULL_USER) == await store.users.user(FULL_USER.key) == FULL_USER
        assert (
            await store.agents.put_agent(FULL_AGENT) == await store.agents.agent(FULL_AGENT.key) == FULL_AGENT
        )
        for agent in (FULL_HTTP_AGENT, PULL_AGENT):
            assert await store.agents.put_agent(agent) == await store.agents.agent(agent.key) == agent
        least = User(id="least", tenant_id="north")
        assert await store.users.put_user(least) == await store.users.user(least.key) == least

    async def test_who_is_there_is_changed_and_stays_as_old(self, store: Store) -> None:
        await store.users.put_user(FULL_USER)
        await store.agents.put_agent(FULL_AGENT)
        later = NEW_YEAR.replace(year=2030)
        assert await store.users.put_user(User(id="full", tenant_id="north", created_at=later)) == replace(
            FULL_USER, timezone=None
        )
        changed = replace(FULL_AGENT, name="other", instructions="", model=None)
        assert await store.agents.put_agent(replace(changed, created_at=later)) == changed
        assert await store.agents.agent(FULL_AGENT.key) == changed

    async def test_people_are_seen_by_their_own_tenant_alone(self, store: Store) -> None:
        await store.users.put_user(FULL_USER)
        await store.agents.put_agent(FULL_AGENT)
        for attempt in (
            store.users.user(UserKey("south", "full")),
            store.users.remove_user(UserKey("south", "full")),
        ):
            with pytest.raises(NotFound, match="User full not found"):
                await attempt
        stranger = AgentKey("south", "full")
        for missing in (store.agents.agent(stranger), store.agents.remove_agent(stranger)):
            with pytest.raises(NotFound, match="Agent full not found"):
                await missing
        assert await store.users.users("south") == []
        assert await store.agents.agents("south") == []

    async def test_people_are_listed_by_id_page_by_page(self, store: Store) -> None:
        for name in ("c", "B", "a"):
            await store.users.put_user(User(id=name, tenant_id="north"))
            await store.agents.put_agent(Agent(id=name, tenant_id="north", name=name))
        assert [user.id for user in await store.users.users("north")] == ["B", "a", "c"]
        assert [user.id for user in await store.users.users("north", Page(1, after="B"))] == ["a"]
        assert [agent.id for agent in await store.agents.agents("north")] == ["B", "a", "c"]
        assert [agent.id for agent in await store.agents.agents("north", Page(2, after="B"))] == ["a", "c"]

    async def test_a_user_goes_with_everything_that_is_theirs(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        store = bench.store
        await talk.add_users_and_agents()
        await _with_a_past(talk, a_schedule())
        await store.users.remove_user(ANNA)
        for gone in (store.users.user(ANNA), store.endpoints.get(EndpointKey("north", "sched-aaaaa"))):
            with pytest.raises(NotFound):
                await gone
        assert await _left_of(store, ANNA, TUTOR) == []
        assert await store.users.usage_of_user(ANNA, bench.clock.now().date()) == AgentUsage()
        assert await store.deliveries.last_seqs([ANNA, BERT]) == {BERT: 0}
        assert await bench.claim() == []
        assert await store.endpoints.next_due() is None

    async def test_what_planners_thought_of_a_users_schedules_goes_too(
        self, talk: ConversationFixture
    ) -> None:
        store, key = talk.store, EndpointKey("north", "sched-aaaaa")
        await talk.add_users_and_agents()
        await store.endpoints.add(a_schedule())
        await store.analyses.add_analyses([an_analysis(key=key, look_again_at=NEW_YEAR)])
        await store.analyses.save_notes("learned", {key: {"secret": "of anna"}}, NEW_YEAR)
        await store.users.remove_user(ANNA)
        assert await store.analyses.analyses(key) == []
        assert await store.analyses.notes("learned", [key]) == {}
        assert await store.analyses.due_analyses(NEW_YEAR, again_at=NEW_YEAR, limit=10) == []

    async def test_replies_and_alerts_about_a_user_go_too(self, talk: ConversationFixture) -> None:
        store = talk.store
        await talk.add_users_and_agents()
        await store.endpoints.add(a_schedule())
        places = [(user.tenant_id, user_reply_key(user.id, "k")) for user in (ANNA, BERT, NAMESAKE)]
        places += [("north", user_reply_key("anna2", "k")), ("north", "k")]
        for place in places:
            await store.idempotency.begin_reply(
                *place, IdempotentReply("request", NEW_YEAR, 200, b"{}"), stale_before=NEW_YEAR
            )
        for tenant_id, endpoint_id in (
            ("north", "sched-aaaaa"),
            ("north", "sched-aaaaa:b"),
            ("south", "sched-aaaaa"),
        ):
            facts = {"tenant_id": tenant_id, "endpoint_id": endpoint_id, "run_id": "run", "error": "no"}
            alert = failure_alert({**facts, "failures": 3}, NEW_YEAR, most=3)
            assert alert is not None
            assert await store.alerts.raise_alert(alert)
        await store.users.remove_user(ANNA)
        another = IdempotentReply("another", NEW_YEAR)
        left = [
            await store.idempotency.begin_reply(*place, another, stale_before=NEW_YEAR) for place in places
        ]
        assert [reply is not None for reply in left] == [False, True, True, True, True]
        told = [
            one for tenant_id in ("north", "south") for one in await store.alerts.newest_alerts(tenant_id, 10)
        ]
        about = [(one.facts["tenant_id"], one.facts["endpoint_id"]) for one in told]
        assert about == [("north", "sched-aaaaa:b"), ("south", "sched-aaaaa")]

    async def test_no_token_speaks_for_a_user_who_is_gone(self, store: Store) -> None:
        for user in (ANNA, BERT, NAMESAKE):
            await store.users.put_user(User(id=user.id, tenant_id=user.tenant_id))
            key = ApiKey(
                id="-".join(user),
                tenant_id=user.tenant_id,
                name="token",
                created_at=NEW_YEAR,
                user_id=user.id,
            )
            await store.keys.add_key(StoredKey(key, b"digest"))
        await store.keys.add_key(
            StoredKey(ApiKey(id="own", tenant_id="north", name="own", created_at=NEW_YEAR), b"d")
        )
        await store.users.remove_user(ANNA)
        names = ["-".join(user) for user in (ANNA, BERT, NAMESAKE)]
        assert [await store.keys.stored_key(name) is not None for name in [*names, "own"]] == [
            False,
            True,
            True,
            True,
        ]

    async def test_who_comes_back_finds_nothing_of_before(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        await _with_a_past(talk, a_schedule())
        await bench.store.users.remove_user(ANNA)
        await bench.store.users.put_user(User(id="anna", tenant_id="north"))
        assert await talk.texts() == []
        assert await talk.undelivered() == []
        assert [one.seq for one in await talk.say("new")] == [1]
        assert await talk.texts() == ["new?", "new!"]

    async def test_what_takes_the_id_of_what_went_with_its_user_runs_as_itself(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        """Whoever remembers what owners wrote must not take the one for the other."""
        await talk.add_users_and_agents()
        await _with_a_past(talk, a_schedule())
        await bench.store.users.remove_user(ANNA)
        heir = a_schedule(user=BERT, target=PromptTarget("coach", "bert", "Run."), name="heir")
        await bench.store.endpoints.add(heir)
        claim = await bench.claim_one()
        assert (claim.endpoint.target, claim.endpoint.name) == (heir.target, "heir")

    async def test_a_user_takes_nothing_of_others_along(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        store = bench.store
        await talk.add_users_and_agents()
        for user in (BERT, NAMESAKE):
            await store.endpoints.add(a_schedule("sched-bbbbb", user))
            await talk.say("hi", ConversationKey(*user, "tutor"), firing="run")
        await bench.add("other", tenant_id="north")
        await store.users.remove_user(ANNA)
        for user in (BERT, NAMESAKE):
            assert len(await _left_of(store, user, ConversationKey(*user, "tutor"))) == 4
        assert len(await bench.claim()) == 3

    async def test_a_turn_that_is_under_way_when_its_user_goes_leaves_nothing(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        await bench.store.endpoints.add(a_schedule())
        claim = await bench.claim_one()
        await bench.store.users.remove_user(ANNA)
        assert await bench.end(claim, turn=talk.turn("late", firing=claim.run_id)) == [None]
        assert await bench.store.conversations.commit_turn(talk.turn("spoken")) is None
        await bench.store.users.put_user(User(id="anna", tenant_id="north"))
        assert await _left_of(bench.store, ANNA, TUTOR) == []

    async def test_an_agent_goes_with_its_schedules_and_conversations(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        store = bench.store
        await talk.add_users_and_agents()
        await _with_a_past(talk, a_schedule())
        await store.endpoints.add(a_schedule("sched-ccccc", target=PromptTarget("coach", "anna", "Run.")))
        await talk.say("other", COACH)
        await store.agents.remove_agent(AgentKey("north", "tutor"))
        assert [one.id for one in await store.schedules.schedules(ANNA)] == ["sched-ccccc"]
        assert await talk.texts() == []
        assert await talk.texts(COACH) == ["other?", "other!"]
        assert [one.agent_id for one in await talk.undelivered()] == ["tutor", "coach"]
        with pytest.raises(NotFound, match="Agent tutor not found"):
            await store.agents.agent(AgentKey("north", "tutor"))

    async def test_what_turns_cost_is_counted_by_day_and_user(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        store = bench.store
        await talk.add_users_and_agents()
        today = bench.clock.now().date()
        await talk.say("a", tokens=100)
        await talk.say("b", tokens=10, firing="run-1")
        await talk.say("c", ConversationKey(*BERT, "tutor"), tokens=1, firing="run-2")
        await talk.say("d", ConversationKey(*NAMESAKE, "tutor"), tokens=1_000)
        bench.pass_ms(24 * 60 * MINUTE)
        await talk.say("e", tokens=7)
        assert await store.users.usage_of_user(ANNA, today) == AgentUsage(1, 110)
        assert await store.users.usage_of_users("north", today) == AgentUsage(2, 111)
        assert await store.users.usage_of_user(ANNA, bench.clock.now().date()) == AgentUsage(0, 7)
        assert await store.users.usage_of_users("nobody", today) == AgentUsage()


async def _with_a_past(talk: ConversationFixture, schedule: Endpoint) -> None:
    """A schedule that fired once, with all that this leaves."""
    await talk.store.endpoints.add(schedule)
    claim = await talk.bench.claim_one()
    response = {"secret": "of anna"}
    await talk.bench.end(claim, response=response, turn=talk.turn("hello", firing=claim.run_id, tokens=5))


async def _left_of(store: Store, user: UserKey, key: ConversationKey) -> list[Any]:
    """Everything that is a user's."""
    left: list[Any] = [*await store.schedules.schedules(user, active_only=False)]
    left += await store.conversations.messages(key)
    left += await store.deliveries.deliveries(user, after=0, limit=100)
    return left + await store.runs.runs(EndpointKey(user.tenant_id, "sched-aaaaa"))
