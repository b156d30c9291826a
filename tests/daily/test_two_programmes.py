"""Two programmes of one user beside each other, end to end: a process on a file, and a real receiver."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from tests.integration.http.loopback_server import a_server, says

from cadenza.adapters.clock import FastClock, SystemClock
from cadenza.adapters.daily.callable_target import CallableTargetRunner
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.daily.keys import daily_key
from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.rules import enroll
from cadenza.domain.daily.user import DayStatus, enrollment
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.engine.supervision import Supervisor
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.daily.programmes import DeclaredFunction, TargetsByProgramme
from cadenza.roots.wiring.daily.service import clocks_for, daily_parts_in_up
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext
from cadenza.testing import FakeLog, FakeTelemetry

FAST = 120
START = datetime(2030, 1, 31, 10, tzinfo=UTC)
"""A Thursday, when clocks in Berlin show 11:00."""


class UpInOneProcess:
    """The daily part of `cadenza up`, on a clock that runs fast."""

    def __init__(self, settings: Settings, context: ProcessContext) -> None:
        self._settings = settings
        self.context = context
        self.store = context.store

    async def enroll(self, programme: str, due: str, timezone: str = "UTC") -> None:
        wanted = enrollment(
            "default",
            "ada",
            datetime.strptime(due, "%H:%M").time(),  # noqa: DTZ007 - a time of day has no zone.
            timezone=timezone,
            programme_id=programme,
        )
        await self.store.daily.enroll([wanted], partial(enroll, now=self.context.clock.now()))

    async def verdicts(self, *programmes: str) -> list[DayStatus]:
        """Serve until the user has a verdict in each programme."""
        async with AsyncExitStack() as stack:
            clocks = clocks_for(self.context.clock)
            parts = await daily_parts_in_up(stack, self._settings, self.context, clocks)
            supervisor = Supervisor(clock=SystemClock(), log=FakeLog(), telemetry=FakeTelemetry())
            running = asyncio.create_task(supervisor.run(*parts))
            async with asyncio.timeout(60):
                while not all(found := [await self._verdict(one) for one in programmes]):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            supervisor.stop()
            await running
        return [one for one in found if one is not None]

    async def _verdict(self, programme: str) -> DayStatus | None:
        key = daily_key("default", "ada", programme_id=programme)
        found = await self.store.daily.verdicts_of(key)
        return found[0].status if found else None


@pytest.fixture
async def up(tmp_path: Path) -> AsyncIterator[UpInOneProcess]:
    settings = Settings(
        database_url=f"sqlite:///{tmp_path / 'up.db'}", tick_ms=10_000, allow_private_targets=True
    )
    async with open_store(settings, ids=TimeOrderedIds(), log=FakeLog()) as store:
        context = ProcessContext(
            store=store,
            clock=FastClock(FAST, START),
            log=FakeLog(),
            callables=CallableDispatcher(),
            telemetry=FakeTelemetry(),
        )
        yield UpInOneProcess(settings, context)


async def test_both_programmes_of_a_user_are_served_by_their_own_targets(up: UpInOneProcess) -> None:
    async with a_server(says("{}")) as server:
        for name in ("daily", "evening"):
            target = HttpTarget(server.url(f"/{name}"), "POST")
            await up.store.programmes.put_programme(
                Programme(id=name, target=target, created_at=START - timedelta(days=1))
            )
        await up.enroll("daily", "10:30")
        await up.enroll("evening", "11:30", "Europe/Berlin")
        assert await up.verdicts("daily", "evening") == [DayStatus.SUCCESS, DayStatus.SUCCESS]
    sent = {(one.path, one.headers["idempotency-key"]) for one in server.requests}
    assert sent == {("/daily", "ada:2030-01-31"), ("/evening", "evening:ada:2030-01-31")}
    assert {json.loads(one.body)["programme"] for one in server.requests} == {"daily", "evening"}


async def test_a_programme_without_a_target_here_is_told_once_and_cut_off(up: UpInOneProcess) -> None:
    programme = Programme(id="evening", target=CallableTarget("summary"), created_at=START)
    await up.store.programmes.put_programme(programme)
    await up.enroll("evening", "10:03")
    assert await up.verdicts("evening") == [DayStatus.CUTOFF_REACHED]
    log = up.context.log
    assert isinstance(log, FakeLog)
    assert log.events("warning") == [
        "daily users are due, but this process has no target for their programme"
    ]


def test_a_program_without_a_function_for_daily_users_is_not_told_of_a_setting_it_ignores() -> None:
    log = FakeLog()
    function = DeclaredFunction("summary", CallableTargetRunner(lambda user_id, service_date: None))
    targets = TargetsByProgramme(log, functions={"evening": function})
    assert targets.runner_for(Programme(id="evening")) is function.runner
    assert targets.runner_for(Programme(id="daily")) is None
    assert log.events("warning") == [
        "daily users are due, but this process has no target for their programme"
    ]


async def test_a_private_address_of_a_programme_is_refused_as_anywhere(up: UpInOneProcess) -> None:
    up._settings = up._settings.model_copy(update={"allow_private_targets": False})
    async with a_server(says("{}")) as server:
        target = HttpTarget(server.url("/evening"), "POST")
        await up.store.programmes.put_programme(Programme(id="evening", target=target, created_at=START))
        await up.enroll("evening", "10:03")
        assert await up.verdicts("evening") == [DayStatus.CUTOFF_REACHED]
    assert server.requests == []
