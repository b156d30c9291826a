"""Jobs, and the endpoints that follow them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from cadenza.domain.errors import Conflict, NotFound
from cadenza.domain.scheduling.endpoint import Endpoint, Job, evolve
from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint, HintRecord
from cadenza.ports.catalog import EVERY_ENDPOINT, Page
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Bench, Contract


def archived(endpoint: Endpoint) -> ChangedEndpoint:
    """The endpoint archived, with a record in its history."""
    return ChangedEndpoint(
        evolve(endpoint, archived=True), record=HintRecord(HintKind.CLEAR, NEW_YEAR, "archiving")
    )


class JobContract(Contract):
    """`add_job`, `job`, `jobs`, `amend_job` and `remove_job`."""

    async def add_jobs(self, bench: Bench, *ids: str, tenant_id: str = "default") -> None:
        for id_ in ids:
            await bench.store.catalog.add_job(Job(id=id_, name=id_, tenant_id=tenant_id))

    @pytest.mark.parametrize(
        "job",
        [
            Job(id="job", name="a job"),
            Job(
                id="job",
                name="äöü \N{SNOWMAN}",
                tenant_id="tenant",
                active=False,
                description="what it is for",
                applied=True,
                created_at=NEW_YEAR.replace(microsecond=123_456),
                metadata={"team": "web", "runbook": {"steps": [1, 2.5, None, True, "\N{SNOWMAN}"]}},
                pause_origin="key:ab12",
            ),
        ],
        ids=["least", "full"],
    )
    async def test_every_field_of_a_job_comes_back_as_it_was(self, bench: Bench, job: Job) -> None:
        await bench.store.catalog.add_job(job)
        assert await bench.store.catalog.job(job.tenant_id, "job") == job
        assert await bench.store.catalog.jobs(job.tenant_id) == [job]

    async def test_the_id_of_a_job_is_taken_once_in_a_tenant(self, bench: Bench) -> None:
        await self.add_jobs(bench, "job")
        await self.add_jobs(bench, "job", tenant_id="stranger")
        with pytest.raises(Conflict, match="There is a job job already"):
            await bench.store.catalog.add_job(Job(id="job", name="second"))
        assert (await bench.store.catalog.job("default", "job")).name == "job"

    async def test_jobs_are_listed_in_the_order_of_their_ids_page_by_page(self, bench: Bench) -> None:
        await self.add_jobs(bench, "d", "b", "a", "c")
        await self.add_jobs(bench, "e", tenant_id="stranger")
        assert [job.id for job in await bench.store.catalog.jobs("default")] == ["a", "b", "c", "d"]
        assert [job.id for job in await bench.store.catalog.jobs("default", Page(2))] == ["a", "b"]
        assert [job.id for job in await bench.store.catalog.jobs("default", Page(2, after="b"))] == ["c", "d"]
        assert await bench.store.catalog.jobs("nobody") == []

    async def test_a_job_that_the_tenant_does_not_have_is_not_found(self, bench: Bench) -> None:
        await self.add_jobs(bench, "job")
        for tenant_id, job_id in (("stranger", "job"), ("default", "nothing")):
            with pytest.raises(NotFound, match=r"Job .* not found"):
                await bench.store.catalog.job(tenant_id, job_id)
            with pytest.raises(NotFound, match=r"Job .* not found"):
                await bench.store.catalog.amend_job(tenant_id, job_id, lambda job: job)
            with pytest.raises(NotFound, match=r"Job .* not found"):
                await bench.store.catalog.remove_job(tenant_id, job_id, archived)
        assert (await bench.store.catalog.job("default", "job")).active

    async def test_a_change_to_a_job_is_answered_and_kept(self, bench: Bench) -> None:
        await self.add_jobs(bench, "job", "other")
        amended = await bench.store.catalog.amend_job(
            "default", "job", lambda job: replace(job, name="new", description="why", applied=True)
        )
        assert amended == Job(id="job", name="new", description="why", applied=True)
        assert await bench.store.catalog.job("default", "job") == amended
        assert (await bench.store.catalog.job("default", "other")).name == "other"

    async def test_a_change_to_a_job_that_raises_changes_nothing(self, bench: Bench) -> None:
        await self.add_jobs(bench, "job")
        with pytest.raises(Conflict, match="not now"):
            await bench.store.catalog.amend_job("default", "job", refuse)
        assert await bench.store.catalog.job("default", "job") == Job(id="job", name="job")

    async def test_changes_to_one_job_happen_one_after_the_other(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        await self.add_jobs(bench, "job")

        def longer(job: Job) -> Job:
            return replace(job, description=(job.description or "") + "x")

        await asyncio.gather(*(store.catalog.amend_job("default", "job", longer) for store in [*peers] * 5))
        assert (await bench.store.catalog.job("default", "job")).description == "x" * 5 * len(peers)

    async def test_what_is_due_of_a_job_follows_it_and_nothing_else_does(self, bench: Bench) -> None:
        await self.add_jobs(bench, "job", "other")
        await self.add_jobs(bench, "job", tenant_id="stranger")
        for name, job_id, tenant_id in (
            ("a", "job", "default"),
            ("b", "other", "default"),
            ("c", "job", "stranger"),
        ):
            await bench.add(name, job_id=job_id, tenant_id=tenant_id)
        await bench.switch("job", active=False)
        assert [claim.endpoint.id for claim in await bench.claim()] == ["b", "c"]
        await bench.switch("job", active=True)
        assert (await bench.claim_one()).endpoint.id == "a"

    async def test_a_run_in_flight_ends_though_its_job_was_switched_off(self, bench: Bench) -> None:
        await self.add_jobs(bench, "job")
        endpoint = await bench.add(job_id="job")
        claim = await bench.claim_one()
        await bench.switch("job", active=False)
        (settled,) = await bench.end(claim)
        assert settled is not None
        assert settled.run.status is RunStatus.SUCCESS
        assert not (await bench.fresh(endpoint)).job_active

    async def test_an_endpoint_that_moves_to_another_job_follows_that_one(self, bench: Bench) -> None:
        await self.add_jobs(bench, "on", "off")
        await bench.switch("off", active=False)
        endpoint = await bench.add(job_id="on")
        amended = await bench.store.endpoints.amend(
            endpoint.key, lambda fresh: ChangedEndpoint(evolve(fresh, job_id="off"))
        )
        assert not amended.endpoint.job_active
        assert await bench.claim() == []
        await bench.switch("off", active=True)
        assert (await bench.claim_one()).key == endpoint.key

    async def test_endpoints_agree_with_a_job_that_is_switched_while_they_come(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        await self.add_jobs(bench, "job", "other")

        async def add_and_switch(number: int, store: Store) -> None:
            own = Bench(store)
            moved = await own.add(f"moved-{number}", job_id="other")
            await asyncio.gather(
                own.add(f"new-{number}", job_id="job"),
                own.switch("job", active=number % 2 == 0),
                store.endpoints.amend(moved.key, lambda fresh: ChangedEndpoint(evolve(fresh, job_id="job"))),
                own.switch("other", active=number % 2 == 1),
            )

        await asyncio.gather(*(add_and_switch(*one) for one in enumerate([*peers] * 3)))
        job = await bench.store.catalog.job("default", "job")
        endpoints = await bench.store.catalog.find("default")
        assert len(endpoints) == 6 * len(peers)
        assert {(one.job_id, one.job_active) for one in endpoints} == {("job", job.active)}

    async def test_the_bell_rings_when_a_job_is_switched(self, bench: Bench) -> None:
        await self.add_jobs(bench, "job")
        await bench.add(job_id="job")
        await bench.switch("job", active=False)
        async with bench.wakes_workers():
            await bench.switch("job", active=True)

    async def test_a_removed_job_takes_leave_of_each_of_its_endpoints(self, bench: Bench) -> None:
        await self.add_jobs(bench, "job")
        await self.add_jobs(bench, "job", tenant_id="stranger")
        leaving = [await bench.add(name, job_id="job") for name in ("a", "b")]
        staying = [await bench.add("c"), await bench.add("a", job_id="job", tenant_id="stranger")]
        assert await bench.store.catalog.remove_job("default", "job", archived) == 2
        with pytest.raises(NotFound):
            await bench.store.catalog.job("default", "job")
        assert [(await bench.fresh(one)).archived for one in leaving] == [True, True]
        assert [(await bench.fresh(one)).archived for one in staying] == [False, False]
        assert (await bench.store.runs.hints(leaving[0].key))[0].origin == "archiving"
        assert (await bench.store.catalog.job("stranger", "job")).name == "job"

    async def test_what_was_deleted_before_takes_no_leave_again(self, bench: Bench) -> None:
        await self.add_jobs(bench, "job")
        deleted = await bench.add("deleted", job_id="job", archived=True)
        await bench.add("live", job_id="job")
        assert await bench.store.catalog.remove_job("default", "job", archived) == 1
        assert await bench.store.runs.hints(deleted.key) == []

    async def test_a_farewell_that_raises_leaves_the_job_and_all_of_its_endpoints(self, bench: Bench) -> None:
        await self.add_jobs(bench, "job")
        for name in ("a", "b"):
            await bench.add(name, job_id="job")

        def not_b(endpoint: Endpoint) -> ChangedEndpoint:
            if endpoint.id == "b":
                raise Conflict("not now")
            return archived(endpoint)

        with pytest.raises(Conflict, match="not now"):
            await bench.store.catalog.remove_job("default", "job", not_b)
        assert (await bench.store.catalog.job("default", "job")).name == "job"
        assert len(await bench.store.catalog.find("default", wanted=EVERY_ENDPOINT)) == 2

    async def test_endpoints_that_stay_without_their_job_go_their_own_way(self, bench: Bench) -> None:
        await self.add_jobs(bench, "job")
        endpoint = await bench.add(job_id="job")
        await bench.switch("job", active=False)
        assert await bench.store.catalog.remove_job("default", "job", ChangedEndpoint) == 1
        assert (await bench.claim_one()).key == endpoint.key


def refuse(_: Job) -> Job:
    raise Conflict("not now")
