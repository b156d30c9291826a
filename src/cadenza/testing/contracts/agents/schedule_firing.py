"""A schedule's run and all that its turn writes, its messages included, are one commit or none."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.delivery import Missed, Subtitle
from cadenza.domain.agents.pacing import Finish, Pacing
from cadenza.domain.agents.schedule import POLICY
from cadenza.domain.errors import NotFound
from cadenza.domain.scheduling.abandon import DEATHS_ALONE
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.hint import HintKind, IntervalHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.ports.agents import AgentUsage
from cadenza.ports.store import Store
from cadenza.testing.contracts.agents.conversation_fixtures import (
    ANNA,
    BERT,
    COACH,
    MINE,
    TUTOR,
    YOURS,
    AgentContract,
    ConversationFixture,
    a_schedule,
)
from cadenza.testing.contracts.harness import LEASE_MS, MINUTE, Bench


def a_pacing_schedule(bench: Bench) -> Endpoint:
    """A schedule on an interval, due now, that its agent may pace."""
    target = PromptTarget("tutor", ANNA.id, "Look.", may_pace=True)
    guard = Guard(5 * MINUTE, 120 * MINUTE)
    return a_schedule(target=target, baseline=Every(30 * MINUTE), guard=guard, next_run_at=bench.ms(0))


class ScheduleFiringContract(AgentContract):
    """`finalize` and `sweep`, with runs that leave a turn."""

    async def test_a_firing_leaves_its_run_its_history_and_what_it_owes(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        schedule = a_schedule()
        await bench.store.endpoints.add(schedule)
        claim = await bench.claim_one()
        turn = talk.turn("hello", firing=claim.run_id, schedule_id=schedule.id, tokens=7)
        (settled,) = await bench.end(claim, turn=turn)
        assert settled is not None
        assert [run.status for run in await bench.runs(schedule)] == [RunStatus.SUCCESS]
        assert await talk.texts() == ["hello?", "hello!"]
        assert [(one.seq, one.id, one.schedule_id) for one in await talk.undelivered()] == [
            (1, f"{claim.run_id}.1", schedule.id)
        ]
        assert await bench.store.users.usage_of_user(ANNA, bench.clock.now().date()) == AgentUsage(1, 7)

    async def test_a_lost_lease_leaves_nothing(self, talk: ConversationFixture, bench: Bench) -> None:
        await talk.add_users_and_agents()
        await bench.store.endpoints.add(a_schedule())
        lost = await bench.claim_one()
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        again = await bench.claim_one()
        assert await bench.end(lost, turn=talk.turn("first", firing=lost.run_id)) == [None]
        assert (await talk.undelivered(), await talk.texts()) == ([], [])
        await bench.end(again, turn=talk.turn("second", firing=again.run_id))
        assert await bench.end(lost, turn=talk.turn("first", firing=lost.run_id)) == [None]
        assert await bench.end(again, turn=talk.turn("second", firing=again.run_id)) == [None]
        assert [one.message for one in await talk.undelivered()] == [Subtitle("second")]
        assert await bench.store.users.usage_of_user(ANNA, bench.clock.now().date()) == AgentUsage(1, 0)

    async def test_what_a_turn_asks_of_its_schedule_is_stored_with_its_answer(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        schedule = a_pacing_schedule(bench)
        await bench.store.endpoints.add(schedule)
        claim = await bench.claim_one()
        hint = IntervalHint(10 * MINUTE, bench.ms(60 * MINUTE), "nothing moves")
        pacing = Pacing(origin="agent:tutor", interval=hint)
        await bench.end(claim, turn=talk.turn("hello", firing=claim.run_id, pacing=pacing))
        after = await bench.store.endpoints.get(schedule.key)
        assert after.interval_hint == replace(hint, origin="agent:tutor")
        assert after.next_run_at == bench.ms(10 * MINUTE)
        (line,) = await bench.store.runs.hints(schedule.key)
        assert (line.kind, line.origin, line.reason) == (HintKind.INTERVAL, "agent:tutor", "nothing moves")

    async def test_a_schedule_that_its_turn_finishes_is_kept_and_does_not_fire(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        schedule = a_pacing_schedule(bench)
        await bench.store.endpoints.add(schedule)
        claim = await bench.claim_one()
        pacing = Pacing(origin="agent:tutor", finish=Finish("it arrived"))
        await bench.end(claim, turn=talk.turn("done", firing=claim.run_id, pacing=pacing))
        bench.pass_ms(600 * MINUTE)
        assert await bench.claim() == []
        assert await bench.store.schedules.schedules(ANNA) == []
        (kept,) = await bench.store.schedules.schedules(ANNA, active_only=False)
        assert (kept.id, kept.next_run_at, kept.next_source) == (schedule.id, None, Source.FINISHED)
        assert len(await talk.undelivered()) == 1

    async def test_a_lost_lease_asks_for_nothing(self, talk: ConversationFixture, bench: Bench) -> None:
        await talk.add_users_and_agents()
        schedule = a_pacing_schedule(bench)
        await bench.store.endpoints.add(schedule)
        lost = await bench.claim_one()
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        pacing = Pacing(origin="agent:tutor", finish=Finish("too late"))
        assert await bench.end(lost, turn=talk.turn("late", firing=lost.run_id, pacing=pacing)) == [None]
        assert await bench.store.runs.hints(schedule.key) == []
        bench.pass_ms(5 * MINUTE)
        assert len(await bench.claim()) == 1

    async def test_in_a_batch_each_turn_follows_its_own_lease(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        schedules = [a_schedule(f"sched-{letter * 5}") for letter in "abc"]
        for schedule in schedules:
            await bench.store.endpoints.add(schedule)
        await bench.add("plain", tenant_id="north")
        claims = {claim.endpoint.id: claim for claim in await bench.claim()}
        await bench.end(claims["sched-aaaaa"])
        await bench.store.endpoints.amend(
            schedules[1].key, lambda one: ChangedEndpoint(evolve(one, archived=True))
        )
        ended = [
            (claim, Outcome(RunStatus.SUCCESS, turn=talk.turn(name, firing=claim.run_id)))
            for name, claim in claims.items()
        ]
        settled = await bench.finalize([*ended[:-1], (claims["plain"], Outcome(RunStatus.SUCCESS))])
        assert [one is None for one in settled] == [name == "sched-aaaaa" for name in claims]
        assert [one.message for one in await talk.undelivered()] == [
            Subtitle("sched-bbbbb"),
            Subtitle("sched-ccccc"),
        ]

    async def test_a_firing_ends_the_turn_that_it_had(self, talk: ConversationFixture, bench: Bench) -> None:
        await talk.add_users_and_agents()
        await bench.store.endpoints.add(a_schedule())
        claim = await bench.claim_one()
        asked = {"now": bench.ms(0), "until": bench.ms(MINUTE)}
        assert await bench.store.conversations.begin_turn(TUTOR, token=MINE, **asked)
        await bench.end(claim, turn=talk.turn("hello", firing=claim.run_id, token=MINE))
        assert await bench.store.conversations.begin_turn(TUTOR, token=YOURS, **asked)

    async def test_a_firing_is_kept_also_when_its_turn_has_run_out(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        await bench.store.endpoints.add(a_schedule())
        claim = await bench.claim_one()
        asked = {"now": bench.ms(0), "until": bench.ms(MINUTE)}
        assert await bench.store.conversations.begin_turn(TUTOR, token=YOURS, **asked)
        await bench.end(claim, turn=talk.turn("hello", firing=claim.run_id, token=MINE))
        assert len(await talk.undelivered()) == 1
        assert not await bench.store.conversations.begin_turn(TUTOR, token=MINE, **asked)

    async def test_a_failed_run_keeps_what_it_cost_and_says(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        await bench.store.endpoints.add(a_schedule())
        claim = await bench.claim_one()
        turn = talk.turn("cost", firing=claim.run_id, messages=(), to_deliver=(), tokens=9)
        await bench.end(claim, status=RunStatus.FAILURE, error="no model", turn=turn)
        assert (await talk.undelivered(), await talk.texts()) == ([], [])
        assert await bench.store.users.usage_of_user(ANNA, bench.clock.now().date()) == AgentUsage(1, 9)

    async def test_a_schedule_whose_workers_die_tells_its_user_when_it_is_given_up(
        self, talk: ConversationFixture, bench: Bench, peers: Sequence[Store]
    ) -> None:
        await talk.add_users_and_agents()
        schedule = a_schedule()
        await bench.store.endpoints.add(schedule)
        notified = asyncio.Event()
        end = peers[-1].deliveries.on_new_delivery(ANNA, notified.set)
        await asyncio.sleep(0.05)
        for _ in range(DEATHS_ALONE):
            assert await talk.undelivered() == []
            claim = await bench.claim_one()
            asked = {"now": bench.ms(0), "until": bench.ms(10 * MINUTE)}
            assert await bench.store.conversations.begin_turn(TUTOR, token=claim.idempotency_key, **asked)
            bench.pass_ms(LEASE_MS)
            await bench.sweep()
        words = (
            "The scheduled task “sched-aaaaa” could not be carried out: 3 attempts failed."
            " It is paused: resume it, or delete it."
        )
        assert [(one.message, one.schedule_id) for one in await talk.undelivered()] == [
            (Subtitle(words), schedule.id)
        ]
        asked_for, answer = await talk.texts()
        assert asked_for.startswith("[SCHEDULED: sched-aaaaa] Go on.")
        assert answer == words
        await asyncio.wait_for(notified.wait(), timeout=30)
        end()
        now, until = bench.ms(0), bench.ms(MINUTE)
        assert await bench.store.conversations.begin_turn(TUTOR, token=YOURS, now=now, until=until), (
            "the turn is free"
        )

    async def test_so_does_one_whose_every_attempt_took_too_long(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        schedule = a_schedule()
        await bench.store.endpoints.add(schedule)
        for _ in range(POLICY.max_attempts):
            assert await talk.undelivered() == []
            await bench.run_once(RunStatus.TIMEOUT, error="no answer")
            bench.pass_ms(POLICY.retry_delay_ms)
        (told,) = await talk.undelivered()
        assert told.message == Subtitle(
            "The scheduled task “sched-aaaaa” could not be carried out: 3 attempts failed."
        )
        assert await bench.store.deliveries.missed(ANNA) == Missed(firings=1)

    async def test_a_firing_calls_for_its_user(
        self, talk: ConversationFixture, bench: Bench, peers: Sequence[Store]
    ) -> None:
        await talk.add_users_and_agents()
        await bench.store.endpoints.add(a_schedule())
        notified = asyncio.Event()
        end = peers[-1].deliveries.on_new_delivery(ANNA, notified.set)
        await asyncio.sleep(0.05)
        claim = await bench.claim_one()
        await bench.end(claim, turn=talk.turn("hello", firing=claim.run_id))
        await asyncio.wait_for(notified.wait(), timeout=30)
        end()

    async def test_workers_that_fire_for_the_same_users_at_once_lose_nothing(
        self, talk: ConversationFixture, bench: Bench, peers: Sequence[Store]
    ) -> None:
        await talk.add_users_and_agents()
        keys = [TUTOR, COACH, ConversationKey(*BERT, "tutor")]
        for number in range(24):
            await bench.store.endpoints.add(a_schedule(f"sched-{number:05}"))
        batches = [await bench.claim(limit=6, store=peer) for peer in peers]
        working = [
            Bench(peer).finalize(
                [
                    (
                        claim,
                        Outcome(RunStatus.SUCCESS, turn=talk.turn(claim.run_id, key, firing=claim.run_id)),
                    )
                    for claim, key in zip(batch, keys * 2, strict=True)
                ]
            )
            for peer, batch in zip(peers, batches, strict=True)
        ]
        chatting = [peer.conversations.commit_turn(talk.turn(f"{n}", TUTOR)) for n, peer in enumerate(peers)]
        await asyncio.gather(*working, *chatting)
        assert [one.seq for one in await talk.undelivered()] == list(range(1, 16 + len(peers) + 1))
        assert [one.seq for one in await talk.undelivered(BERT)] == list(range(1, 9))

    async def test_a_user_who_goes_in_the_middle_of_everything_leaves_nothing(
        self, talk: ConversationFixture, bench: Bench, peers: Sequence[Store]
    ) -> None:
        await talk.add_users_and_agents()
        for number in range(12):
            await bench.store.endpoints.add(a_schedule(f"sched-{number:05}"))
        claims = [await bench.claim(limit=3, store=peer) for peer in peers]
        now, until = bench.ms(0), bench.ms(MINUTE)
        busy = [
            work
            for number, (peer, held) in enumerate(zip(peers, claims, strict=True))
            for work in (
                Bench(peer).finalize([(one, self._outcome_with_turn(talk, one.run_id)) for one in held]),
                peer.conversations.commit_turn(talk.turn(f"{number}", COACH)),
                peer.conversations.begin_turn(TUTOR, token=f"{number}", now=now, until=until),
                peer.schedules.add_schedule(ANNA, lambda _, n=number: a_schedule(f"sched-new-{n}")),  # type: ignore[misc]
                peer.deliveries.acknowledge(ANNA, number),
            )
        ]
        busy.insert(len(busy) // 2, bench.store.users.remove_user(ANNA))
        answers = await asyncio.gather(*busy, return_exceptions=True)
        problems = [answer for answer in answers if isinstance(answer, BaseException)]
        assert all(isinstance(problem, NotFound) for problem in problems), problems
        assert await bench.store.deliveries.last_seqs([ANNA]) == {}
        for left in (
            await bench.store.schedules.schedules(ANNA, active_only=False),
            await bench.store.conversations.messages(TUTOR),
            await bench.store.conversations.messages(COACH),
            await bench.store.deliveries.deliveries(ANNA, after=0, limit=100),
        ):
            assert left == []

    def _outcome_with_turn(self, talk: ConversationFixture, run_id: str) -> Outcome:
        return Outcome(RunStatus.SUCCESS, turn=talk.turn(run_id, firing=run_id))
