"""The feed: a reader that continues from cursor to cursor gets each ended run at least once."""

import asyncio
from collections.abc import Sequence

import pytest

from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.ports.store import Store
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract


async def all_fed(store: Store, cursor: str, limit: int = 100) -> tuple[list[Run], str]:
    """All runs after a cursor, each once."""
    told: dict[str, Run] = {}
    while True:
        runs, cursor = await store.analyses.ended_since(cursor, limit)
        fresh = {run.id: run for run in runs if run.id not in told}
        if not fresh:
            return list(told.values()), cursor
        told |= fresh


async def beginning(store: Store) -> str:
    """The cursor of a reader that starts now."""
    runs, cursor = await store.analyses.ended_since(None, 100)
    assert runs == []
    return cursor


class FeedContract(Contract):
    """`ended_since`."""

    async def test_the_feed_begins_with_runs_to_come(self, bench: Bench) -> None:
        await bench.add()
        await bench.run_once()
        cursor = await beginning(bench.store)
        assert await all_fed(bench.store, cursor) == ([], (await all_fed(bench.store, cursor))[1])
        bench.pass_ms(MINUTE)
        run = await bench.run_once()
        assert (await all_fed(bench.store, cursor))[0] == [run]

    @pytest.mark.parametrize("limit", [1, 2, 100])
    async def test_runs_are_fed_in_order_without_their_responses(self, bench: Bench, limit: int) -> None:
        await bench.add()
        cursor = await beginning(bench.store)
        runs = []
        for number in range(5):
            runs.append(await bench.run_once(response={"number": number}))
            bench.pass_ms(MINUTE)
        fed, _ = await all_fed(bench.store, cursor, limit)
        assert fed == [run._replace(response=None) for run in runs]

    async def test_who_goes_on_from_a_mark_is_told_only_what_is_new(self, bench: Bench) -> None:
        await bench.add()
        await bench.run_once()
        _, cursor = await all_fed(bench.store, await beginning(bench.store))
        bench.pass_ms(MINUTE)
        run = await bench.run_once()
        fed, cursor = await all_fed(bench.store, cursor)
        assert fed == [run]
        assert (await all_fed(bench.store, cursor))[0] == []

    async def test_open_runs_are_not_fed(self, bench: Bench) -> None:
        await bench.add()
        cursor = await beginning(bench.store)
        claim = await bench.claim_one()
        assert (await all_fed(bench.store, cursor))[0] == []
        await bench.end(claim)
        assert [run.id for run in (await all_fed(bench.store, cursor))[0]] == [claim.run_id]

    async def test_runs_of_all_tenants_and_all_ends_are_fed(self, bench: Bench) -> None:
        cursor = await beginning(bench.store)
        await bench.add("a")
        await bench.add("a", tenant_id="stranger")
        ours, theirs = await bench.claim()
        await bench.end(ours, status=RunStatus.FAILURE, error="no")
        bench.pass_ms(MINUTE)
        await bench.sweep()
        fed, _ = await all_fed(bench.store, cursor)
        assert {(run.tenant_id, run.status) for run in fed} == {
            (ours.endpoint.tenant_id, RunStatus.FAILURE),
            (theirs.endpoint.tenant_id, RunStatus.ABANDONED),
        }

    @pytest.mark.parametrize("mark", ["nonsense", "", "999999999", "1:2:3", "9999999999:1:1:1:x"])
    async def test_a_mark_from_elsewhere_begins_with_runs_to_come(self, bench: Bench, mark: str) -> None:
        await bench.add()
        await bench.run_once()
        runs, cursor = await bench.store.analyses.ended_since(mark, 100)
        assert runs == []
        bench.pass_ms(MINUTE)
        run = await bench.run_once()
        assert (await all_fed(bench.store, cursor))[0] == [run]

    async def test_of_many_who_commit_at_once_no_run_is_missed(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        """A reader that never rests, beside writers that overlap."""
        names = [f"endpoint-{number:03}" for number in range(120)]
        for name in names:
            await bench.add(name)
        cursor = await beginning(bench.store)
        told: list[str] = []
        writing = asyncio.gather(*(self._run_all(bench, peer) for peer in peers))
        while not writing.done():
            runs, cursor = await bench.store.analyses.ended_since(cursor, 7)
            told += [run.endpoint_id for run in runs]
            await asyncio.sleep(0)
        await writing
        rest, _ = await all_fed(bench.store, cursor)
        assert {*told, *(run.endpoint_id for run in rest)} == set(names)

    async def _run_all(self, bench: Bench, store: Store) -> None:
        own = Bench(store)
        while claims := await own.claim(limit=3):
            await asyncio.gather(*(own.end(claim) for claim in claims))


class RecentRunsContract(Contract):
    """`recent_runs` and `with_siblings`."""

    async def test_the_newest_runs_of_several_endpoints_come_with_their_responses(self, bench: Bench) -> None:
        await bench.add("a")
        await bench.add("b")
        await bench.add("never", next_run_at=bench.ms(MINUTE * 60))
        runs: dict[str, list[Run]] = {"a": [], "b": []}
        for number in range(4):
            for claim in await bench.claim():
                (settled,) = await bench.end(claim, response={"number": number})
                assert settled is not None
                runs[claim.endpoint.id].insert(0, settled.run)
            bench.pass_ms(MINUTE)
        keys = [EndpointKey("default", name) for name in ("a", "b", "never", "nobody")]
        found = await bench.store.analyses.recent_runs(keys, each=3, most_bytes=10_000)
        assert found == {keys[0]: runs["a"][:3], keys[1]: runs["b"][:3]}
        assert await bench.store.analyses.recent_runs([], each=3, most_bytes=10_000) == {}

    @pytest.mark.parametrize(("most_bytes", "count"), [(0, 1), (150, 1), (250, 2), (1_000, 4)])
    async def test_responses_are_cut_by_bytes_and_the_newest_always_comes(
        self, bench: Bench, most_bytes: int, count: int
    ) -> None:
        endpoint = await bench.add()
        for number in range(4):
            await bench.run_once(response={"number": number, "text": "x" * 80})
            bench.pass_ms(MINUTE)
        found = await bench.store.analyses.recent_runs([endpoint.key], each=10, most_bytes=most_bytes)
        assert [run.response["number"] for run in found[endpoint.key]] == [3, 2, 1, 0][:count]  # type: ignore[index, call-overload]

    async def test_runs_without_a_response_weigh_nothing(self, bench: Bench) -> None:
        endpoint = await bench.add()
        for _ in range(3):
            await bench.run_once()
            bench.pass_ms(MINUTE)
        assert (
            len((await bench.store.analyses.recent_runs([endpoint.key], each=10, most_bytes=0))[endpoint.key])
            == 3
        )

    async def test_a_run_that_is_open_is_not_recent(self, bench: Bench) -> None:
        endpoint = await bench.add()
        await bench.claim_one()
        assert await bench.store.analyses.recent_runs([endpoint.key], each=3, most_bytes=100) == {}

    async def test_neighbours_are_the_endpoints_of_the_same_job_and_tenant(self, bench: Bench) -> None:
        meant = await bench.add("a", job_id="one")
        sibling = await bench.add("b", job_id="one")
        await bench.add("c", job_id="two")
        await bench.add("d", job_id="one", tenant_id="stranger")
        await bench.add("e", job_id="one", archived=True)
        found = await bench.store.analyses.with_siblings([meant.key], 10)
        assert {one.key for one in found} == {meant.key, sibling.key}
        assert await bench.store.analyses.with_siblings([EndpointKey("default", "e")], 10) == []
        assert await bench.store.analyses.with_siblings([EndpointKey("nobody", "a")], 10) == []

    async def test_neighbours_come_fresh_and_once(self, bench: Bench) -> None:
        first, second = await bench.add("a"), await bench.add("b")
        await bench.tool(second, "pause_until", untilIso=bench.ms(MINUTE).isoformat())
        found = await bench.store.analyses.with_siblings([first.key, second.key], 10)
        assert sorted(one.id for one in found) == ["a", "b"]
        assert {one.id: one for one in found}["b"] == await bench.fresh(second)

    async def test_of_a_large_job_only_some_come_but_always_those_who_are_meant(self, bench: Bench) -> None:
        for number in range(9):
            await bench.add(f"endpoint-{number}")
        meant = EndpointKey("default", "endpoint-8")
        found = {one.key for one in await bench.store.analyses.with_siblings([meant], 3)}
        assert meant in found
        assert 4 <= len(found) <= 5
