"""Bulk changes, written in one commit."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from cadenza.domain.errors import Conflict, NotFound
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, evolve
from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import SkippedSlot
from cadenza.domain.scheduling.steer import ChangedEndpoint, HintRecord
from cadenza.ports.catalog import BulkChange, BulkScope, BulkState, DecideBulkChange, EndpointFilter
from cadenza.ports.store import Store
from cadenza.testing.builders import an_endpoint
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract

JOB = BulkScope(frozenset({"job"}))


def always(
    *endpoints: Endpoint, jobs: Sequence[Job] = (), removed_jobs: Sequence[str] = ()
) -> DecideBulkChange:
    """The same decision whatever there is."""
    return lambda _: BulkChange(jobs, [ChangedEndpoint(one) for one in endpoints], removed_jobs)


class BulkChangeContract(Contract):
    """`change_in_bulk`."""

    async def seen(self, bench: Bench, scope: BulkScope) -> BulkState:
        """What is shown for a scope."""
        estates: list[BulkState] = []

        def look(current: BulkState) -> BulkChange:
            estates.append(current)
            return BulkChange()

        await bench.store.catalog.change_in_bulk("default", scope, look)
        return estates[-1]

    async def test_an_estate_holds_the_jobs_that_were_named_with_their_endpoints(self, bench: Bench) -> None:
        job = Job(id="job", name="job")
        for one in (job, Job(id="other", name="other"), Job(id="job", name="foreign", tenant_id="stranger")):
            await bench.store.catalog.add_job(one)
        inside = [await bench.add(name, job_id="job", archived=name == "b") for name in ("a", "b")]
        named = await bench.add("c", job_id="other")
        await bench.add("d", job_id="other")
        await bench.add("e", job_id="other", archived=True)
        await bench.add("f", job_id="job", tenant_id="stranger")
        current = await self.seen(bench, BulkScope(frozenset({"job", "none"}), frozenset({"c", "f", "none"})))
        assert current.jobs == {"job": job}
        assert current.endpoints == {one.id: one for one in (*inside, named)}
        assert current.elsewhere == 1

    async def test_an_estate_holds_the_jobs_that_a_file_wrote_when_they_are_asked_for(
        self, bench: Bench
    ) -> None:
        for id_, tenant_id, applied in (
            ("applied", "default", True),
            ("plain", "default", False),
            ("foreign", "stranger", True),
        ):
            await bench.store.catalog.add_job(Job(id=id_, name=id_, tenant_id=tenant_id, applied=applied))
        await bench.add("a", job_id="applied")
        await bench.add("b", job_id="plain")
        current = await self.seen(bench, BulkScope(applied=True))
        assert (list(current.jobs), list(current.endpoints), current.elsewhere) == (["applied"], ["a"], 1)
        current = await self.seen(bench, BulkScope(frozenset({"plain"}), applied=True))
        assert (sorted(current.jobs), sorted(current.endpoints)) == (["applied", "plain"], ["a", "b"])

    async def test_an_empty_extent_holds_nothing_and_counts_what_is_live(self, bench: Bench) -> None:
        for name in ("a", "b", "c"):
            await bench.add(name, archived=name == "c")
        assert await self.seen(bench, BulkScope()) == BulkState({}, {}, 2)

    async def test_what_is_decided_is_written_and_answered(self, bench: Bench) -> None:
        await bench.store.catalog.add_job(Job(id="gone", name="gone"))
        await bench.store.catalog.add_job(Job(id="job", name="job"))
        old = await bench.add("old", job_id="job", labels={"team": "red"})
        changed, new_job = Job(id="job", name="new name"), Job(id="new", name="new", applied=True)
        amended = evolve(old, description="changed", labels={"team": "blue"}, failure_count=3)
        new = an_endpoint("new", job_id="new", labels={"team": "blue"})
        decide = always(amended, new, jobs=[changed, new_job], removed_jobs=["gone"])
        answer = await bench.store.catalog.change_in_bulk(
            "default", BulkScope(frozenset({"job", "gone", "new"})), decide
        )
        assert [one.endpoint for one in answer.endpoints] == [amended, new]
        assert await bench.store.catalog.jobs("default") == [changed, new_job] == list(answer.jobs)
        assert await bench.fresh(old) == amended
        assert await bench.fresh(new) == new
        blue = EndpointFilter(labels={"team": "blue"})
        assert [one.id for one in await bench.store.catalog.find("default", wanted=blue)] == ["new", "old"]

    async def test_all_that_it_records_is_kept_with_it(self, bench: Bench) -> None:
        old, new = await bench.add("old", job_id="job"), an_endpoint("new", job_id="job")

        def with_records(endpoint: Endpoint) -> ChangedEndpoint:
            passed = SkippedSlot(bench.ms(0), Source.FIRST, "why", bench.ms(1))
            return ChangedEndpoint(endpoint, (passed,), HintRecord(HintKind.CLEAR, bench.ms(0), endpoint.id))

        await bench.store.catalog.change_in_bulk(
            "default", JOB, lambda _: BulkChange(endpoints=[with_records(old), with_records(new)])
        )
        for endpoint in (old, new):
            assert [one.origin for one in await bench.store.runs.hints(endpoint.key)] == [endpoint.id]
            assert [run.reason for run in await bench.runs(endpoint)] == ["why"]

    async def test_a_decision_that_raises_changes_nothing(self, bench: Bench) -> None:
        await bench.store.catalog.add_job(Job(id="job", name="job"))

        def refuse(_: BulkState) -> BulkChange:
            raise Conflict("not now")

        with pytest.raises(Conflict, match="not now"):
            await bench.store.catalog.change_in_bulk("default", JOB, refuse)
        assert [job.id for job in await bench.store.catalog.jobs("default")] == ["job"]

    async def test_a_new_endpoint_whose_key_is_taken_elsewhere_is_a_conflict_and_nothing_is_written(
        self, bench: Bench
    ) -> None:
        await bench.store.catalog.add_job(Job(id="gone", name="gone"))
        taken = await bench.add("taken", job_id="elsewhere", description="first")
        old = await bench.add("old", job_id="job")
        decide = always(
            an_endpoint("fresh"),
            evolve(old, description="changed"),
            evolve(taken, description="second"),
            jobs=[Job(id="job", name="job")],
            removed_jobs=["gone"],
        )
        with pytest.raises(Conflict, match="There is an endpoint taken already"):
            await bench.store.catalog.change_in_bulk("default", JOB, decide)
        assert [job.id for job in await bench.store.catalog.jobs("default")] == ["gone"]
        assert await bench.fresh(taken) == taken
        assert await bench.fresh(old) == old
        with pytest.raises(NotFound):
            await bench.store.endpoints.get(EndpointKey("default", "fresh"))

    async def test_another_tenants_things_are_neither_seen_nor_touched(self, bench: Bench) -> None:
        await bench.store.catalog.add_job(Job(id="job", name="foreign", tenant_id="stranger"))
        foreign = await bench.add("same", tenant_id="stranger", job_id="job", labels={"team": "red"})
        await bench.store.catalog.change_in_bulk(
            "default", JOB, always(an_endpoint("same", job_id="job"), jobs=[Job(id="job", name="own")])
        )
        await bench.store.catalog.change_in_bulk("default", JOB, always(removed_jobs=["job"]))
        assert (await bench.store.catalog.job("stranger", "job")).name == "foreign"
        assert await bench.fresh(foreign) == foreign
        red = EndpointFilter(labels={"team": "red"})
        assert len(await bench.store.catalog.find("stranger", wanted=red)) == 1

    async def test_endpoints_follow_the_jobs_that_are_written_with_them(self, bench: Bench) -> None:
        off = Job(id="job", name="job", active=False)
        untouched = await bench.add("untouched", job_id="job")
        moved = await bench.add("moved", job_id="other")
        decide = always(evolve(moved, job_id="job"), an_endpoint("new", job_id="job"), jobs=[off])
        answer = await bench.store.catalog.change_in_bulk(
            "default", BulkScope(frozenset({"job", "other"})), decide
        )
        assert [one.endpoint.job_active for one in answer.endpoints] == [False, False]
        assert await bench.claim() == []
        await bench.store.catalog.change_in_bulk("default", JOB, always(jobs=[replace(off, active=True)]))
        assert {claim.endpoint.id for claim in await bench.claim()} == {untouched.id, "moved", "new"}

    async def test_endpoints_follow_jobs_beyond_the_extent(self, bench: Bench) -> None:
        await bench.store.catalog.add_job(Job(id="off", name="off", active=False))
        await bench.store.catalog.change_in_bulk(
            "default", BulkScope(), always(an_endpoint("new", job_id="off"))
        )
        assert await bench.claim() == []

    async def test_endpoints_whose_job_goes_without_them_go_their_own_way(self, bench: Bench) -> None:
        await bench.store.catalog.add_job(Job(id="job", name="job", active=False))
        endpoint = await bench.add(job_id="job")
        await bench.store.catalog.change_in_bulk("default", JOB, always(removed_jobs=["job"]))
        assert (await bench.claim_one()).key == endpoint.key

    async def test_a_run_in_flight_ends_though_its_endpoint_was_changed(self, bench: Bench) -> None:
        endpoint = await bench.add(job_id="job")
        claim = await bench.claim_one()

        def describe(current: BulkState) -> BulkChange:
            fresh = current.endpoints[endpoint.id]
            return BulkChange(endpoints=[ChangedEndpoint(evolve(fresh, description="changed"))])

        await bench.store.catalog.change_in_bulk("default", JOB, describe)
        (settled,) = await bench.end(claim)
        assert settled is not None
        assert settled.endpoint.description == "changed"

    async def test_decisions_at_once_are_made_one_after_the_other(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        await bench.store.catalog.add_job(Job(id="job", name="job", description=""))
        await bench.add("a", job_id="job", description="")

        def longer(current: BulkState) -> BulkChange:
            job, endpoint = current.jobs["job"], current.endpoints["a"]
            job = replace(job, description=f"{job.description}x")
            return BulkChange(
                [job], [ChangedEndpoint(evolve(endpoint, description=f"{endpoint.description}x"))]
            )

        def longer_alone(endpoint: Endpoint) -> ChangedEndpoint:
            return ChangedEndpoint(evolve(endpoint, description=f"{endpoint.description}y"))

        deciding = [store.catalog.change_in_bulk("default", JOB, longer) for store in [*peers] * 4]
        amending = [
            store.endpoints.amend(EndpointKey("default", "a"), longer_alone) for store in [*peers] * 4
        ]
        switching = [
            store.catalog.amend_job(
                "default", "job", lambda job: replace(job, description=f"{job.description}z")
            )
            for store in peers
        ]
        await asyncio.gather(*deciding, *amending, *switching)
        described = (await bench.store.endpoints.get(EndpointKey("default", "a"))).description or ""
        assert (described.count("x"), described.count("y")) == (4 * len(peers), 4 * len(peers))
        described = (await bench.store.catalog.job("default", "job")).description or ""
        assert (described.count("x"), described.count("z")) == (4 * len(peers), len(peers))

    async def test_of_decisions_at_once_that_count_never_one_too_many_is_kept(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        def at_most_five(number: int) -> DecideBulkChange:
            new = ChangedEndpoint(an_endpoint(f"endpoint-{number:02}", job_id="job"))
            return lambda current: BulkChange(endpoints=[new] if current.elsewhere < 5 else [])

        await asyncio.gather(
            *(
                store.catalog.change_in_bulk("default", BulkScope(), at_most_five(number))
                for number, store in enumerate([*peers] * 4)
            )
        )
        assert len(await bench.store.catalog.find("default")) == 5

    @pytest.mark.parametrize("new", [True, False], ids=["added", "moved"])
    async def test_the_bell_rings_when_something_is_added_or_a_next_run_moves(
        self, bench: Bench, *, new: bool
    ) -> None:
        endpoint = an_endpoint("a", job_id="job", next_run_at=bench.ms(60 * MINUTE))
        if not new:
            await bench.store.endpoints.add(endpoint)
        async with bench.wakes_workers():
            await bench.store.catalog.change_in_bulk(
                "default", JOB, always(evolve(endpoint, next_run_at=bench.ms(0)))
            )
