"""What an owner has: found by job and label, and changed together."""

import asyncio
from collections.abc import Sequence

import pytest

from cadenza.domain.errors import Conflict
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus, SkippedSlot
from cadenza.domain.scheduling.steer import ChangedEndpoint, HintRecord
from cadenza.ports.catalog import EVERY_ENDPOINT, EndpointFilter, Page
from cadenza.ports.store import Store
from cadenza.testing.contracts.catalog.admission import AdmissionContract
from cadenza.testing.contracts.catalog.bulk_change import BulkChangeContract
from cadenza.testing.contracts.catalog.history import HistoryContract
from cadenza.testing.contracts.catalog.jobs import JobContract
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract


def labelled(**labels: str) -> EndpointFilter:
    return EndpointFilter(labels=labels)


def failed_once_more(endpoint: Endpoint) -> ChangedEndpoint:
    return ChangedEndpoint(evolve(endpoint, failure_count=endpoint.failure_count + 1))


class FindingContract(Contract):
    """`find`."""

    async def found(self, bench: Bench, wanted: EndpointFilter, page: Page | None = None) -> list[str]:
        return [
            one.id for one in await bench.store.catalog.find("default", wanted=wanted, page=page or Page())
        ]

    async def test_endpoints_are_found_by_a_label_and_its_value(self, bench: Bench) -> None:
        await bench.add("b", labels={"team": "red"})
        await bench.add("a", labels={"team": "red", "tier": ""})
        await bench.add("c", labels={"team": "blue"})
        await bench.add("d")
        await bench.add("e", labels={"team": "red"}, tenant_id="stranger")
        assert await self.found(bench, labelled(team="red")) == ["a", "b"]
        assert await self.found(bench, labelled(tier="")) == ["a"]
        assert await self.found(bench, labelled(colour="red")) == []

    async def test_all_of_several_labels_must_be_there(self, bench: Bench) -> None:
        await bench.add("both", labels={"team": "red", "tier": "one"})
        await bench.add("one", labels={"team": "red"})
        await bench.add("other", labels={"team": "blue", "tier": "one"})
        assert await self.found(bench, labelled(team="red", tier="one")) == ["both"]

    async def test_labels_and_job_narrow_together_page_by_page(self, bench: Bench) -> None:
        for number in range(12):
            team, job = "red" if number % 2 else "blue", "even" if number % 3 else "third"
            await bench.add(f"endpoint-{number:02}", labels={"team": team}, job_id=job)
        wanted = EndpointFilter("even", {"team": "red"})
        names = [f"endpoint-{number:02}" for number in (1, 5, 7, 11)]
        assert await self.found(bench, wanted) == names
        assert await self.found(bench, wanted, Page(3)) == names[:3]
        assert await self.found(bench, wanted, Page(3, after=names[2])) == names[3:]

    async def test_a_label_that_was_changed_is_found_as_it_is_now(self, bench: Bench) -> None:
        endpoint = await bench.add("a", labels={"team": "red", "tier": "one"})
        await bench.store.endpoints.amend(
            endpoint.key, lambda fresh: ChangedEndpoint(evolve(fresh, labels={"team": "blue", "tier": "one"}))
        )
        assert (await bench.fresh(endpoint)).labels == {"team": "blue", "tier": "one"}
        assert await self.found(bench, labelled(team="red")) == []
        assert await self.found(bench, labelled(team="blue", tier="one")) == ["a"]
        await bench.store.endpoints.amend(
            endpoint.key, lambda fresh: ChangedEndpoint(evolve(fresh, labels={}))
        )
        assert await self.found(bench, labelled(tier="one")) == []

    @pytest.mark.parametrize("labels", [{}, {"team": "red"}], ids=["all", "labelled"])
    async def test_what_was_deleted_is_found_when_it_is_asked_for(
        self, bench: Bench, labels: dict[str, str]
    ) -> None:
        await bench.add("live", labels=labels)
        await bench.add("deleted", labels=labels, archived=True)
        assert await self.found(bench, EndpointFilter(labels=labels)) == ["live"]
        assert await self.found(bench, EndpointFilter(labels=labels, archived=True)) == ["deleted"]
        assert await self.found(bench, EndpointFilter(labels=labels, archived=None)) == ["deleted", "live"]

    async def test_a_page_is_filled_though_much_before_it_was_deleted(self, bench: Bench) -> None:
        for number in range(8):
            await bench.add(f"endpoint-{number}", archived=number < 5)
        assert await self.found(bench, EVERY_ENDPOINT, Page(2)) == ["endpoint-5", "endpoint-6"]


