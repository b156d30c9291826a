"""Endpoints of functions that no process declares are retired, and come back when one does."""

from functools import partial

from cadenza.domain.scheduling.abandon import UNDECLARED, bring_back, retire
from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract

A_WHILE = 10 * MINUTE


def ids(changed: list[ChangedEndpoint]) -> list[str]:
    return sorted(one.endpoint.id for one in changed)


class FunctionContract(Contract):
    """`declare`, `retire` and `declared_at`."""

    async def test_when_a_function_was_last_declared_is_told(self, bench: Bench) -> None:
        await self._declare(bench, "here")
        bench.pass_ms(A_WHILE)
        await self._declare(bench, "here", "new")
        bench.pass_ms(1)
        declared = [await bench.store.functions.declared_at(name) for name in ("here", "new", "nowhere")]
        assert declared == [bench.ms(-1), bench.ms(-1), None]

    async def test_what_nobody_declares_for_a_while_is_retired(self, bench: Bench) -> None:
        endpoint = await self._add(bench, "gone")
        await self._add(bench, "here")
        await self._declare(bench, "gone", "here")
        bench.pass_ms(A_WHILE)
        assert await self._retire(bench) == []
        await self._declare(bench, "here")
        bench.pass_ms(1)
        assert ids(await self._retire(bench)) == ["gone"]
        after = await bench.fresh(endpoint)
        assert (after.next_run_at, after.next_source) == (None, Source.RETIRED)
        assert await self._retire(bench) == []
        assert [claim.endpoint.name for claim in await bench.claim()] == ["here"]

    async def test_a_function_that_was_never_declared_gets_its_while_too(self, bench: Bench) -> None:
        await self._add(bench, "unknown")
        assert await self._retire(bench) == []
        bench.pass_ms(A_WHILE)
        assert await self._retire(bench) == []
        bench.pass_ms(1)
        assert ids(await self._retire(bench)) == ["unknown"]

    async def test_only_functions_are_retired(self, bench: Bench) -> None:
        await bench.add("page", target=HttpTarget("https://example.com/"))
        await self._retire(bench)
        bench.pass_ms(2 * A_WHILE)
        assert await self._retire(bench) == []

    async def test_a_due_slot_of_what_is_retired_is_skipped_with_the_reason(self, bench: Bench) -> None:
        endpoint = await self._add(bench, "gone")
        await self._all_retired(bench)
        (run,) = await bench.runs(endpoint)
        assert (run.status, run.slot, run.reason) == (RunStatus.SKIPPED, endpoint.next_run_at, UNDECLARED)

    async def test_what_is_running_is_not_retired(self, bench: Bench) -> None:
        await self._add(bench, "gone")
        await self._retire(bench)
        await bench.claim_one()
        bench.pass_ms(2 * A_WHILE)
        assert await self._retire(bench) == []

    async def test_no_more_than_the_limit_is_retired_at_once(self, bench: Bench) -> None:
        for number in range(5):
            await self._add(bench, "gone", id=f"endpoint-{number}")
        await self._retire(bench)
        bench.pass_ms(2 * A_WHILE)
        assert [len(await self._retire(bench, limit=2)) for _ in range(4)] == [2, 2, 1, 0]

    async def test_what_is_declared_again_comes_back_and_wakes_workers(self, bench: Bench) -> None:
        interval = await self._add(bench, "interval", baseline=Every(MINUTE))
        cron = await self._add(bench, "cron", baseline=Cron("0 4 * * *"))
        await self._all_retired(bench)
        async with bench.wakes_workers():
            back = await self._declare(bench, "interval", "cron")
        assert ids(back) == ["cron", "interval"]
        first, second = await bench.fresh(interval), await bench.fresh(cron)
        assert first.next_source is Source.BASELINE_INTERVAL
        assert second.next_source is Source.BASELINE_CRON
        assert await self._declare(bench, "interval", "cron") == []
        assert await self._retire(bench) == []

    async def test_a_pause_outlives_retirement(self, bench: Bench) -> None:
        paused = await self._add(bench, "gone", paused_until=bench.ms(100 * A_WHILE))
        await self._all_retired(bench)
        await self._declare(bench, "gone")
        after = await bench.fresh(paused)
        assert (after.next_run_at, after.next_source) == (paused.paused_until, Source.PAUSED)

    async def _add(self, bench: Bench, function: str, **fields: object) -> Endpoint:
        return await bench.add(**({"name": function, "target": CallableTarget(function)} | fields))  # type: ignore[arg-type]

    async def _declare(self, bench: Bench, *names: str) -> list[ChangedEndpoint]:
        now = bench.clock.now()
        rule = partial(bring_back, now=now, cron=bench.cron)
        return await bench.store.functions.declare(names, now=now, bring_back=rule)

    async def _retire(self, bench: Bench, limit: int = 100) -> list[ChangedEndpoint]:
        now = bench.clock.now()
        return await bench.store.functions.retire(
            now=now, undeclared_since=bench.ms(-A_WHILE), limit=limit, retire=partial(retire, now=now)
        )

    async def _all_retired(self, bench: Bench) -> None:
        await self._retire(bench)
        bench.pass_ms(2 * A_WHILE)
        await self._retire(bench)
