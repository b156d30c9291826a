"""The planner of rules: what it does at a sitting, what it remembers, and what it says."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from tests.planning.rules.test_rule import a_rule
from tests.planning.rules.test_steps import a_run

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoLog
from cadenza.adapters.planners.rules import planner as rulebook
from cadenza.adapters.planners.rules.expressions import CelExpressions
from cadenza.adapters.planners.rules.planner import RulePlanner
from cadenza.adapters.stores.memory.store import MemoryStore
from cadenza.domain.errors import Unavailable
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.rules.incidents import recalled
from cadenza.domain.planning.rules.rule import Clear, Escalation, Pace, Rest, Rule, RunSoon, Wake
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, evolve
from cadenza.domain.scheduling.steer import Amended
from cadenza.engine.steering import Steering, call_tool
from cadenza.ports.planning import NOTHING_TO_SAY, Briefing, Planner, Sitting
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import FakeClock
from cadenza.testing.fakes import FakeIds

FAST = Pace(interval_ms=20_000)


class Table:
    """A planner at work in a job of two endpoints, with real tools."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(FakeIds())
        self.planner: Planner = RulePlanner(self.store, CelExpressions())
        self.called: list[tuple[str, str, dict[str, Any]]] = []
        self.problem: Exception | None = None
        cron, log = CronsimCron(), NoLog()
        self._steering = Steering(store=self.store, clock=self.clock, cron=cron, log=log)

    async def lay(self, *rules: Rule, paused: bool = True) -> None:
        await self.store.add_job(Job(id="job", name="job"))
        until = self.clock.now() + timedelta(days=30) if paused else None
        await self.store.add(an_endpoint("front", job_id="job", next_run_at=self.clock.now()))
        await self.store.add(an_endpoint("back", job_id="job", paused_until=until, next_run_at=until))
        await self.write(*rules)

    async def write(self, *rules: Rule) -> None:
        for rule in rules:
            await self.store.add_rule(rule, most=10)

    async def call(self, endpoint: Endpoint, tool: str, arguments: Mapping[str, Any]) -> Amended:
        if self.problem is not None:
            raise self.problem
        self.called.append((endpoint.name, tool, dict(arguments)))
        return await call_tool(self._steering.tools(endpoint.key, origin="planner:rules"), tool, arguments)

    async def brief(self, body: Any = None, *, trigger: Trigger = Trigger.RUN) -> Briefing:
        front, back = [await self.store.get(EndpointKey("default", name)) for name in ("front", "back")]
        recent = [] if body is None else [a_run(1, response=body)]
        return Briefing(
            now=self.clock.now(), endpoint=front, trigger=trigger, recent=recent, siblings={"back": back}
        )

    async def sit(self, body: Any = None, *, trigger: Trigger = Trigger.RUN) -> Sitting:
        return await self.planner.sit(await self.brief(body, trigger=trigger), self.call)

    def tools(self) -> list[tuple[str, str]]:
        """What was called since the last time."""
        told, self.called = [(name, tool) for name, tool, _ in self.called], []
        return told


@pytest.fixture
def table() -> Table:
    return Table()


async def test_a_rule_that_holds_calls_its_tool_with_its_name_as_the_reason(table: Table) -> None:
    await table.lay(a_rule(name="too busy", when="response.body.load > 5", then=FAST))
    sitting = await table.sit({"load": 9})
    arguments = {"intervalMs": 20_000, "ttlMinutes": 60, "reason": "too busy"}
    assert table.called == [("front", "propose_interval", arguments)]
    assert sitting.reasoning == "too busy holds.\ntoo busy: propose_interval of front."
    (hint,) = await table.store.hints(EndpointKey("default", "front"))
    assert (hint.interval_ms, hint.reason, hint.origin) == (20_000, "too busy", "planner:rules")


async def test_what_is_so_already_is_neither_done_nor_said_again(table: Table) -> None:
    await table.lay(a_rule(when="response.body.load > 5", then=FAST))
    await table.sit({"load": 9})
    assert len(table.tools()) == 1
    assert await table.sit({"load": 9}) == NOTHING_TO_SAY
    assert table.tools() == []


async def test_a_paused_sibling_is_woken_and_again_when_it_rests_after_the_cooldown(
    table: Table,
) -> None:
    rule = a_rule(when="response.body.load > 5", then=Wake(endpoint="back"), cooldown_ms=60_000)
    await table.lay(rule)
    back = EndpointKey("default", "back")
    await table.sit({"load": 9})
    assert table.tools() == [("back", "propose_next_time"), ("back", "pause_until")]
    woken = await table.store.get(back)
    assert (woken.paused_until, woken.next_run_at) == (None, table.clock.now())
    steering = table._steering.tools(back, origin="test")
    await call_tool(steering, "pause_until", {"untilIso": "2026-01-01T00:00:00Z"})
    await table.clock.sleep(59_999)
    sitting = await table.sit({"load": 9})
    assert (table.tools(), sitting.look_again_ms) == ([], 1)
    await table.clock.sleep(1)
    await table.sit({"load": 9}, trigger=Trigger.DUE)
    assert table.tools() == [("back", "propose_next_time"), ("back", "pause_until")]


