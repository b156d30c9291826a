"""Schedules with a probe: stored whole, claimed by who can look, and what was seen kept with the run."""

from dataclasses import replace
from functools import partial
from typing import Any

from cadenza.domain.agents.probe import NOTES_OWNER, NOTHING_NEW
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.abandon import retire
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.target import (
    CallableTarget,
    HttpTarget,
    McpTarget,
    Probe,
    ProbeTarget,
    PromptTarget,
)
from cadenza.domain.validation import milliseconds
from cadenza.ports.store import Store
from cadenza.testing.contracts.agents.conversation_fixtures import (
    AgentContract,
    ConversationFixture,
    a_schedule,
)
from cadenza.testing.contracts.harness import LEASE_MS, MINUTE, Bench

TARGETS: tuple[ProbeTarget, ...] = (
    HttpTarget(
        "https://example.com/stock",
        "POST",
        {"Authorization": "Bearer ${secret:SHOP}"},
        {"kind": "every", "of": ["ä", 1, None]},
        success_path="$.items",
        success_values=(1, "two"),
    ),
    CallableTarget("unread"),
    McpTarget("https://example.com/mcp", "search", {"kind": "cron", "deep": {"n": 1.5}}, {"X-Team": "one"}),
)


def a_probing_schedule(target: ProbeTarget = TARGETS[1], **parts: Any) -> Endpoint:
    """A schedule that looks at a target before it wakes its agent."""
    return a_schedule(target=PromptTarget("tutor", "anna", "Go on.", probe=Probe(target, **parts)))


class ProbeContract(AgentContract):
    """Schedules with a probe, and `finalize` of what their probes saw."""

    async def test_a_probe_comes_back_as_it_was(self, talk: ConversationFixture, store: Store) -> None:
        await talk.add_users_and_agents()
        parts: list[dict[str, Any]] = [{}, {"condition": "status == 200"}, {"changed": ("$.a[0]", "$.b")}]
        for number, target in enumerate(TARGETS):
            schedule = replace(a_probing_schedule(target, **parts[number]), id=f"sched-{number}")
            await store.endpoints.add(schedule)
            assert await store.endpoints.get(schedule.key) == schedule

    async def test_a_probe_that_calls_a_function_needs_it_and_prompts(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        await bench.store.endpoints.add(a_probing_schedule())
        assert await bench.claim(can_run=["prompt", "http", "callable:unread", "prompt:callable:other"]) == []
        assert len(await bench.claim(can_run=["prompt:callable:unread"])) == 1

    async def test_a_schedule_is_retired_when_nobody_has_its_probes_function(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        schedule, functions = a_probing_schedule(), bench.store.functions
        await bench.store.endpoints.add(schedule)
        for _ in range(2):
            since, now = bench.ms(-MINUTE), bench.clock.now()
            await functions.retire(now=now, undeclared_since=since, limit=10, retire=partial(retire, now=now))
            bench.pass_ms(2 * MINUTE)
        assert (await bench.fresh(schedule)).next_source is Source.RETIRED

    async def test_what_a_probe_saw_is_kept_with_the_run(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        schedule = a_probing_schedule()
        await bench.store.endpoints.add(schedule)
        run = await bench.run_once(
            RunStatus.SKIPPED, reason=NOTHING_NEW, response={"probe": 1}, seen={"of": "x", "answer": [1]}
        )
        assert (run.verdict, run.reason, run.response) == (True, NOTHING_NEW, {"probe": 1})
        assert await _seen(bench, schedule) == {"of": "x", "answer": [1]}
        await _until_due(bench, schedule)
        await bench.run_once(RunStatus.FAILURE, response={"probe": 2})
        assert await _seen(bench, schedule) == {"of": "x", "answer": [1]}
        await _until_due(bench, schedule)
        await bench.run_once(response={"probe": 2}, seen={"of": "x", "answer": None})
        assert await _seen(bench, schedule) == {"of": "x", "answer": None}

    async def test_of_a_lost_lease_nothing_seen_is_kept(
        self, talk: ConversationFixture, bench: Bench
    ) -> None:
        await talk.add_users_and_agents()
        schedule = a_probing_schedule()
        await bench.store.endpoints.add(schedule)
        lost = await bench.claim_one()
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        assert await bench.end(lost, status=RunStatus.SKIPPED, reason=NOTHING_NEW, seen={"of": "x"}) == [None]
        assert await _seen(bench, schedule) is None


async def _until_due(bench: Bench, schedule: Endpoint) -> None:
    due_at = (await bench.fresh(schedule)).next_run_at
    assert due_at is not None
    bench.pass_ms((due_at - bench.clock.now()) // milliseconds(1))


async def _seen(bench: Bench, schedule: Endpoint) -> Json:
    return (await bench.store.analyses.notes(NOTES_OWNER, [schedule.key])).get(schedule.key)