class AmendingContract(Contract):
    """`amend_all`."""

    async def test_a_change_is_applied_to_all_that_are_wanted_and_to_nothing_else(self, bench: Bench) -> None:
        for name in ("a", "b"):
            await bench.add(name, labels={"team": "red"})
        others = [await bench.add("c"), await bench.add("a", labels={"team": "red"}, tenant_id="stranger")]
        amended = await bench.store.catalog.amend_all(
            "default", failed_once_more, wanted=labelled(team="red")
        )
        assert [(one.endpoint.id, one.endpoint.failure_count) for one in amended] == [("a", 1), ("b", 1)]
        assert [(await bench.fresh(one.endpoint)) for one in amended] == [one.endpoint for one in amended]
        assert [(await bench.fresh(one)).failure_count for one in others] == [0, 0]

    async def test_a_change_is_applied_page_by_page(self, bench: Bench) -> None:
        for name in ("a", "b", "c"):
            await bench.add(name)
        page = Page(2)
        for ids in (["a", "b"], ["c"], []):
            amended = await bench.store.catalog.amend_all(
                "default", failed_once_more, wanted=EVERY_ENDPOINT, page=page
            )
            assert [one.endpoint.id for one in amended] == ids
            page = Page(2, after=ids[-1] if ids else None)
        assert {one.failure_count for one in await bench.store.catalog.find("default")} == {1}

    async def test_all_that_a_change_records_is_kept_with_it(self, bench: Bench) -> None:
        endpoints = [await bench.add(name) for name in ("a", "b")]

        def change(endpoint: Endpoint) -> ChangedEndpoint:
            passed = SkippedSlot(bench.ms(0), Source.FIRST, "why", bench.ms(1))
            record = HintRecord(HintKind.PAUSE, bench.ms(0), endpoint.id)
            return ChangedEndpoint(evolve(endpoint, labels={"team": "red"}), (passed,), record)

        await bench.store.catalog.amend_all("default", change, wanted=EVERY_ENDPOINT)
        for endpoint in endpoints:
            assert [one.origin for one in await bench.store.runs.hints(endpoint.key)] == [endpoint.id]
            (run,) = await bench.runs(endpoint)
            assert (run.status, run.reason) == (RunStatus.SKIPPED, "why")
        assert len(await bench.store.catalog.find("default", wanted=labelled(team="red"))) == 2

    async def test_a_change_that_raises_for_one_changes_none(self, bench: Bench) -> None:
        for name in ("a", "b"):
            await bench.add(name)

        def not_b(endpoint: Endpoint) -> ChangedEndpoint:
            if endpoint.id == "b":
                raise Conflict("not now")
            return failed_once_more(endpoint)

        with pytest.raises(Conflict, match="not now"):
            await bench.store.catalog.amend_all("default", not_b, wanted=EVERY_ENDPOINT)
        assert {one.failure_count for one in await bench.store.catalog.find("default")} == {0}

    async def test_changes_at_once_are_all_applied(self, bench: Bench, peers: Sequence[Store]) -> None:
        for number in range(20):
            await bench.add(f"endpoint-{number:02}", labels={"team": "red"})

        async def alone(store: Store) -> None:
            for endpoint in reversed(await store.catalog.find("default")):
                await store.endpoints.amend(endpoint.key, failed_once_more)

        together = [
            store.catalog.amend_all("default", failed_once_more, wanted=labelled(team="red"))
            for store in [*peers] * 3
        ]
        await asyncio.gather(*together, *map(alone, peers))
        assert {one.failure_count for one in await bench.store.catalog.find("default")} == {4 * len(peers)}

    async def test_the_bell_rings_when_one_of_many_next_runs_moves(self, bench: Bench) -> None:
        for name in ("a", "b"):
            await bench.add(name, next_run_at=bench.ms(60 * MINUTE))

        def sooner(endpoint: Endpoint) -> ChangedEndpoint:
            return ChangedEndpoint(
                evolve(endpoint, next_run_at=bench.ms(0)) if endpoint.id == "b" else endpoint
            )

        async with bench.wakes_workers():
            await bench.store.catalog.amend_all("default", sooner, wanted=EVERY_ENDPOINT)


class CatalogContract(
    JobContract, AdmissionContract, FindingContract, AmendingContract, BulkChangeContract, HistoryContract
):
    """All that a store promises about what an owner has."""