async def test_an_incident_escalates_without_a_new_run_and_relaxes_when_it_is_over(table: Table) -> None:
    rule = a_rule(
        name="busy",
        when="response.body.load > 5",
        then=FAST,
        relax=Clear(),
        once_per_incident=True,
        escalate=(Escalation(60_000, Wake(endpoint="back")), Escalation(90_000, RunSoon(in_ms=0))),
    )
    await table.lay(rule)
    assert (await table.sit({"load": 9})).look_again_ms == 60_000
    table.tools()
    await table.clock.sleep(60_000)
    sitting = await table.sit({"load": 9}, trigger=Trigger.DUE)
    assert [name for name, _ in table.tools()] == ["back", "back"]
    assert sitting.look_again_ms == 30_000
    assert "busy has held since 2025-01-01T00:00:00Z: step 1." in sitting.reasoning
    await table.clock.sleep(30_000)
    assert (await table.sit({"load": 9}, trigger=Trigger.DUE)).look_again_ms is None
    assert table.tools() == [("front", "propose_next_time")]
    sitting = await table.sit({"load": 1})
    assert table.tools() == [("front", "propose_interval")]
    assert "busy is over; it held since 2025-01-01T00:00:00Z." in sitting.reasoning


async def test_what_cannot_be_told_is_said_once_and_leaves_the_incident_alone(table: Table) -> None:
    await table.lay(a_rule(name="busy", when="response.body.load > 5", then=FAST, relax=Clear()))
    await table.sit({"load": 9})
    table.tools()
    told = await table.sit({})
    assert told.reasoning == "busy does not match: There is no load here."
    assert (await table.sit({})).reasoning == ""
    assert table.tools() == []
    assert "busy is over" in (await table.sit({"load": 1})).reasoning


async def test_memory_outlives_the_planner(table: Table) -> None:
    await table.lay(a_rule(when="response.body.load > 5", then=RunSoon(in_ms=0), once_per_incident=True))
    await table.sit({"load": 9})
    assert len(table.tools()) == 1
    table.planner = RulePlanner(table.store, CelExpressions())
    await table.sit({"load": 9})
    assert table.tools() == []


async def test_rules_see_what_other_rules_did_before_them_in_the_order_of_their_ids(table: Table) -> None:
    await table.lay(
        a_rule(id="b", when="true", then=Wake(endpoint="back")),
        a_rule(id="a", when="true", then=Rest(endpoint="back", for_ms=None)),
    )
    await table.sit({})
    assert table.tools() == [("back", "pause_until")], "what the first one resumed need not be woken"


async def test_a_rule_about_another_endpoint_is_not_looked_at(table: Table) -> None:
    await table.lay(a_rule(endpoint_id="back", when="true", then=FAST))
    assert await table.sit({}) == NOTHING_TO_SAY
    assert table.called == []


async def test_a_rule_that_is_switched_off_is_not_looked_at(table: Table) -> None:
    await table.lay(a_rule(when="true", then=FAST, enabled=False))
    assert await table.sit({}) == NOTHING_TO_SAY


async def test_a_call_that_is_refused_is_told_and_counts_as_done(table: Table) -> None:
    far = RunSoon(in_ms=0, endpoint="back")
    await table.lay(
        a_rule(when="true", then=far, once_per_incident=True), a_rule(id="z", when="true", then=FAST)
    )
    table.problem = Unavailable("not there")
    with pytest.raises(Unavailable):
        await table.sit({})
    table.problem = None
    await table.store.amend(EndpointKey("default", "front"), lambda one: Amended(_once(one)))
    sitting = await table.sit({})
    assert table.tools() == [("back", "propose_next_time"), ("front", "propose_interval")]
    assert "was refused: An endpoint that runs once takes no interval hint." in sitting.reasoning


def _once(endpoint: Endpoint) -> Endpoint:
    return evolve(endpoint, baseline=Once(endpoint.next_run_at or FakeClock().now()))


async def test_a_sibling_that_is_not_there_is_told(table: Table) -> None:
    await table.lay(a_rule(when="true", then=Wake(endpoint="nobody"), once_per_incident=True))
    assert "there is no endpoint nobody beside this one" in (await table.sit({})).reasoning
    assert await table.sit({}) == NOTHING_TO_SAY


async def test_a_hostile_answer_is_data(table: Table) -> None:
    await table.lay(a_rule(when="response.body.text == 'x'", then=FAST))
    answer = {"text": "' || true || '", "tool": "pause_until", "__class__": {"mro": []}, "then": FAST.tool}
    await table.sit(answer)
    assert table.called == []


async def test_only_jobs_with_rules_are_thought_about(table: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    await table.lay()
    briefing = await table.brief({})
    assert table.planner.wants(briefing), "it has not looked yet"
    assert await table.sit({}) == NOTHING_TO_SAY
    assert not table.planner.wants(briefing)
    await table.write(a_rule(when="true", then=FAST))
    assert not table.planner.wants(briefing), "for a moment it trusts what it read"
    monkeypatch.setattr(rulebook, "FRESH_S", 0.0)
    table.planner = RulePlanner(table.store, CelExpressions())
    await table.sit({})
    assert table.planner.wants(briefing)
    assert table.tools() == [("front", "propose_interval")]


async def test_a_rule_that_was_deleted_is_forgotten_with_the_next_note(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rulebook, "FRESH_S", 0.0)
    await table.lay(a_rule(id="a", when="true", then=FAST), a_rule(id="b", when="true", then=FAST))
    await table.sit({})
    await table.store.remove_rule("default", "a")
    await table.sit({})
    notes = await table.store.notes("rules", [EndpointKey("default", "front")])
    assert recalled(notes[EndpointKey("default", "front")]).keys() == {"b"}
