"""A worker that dies between the probe of a schedule and its agent: what is new is told, and told once."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.agents.agent_fixtures import MINUTE, AgentFixture
from tests.agents.scripted_agent import Behaviour, BlockingAgent, ScriptedAgent, reply
from tests.postgres import database_url, newest_databases

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.agents.probe import NOTHING_NEW
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.ports.agents import Reply
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store

__all__ = ["database_url", "newest_databases"]

STOCK: dict[str, Any] = {
    "name": "Stock",
    "prompt": "Tell me.",
    "schedule_type": "recurring",
    "cron_expression": "*/10 * * * *",
    "probe": {"target": {"kind": "http", "url": "https://example.com/stock"}},
}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'cadenza.db'}"
    return str(request.getfixturevalue("database_url"))


@asynccontextmanager
async def a_process(
    url: str, answers: Callable[[Claim], Any], *behaviours: Behaviour | Reply, after_min: float = 0
) -> AsyncIterator[AgentFixture]:
    """A process of its own on the database; its probe answers so, and so does its agent."""
    async with open_store(Settings(database_url=url), ids=TimeOrderedIds(), log=NoLog()) as store:
        agents = AgentFixture(ScriptedAgent(*behaviours), store=store)
        agents.probes.on("Stock", answers)
        await agents.clock.advance(after_min * MINUTE)
        yield agents


def sees(items: int) -> Callable[[Claim], Outcome]:
    return lambda _: Outcome(RunStatus.SUCCESS, response={"status": 200, "body": items})


async def dies(agents: AgentFixture, once: asyncio.Event) -> None:
    """Start what is due, and be gone before it is settled."""
    task = asyncio.create_task(agents.worker.run_once())
    await asyncio.wait_for(once.wait(), 60)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("dies_in", ["probe", "turn"])
async def test_what_was_not_told_is_told_once_after_a_restart(url: str, dies_in: str) -> None:
    looking, thinking = BlockingAgent(), BlockingAgent()

    async def hangs(_: Claim) -> Outcome:
        looking.began.set()
        return await asyncio.Event().wait()  # type: ignore[return-value]

    await migrate(url)
    async with a_process(url, sees(3)) as agents:
        await agents.open()
        schedule_id = (await agents.schedule(**STOCK))["id"]
        await agents.fire(3 * MINUTE)
    async with a_process(url, hangs if dies_in == "probe" else sees(2), thinking, after_min=13) as agents:
        await dies(agents, looking.began if dies_in == "probe" else thinking.began)
        assert await agents.undelivered_texts() == []
    async with a_process(url, sees(2), reply("Two left."), after_min=18) as agents:
        assert len(await agents.sweeper.sweep()) == 1
        await agents.worker.run_once()
        assert await agents.undelivered_texts() == ["Two left."]
        runs = await agents.runs(schedule_id)
        verdicts = [(run.slot.minute, run.status) for run in runs if run.verdict]
        assert verdicts == [(20, RunStatus.SKIPPED), (30, RunStatus.SUCCESS)]
        assert len([run for run in runs if run.status is RunStatus.ABANDONED]) == 1
    async with a_process(url, sees(2), after_min=23) as agents:
        await agents.worker.run_once()
        assert (await agents.runs(schedule_id))[-1].reason == NOTHING_NEW
        assert await agents.undelivered_texts() == ["Two left."]
