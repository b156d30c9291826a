"""What happened, to be searched and to be counted."""

import pytest

from cadenza.domain.planning.health import EndedRun
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.ports.catalog import Page
from cadenza.ports.scheduling import EVERY_RUN, RunFilter
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract


class HistoryContract(Contract):
    """`find_runs` and `ended`."""

    async def all_found(self, bench: Bench, wanted: RunFilter, limit: int = 2) -> list[Run]:
        """Everything, page by page."""
        found, after = [], None
        while True:
            runs, after = await bench.store.runs.find_runs("default", wanted=wanted, page=Page(limit, after))
            assert len(runs) <= limit
            found += runs
            if after is None:
                return found

    async def two_with_runs(self, bench: Bench) -> tuple[list[Endpoint], list[Run]]:
        """Two endpoints that take turns; the first fails every third time, the second never."""
        endpoints = [
            await bench.add("a", job_id="one", next_run_at=bench.ms(MINUTE)),
            await bench.add("b", job_id="two", next_run_at=bench.ms(MINUTE + 1)),
        ]
        runs = []
        for number in range(6):
            bench.pass_ms(MINUTE)
            for endpoint, claim in zip(endpoints, await bench.claim(within_ms=1), strict=True):
                failed = endpoint.id == "a" and number % 3 == 2
                status = RunStatus.FAILURE if failed else RunStatus.SUCCESS
                (settled,) = await bench.end(claim, status=status, duration_ms=number)
                assert settled is not None
                runs.append(settled.run)
        return endpoints, runs

    @pytest.mark.parametrize("limit", [1, 2, 5, 12, 100])
    async def test_runs_are_found_newest_first_page_by_page_to_the_end(
        self, bench: Bench, limit: int
    ) -> None:
        _, runs = await self.two_with_runs(bench)
        assert await self.all_found(bench, EVERY_RUN, limit) == sorted(runs, reverse=True)

    @pytest.mark.parametrize("limit", [1, 3, 100])
    async def test_runs_are_found_by_endpoint_job_status_and_source(self, bench: Bench, limit: int) -> None:
        _, runs = await self.two_with_runs(bench)
        newest = sorted(runs, reverse=True)
        filters = {
            RunFilter(endpoint_id="a"): [run for run in newest if run.endpoint_id == "a"],
            RunFilter(job_id="two"): [run for run in newest if run.job_id == "two"],
            RunFilter(statuses=frozenset({RunStatus.FAILURE})): [
                run for run in newest if run.status is RunStatus.FAILURE
            ],
            RunFilter(sources=frozenset({Source.FIRST, Source.MANUAL})): [
                run for run in newest if run.source is Source.FIRST
            ],
            RunFilter("b", statuses=frozenset({RunStatus.FAILURE})): [],
            RunFilter("a", "one", frozenset(RunStatus), frozenset(Source)): [
                run for run in newest if run.endpoint_id == "a"
            ],
            RunFilter("a", "two"): [],
        }
        for wanted, expected in filters.items():
            assert await self.all_found(bench, wanted, limit) == expected

    async def test_runs_are_found_by_when_they_finished_the_end_of_the_span_excluded(
        self, bench: Bench
    ) -> None:
        _, runs = await self.two_with_runs(bench)
        newest = sorted(runs, reverse=True)
        since, until = runs[4].finished_at, runs[8].finished_at
        assert since is not None
        assert until is not None
        assert await self.all_found(bench, RunFilter(since=since)) == newest[:-4]
        assert await self.all_found(bench, RunFilter(until=until)) == newest[4:]
        assert await self.all_found(bench, RunFilter(since=since, until=until)) == newest[4:-4]
        assert await self.all_found(bench, RunFilter(since=until, until=since)) == []

    async def test_a_run_that_is_open_is_not_among_the_closed(self, bench: Bench) -> None:
        endpoint = await bench.add()
        claim = await bench.claim_one()
        assert await bench.store.runs.find_runs("default") == ([], None)
        assert await bench.store.runs.ended(endpoint.key, since=bench.ms(-MINUTE), limit=10) == []
        await bench.end(claim)
        assert [run.id for run in (await bench.store.runs.find_runs("default")).runs] == [claim.run_id]

    async def test_a_tenant_finds_its_own_runs_alone(self, bench: Bench) -> None:
        await bench.add("a")
        await bench.add("a", tenant_id="stranger")
        own, foreign = await bench.end(*await bench.claim())
        assert own is not None
        assert foreign is not None
        assert (await bench.store.runs.find_runs("default")).runs == [own.run]
        assert (await bench.store.runs.find_runs("stranger", wanted=RunFilter("a"))).runs == [foreign.run]
        assert await bench.store.runs.find_runs("nobody", wanted=RunFilter("a")) == ([], None)
        assert await bench.store.runs.ended(EndpointKey("nobody", "a"), since=bench.ms(-1), limit=1) == []

    async def test_runs_are_found_again_after_what_is_no_longer_there(self, bench: Bench) -> None:
        _, runs = await self.two_with_runs(bench)
        between = runs[5].id + "-gone"
        found = await bench.store.runs.find_runs("default", page=Page(3, after=between))
        assert found.runs == sorted(runs[:6], reverse=True)[:3]

    async def test_the_ends_of_an_endpoints_runs_come_newest_first(self, bench: Bench) -> None:
        (endpoint, _), runs = await self.two_with_runs(bench)
        own = [run for run in runs if run.endpoint_id == endpoint.id]
        ends = [
            EndedRun(run.finished_at, run.status, run.duration_ms, run.late_ms)
            for run in reversed(own)
            if run.finished_at is not None and run.status is not None
        ]
        store, begin = bench.store, bench.ms(-60 * MINUTE)
        assert await store.runs.ended(endpoint.key, since=begin, limit=100) == ends
        assert await store.runs.ended(endpoint.key, since=begin, limit=2) == ends[:2]
        assert await store.runs.ended(endpoint.key, since=ends[3].finished_at, limit=100) == ends[:4]
        assert await store.runs.ended(endpoint.key, since=bench.ms(1), limit=100) == []
