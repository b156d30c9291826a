"""Probes of every kind in a real worker, with its planners, over real HTTP."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.integration.http.loopback_server import Request, a_server, answer
from tests.integration.test_planners_with_worker import PlannerFixture, planner_fixture, until

from cadenza.adapters.clock import SystemClock
from cadenza.domain.agents.probe import NOTHING_NEW, planning_of
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget, Probe, ProbeTarget, PromptTarget


class Probes:
    """Schedules of ada, whose agent answers offline."""

    def __init__(self, fixture: PlannerFixture) -> None:
        self.fixture = fixture
        self.store = fixture.store

    async def open(self) -> "Probes":
        await self.store.users.put_user(User(tenant_id="default", id="ada"))
        await self.store.agents.put_agent(Agent(tenant_id="default", id="helper", name="Helper"))
        return self

    async def add(self, name: str, target: ProbeTarget) -> EndpointKey:
        prompt = PromptTarget("helper", "ada", f"{name} has changed", probe=Probe(target))
        guard = Guard(min_interval_ms=1_000)
        planning = planning_of(Endpoint(id=name, name=name, target=prompt, guard=guard))
        return await self.fixture.add(name, target=prompt, guard=guard, planning=planning)

    async def again(self, key: EndpointKey) -> None:
        now = self.fixture.clock.now()
        await self.store.endpoints.amend(key, lambda one: ChangedEndpoint(evolve(one, next_run_at=now)))

    async def runs(self, key: EndpointKey, count: int) -> Sequence[Run]:
        """So many runs that have ended, oldest first."""

        async def ended() -> Any:
            found = [one for one in await self.store.runs.runs(key) if one.finished_at is not None]
            return found[::-1] if len(found) >= count else None

        found: Sequence[Run] = await until(ended)
        return found


async def test_a_page_and_a_function_are_looked_at_until_something_is_new(tmp_path: Path) -> None:
    items, unread = [3], [0]

    def shop(_: Request, writer: Any) -> None:
        body = f'{{"items": {items[0]}}}'
        writer.write(answer(body, Content_Type="application/json", Cache_Control="max-age=300"))

    async with planner_fixture(tmp_path, SystemClock()) as fixture, a_server(shop) as server:
        fixture.callables.register("unread", lambda: {"unread": unread[0]})
        probes = await Probes(fixture).open()
        async with fixture.working():
            targets: dict[str, ProbeTarget] = {
                "stock": HttpTarget(server.url()),
                "mail": CallableTarget("unread"),
            }
            keys = [await probes.add(name, target) for name, target in targets.items()]
            for key in keys:
                (run,) = await probes.runs(key, 1)
                assert (run.status, run.reason) == (RunStatus.SKIPPED, NOTHING_NEW)

            async def hinted() -> Any:
                return (await fixture.store.endpoints.get(keys[0])).interval_hint

            assert (await until(hinted)).interval_ms == 300_000
            items[0], unread[0] = 2, 1
            for key in keys:
                await probes.again(key)
                _, run = await probes.runs(key, 2)
                assert run.status is RunStatus.SUCCESS
        owed = await fixture.store.deliveries.undelivered(UserKey("default", "ada"), after=0, limit=10)
    assert [one.message.text for one in owed] == [  # type: ignore[union-attr]
        "Reminder: stock has changed",
        "Reminder: mail has changed",
    ]
