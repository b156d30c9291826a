"""What a runner of the daily target promises: one run for each call, and a result for each failure."""

import asyncio
from contextlib import suppress
from datetime import date

import pytest

from cadenza.domain.daily.user import DONE, DailyRunResult
from cadenza.ports.daily import DailyTargetRunner

DAY = date(2025, 1, 1)
TENANT = "north"
PATIENCE_S = 30


class DailyTargetRunnerContract:
    """A subclass gives `target_runner`, whose target succeeds for ada, fails for ben and never answers cleo.

    Where a target cannot hang, it sets `hangs` to False; the fixture `calls` tells for whom it was run.
    """

    hangs = True

    @pytest.fixture
    def calls(self) -> list[str]:
        """The users for whom the target was run, in order."""
        return []

    async def run(self, target_runner: DailyTargetRunner, user_id: str) -> DailyRunResult:
        """One run."""
        return await target_runner.run(user_id, DAY, tenant_id=TENANT)

    async def test_a_success_is_done(self, target_runner: DailyTargetRunner) -> None:
        assert await self.run(target_runner, "ada") == DONE

    async def test_a_failure_is_a_result_that_says_what_went_wrong(
        self, target_runner: DailyTargetRunner
    ) -> None:
        result = await self.run(target_runner, "ben")
        assert result.error
        assert result.error_class is not None

    async def test_it_does_not_retry(self, target_runner: DailyTargetRunner, calls: list[str]) -> None:
        await self.run(target_runner, "ben")
        await self.run(target_runner, "ada")
        assert calls == ["ben", "ada"]

    async def test_a_failure_of_one_user_costs_another_nothing(
        self, target_runner: DailyTargetRunner
    ) -> None:
        users = ["ben", "ada", "ben", "ada"]
        results = await asyncio.gather(*(self.run(target_runner, user_id) for user_id in users))
        assert [result == DONE for result in results] == [False, True, False, True]

    async def test_a_cancelled_run_ends(self, target_runner: DailyTargetRunner) -> None:
        if not self.hangs:
            return
        running = asyncio.create_task(self.run(target_runner, "cleo"))
        await asyncio.sleep(0.01)
        assert not running.done()
        running.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait_for(running, PATIENCE_S)
