"""What must hold for a new endpoint to be kept."""

import asyncio
from collections.abc import Sequence

import pytest

from cadenza.domain.errors import Conflict, LimitReached, NotAllowed, NotFound
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.endpoint import Job, evolve
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.catalog import Admission, EndpointFilter
from cadenza.ports.store import Store
from cadenza.testing.builders import an_endpoint
from cadenza.testing.contracts.harness import Bench, Contract


class AdmissionContract(Contract):
    """`add` with an admission."""

    async def test_a_job_that_must_exist_and_does_not_keeps_an_endpoint_out(self, bench: Bench) -> None:
        known = Admission(known_job=True)
        await bench.store.catalog.add_job(Job(id="job", name="job", tenant_id="stranger"))
        with pytest.raises(NotFound, match="Job job not found"):
            await bench.store.endpoints.add(an_endpoint(job_id="job"), known)
        assert await bench.store.catalog.find("default") == []
        await bench.store.catalog.add_job(Job(id="job", name="job"))
        await bench.store.endpoints.add(an_endpoint(job_id="job"), known)
        assert len(await bench.store.catalog.find("default")) == 1

    async def test_a_tenant_has_no_more_endpoints_than_it_may(self, bench: Bench) -> None:
        two = Admission(most=2)
        await bench.add("stranger", tenant_id="stranger")
        for name in ("a", "b"):
            await bench.store.endpoints.add(an_endpoint(name), two)
        with pytest.raises(NotAllowed, match="at most 2 endpoints"):
            await bench.store.endpoints.add(an_endpoint("c"), two)
        await bench.store.endpoints.add(an_endpoint("c"), Admission(most=3))
        assert [one.id for one in await bench.store.catalog.find("default")] == ["a", "b", "c"]

    async def test_a_tenant_that_may_have_none_has_none(self, bench: Bench) -> None:
        with pytest.raises(NotAllowed):
            await bench.store.endpoints.add(an_endpoint(), Admission(most=0))

    async def test_what_was_deleted_does_not_count(self, bench: Bench) -> None:
        first = await bench.add("first")
        with pytest.raises(NotAllowed):
            await bench.store.endpoints.add(an_endpoint("second"), Admission(most=1))
        await bench.store.endpoints.amend(
            first.key, lambda fresh: ChangedEndpoint(evolve(fresh, archived=True))
        )
        await bench.store.endpoints.add(an_endpoint("second"), Admission(most=1))

    async def test_what_has_done_its_duty_does_not_count(self, bench: Bench) -> None:
        """A tenant whose users set reminders every day would else run out of room by what is long over."""
        first = await bench.add("first", baseline=Once(bench.clock.now()))
        with pytest.raises(NotAllowed):
            await bench.store.endpoints.add(an_endpoint("second"), Admission(most=1))
        await bench.run_once()
        assert (await bench.fresh(first)).next_source is Source.FINISHED
        await bench.store.endpoints.add(an_endpoint("second"), Admission(most=1))
        assert await bench.store.tenants.count_endpoints("default", 10) == 1

    async def test_a_key_that_is_taken_is_said_to_be_so_also_when_there_are_too_many(
        self, bench: Bench
    ) -> None:
        await bench.add("first")
        with pytest.raises(Conflict):
            await bench.store.endpoints.add(an_endpoint("first"), Admission(most=1))

    async def test_what_was_refused_leaves_nothing_behind(self, bench: Bench) -> None:
        wanted = EndpointFilter(labels={"team": "a"}, archived=None)
        with pytest.raises(NotAllowed):
            await bench.store.endpoints.add(an_endpoint(labels={"team": "a"}), Admission(most=0))
        assert await bench.store.catalog.find("default", wanted=wanted) == []
        assert await bench.claim() == []
        await bench.store.endpoints.add(an_endpoint(labels={"team": "a"}))
        assert len(await bench.store.catalog.find("default", wanted=wanted)) == 1

    async def test_of_endpoints_that_come_at_once_never_one_too_many_is_kept(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        comers = [
            store.endpoints.add(an_endpoint(f"endpoint-{number:02}"), Admission(most=5))
            for number, store in enumerate([*peers] * 4)
        ]
        answers = await asyncio.gather(*comers, return_exceptions=True)
        assert len([one for one in answers if one is None]) == 5
        assert {type(one) for one in answers if one is not None} == {LimitReached}
        assert len(await bench.store.catalog.find("default")) == 5
