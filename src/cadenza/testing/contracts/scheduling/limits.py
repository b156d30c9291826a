"""Limits of runs and priorities: what may be claimed, by any number of workers at once."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from cadenza.domain.access.run_limit import WINDOW, LimitKind, LimitUse, RunLimit
from cadenza.domain.errors import LimitReached, NotFound
from cadenza.domain.scheduling.abandon import Trial, limited_requirements, tried_requirements
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import HeartbeatTarget, HttpTarget
from cadenza.domain.validation import milliseconds
from cadenza.ports.store import Store
from cadenza.testing.contracts.harness import LEASE_MS, Bench, Contract

NOOP = "callable:noop"
(ORDERED,) = limited_requirements([NOOP])
WINDOW_MS = WINDOW / milliseconds(1)


async def put(bench: Bench, name: str = "shop", kind: LimitKind = LimitKind.JOB, **numbers: Any) -> RunLimit:
    """Add a limit, or change its numbers."""
    tenant_id = numbers.pop("tenant_id", "default")
    limit = RunLimit(tenant_id=tenant_id, kind=kind, name=name, created_at=bench.clock.now(), **numbers)
    await bench.store.limits.put_limit(limit)
    return limit


async def add_many(bench: Bench, count: int, **fields: Any) -> list[Endpoint]:
    """Add endpoints of one job that are due."""
    given = {"job_id": "shop"} | fields
    prefix = given.pop("prefix", "e")
    return [await bench.add(f"{prefix}{number}", **given) for number in range(count)]


async def amend(bench: Bench, endpoint: Endpoint, **fields: Any) -> None:
    """Change fields of a stored endpoint."""
    await bench.store.endpoints.amend(endpoint.key, lambda one: ChangedEndpoint(evolve(one, **fields)))


async def use_of(bench: Bench, key: str = "job:shop", tenant_id: str = "default") -> LimitUse:
    """How much of a limit is in use."""
    uses = await bench.store.limits.uses(tenant_id, bench.clock.now())
    return next(use for use in uses if use.limit.key == key)


def names(claims: Sequence[Claim]) -> list[str]:
    return [claim.endpoint.id for claim in claims]


class LimitContract(Contract):
    """Limits are kept exactly, and hold nothing back that they are not about."""

    async def test_no_more_are_in_flight_than_the_limit_allows(self, bench: Bench) -> None:
        await add_many(bench, 5)
        await put(bench, max_in_flight=2)
        first = await bench.claim()
        assert (len(first), await bench.claim()) == (2, [])
        await bench.end(first[0])
        assert len(await bench.claim()) == 1
        assert (await use_of(bench)).in_flight == 2

    async def test_every_kind_of_limit_is_kept_and_an_endpoint_may_be_under_several(
        self, bench: Bench
    ) -> None:
        for number in range(4):
            target = HttpTarget(f"https://Api.example.com:8443/{number}")
            await bench.add(f"e{number}", target=target, job_id=f"job-{number}", limit_key="billing")
        await put(bench, "api.example.com", LimitKind.HOST, max_in_flight=3)
        await put(bench, "billing", LimitKind.KEY, max_in_flight=2)
        await put(bench, "job-0", LimitKind.JOB, max_in_flight=1)
        claims = await bench.claim()
        assert names(claims) == ["e0", "e1"]
        assert claims[0].endpoint.limited_by == ("host:api.example.com", "job:job-0", "key:billing")
        assert (await use_of(bench, "host:api.example.com")).in_flight == 2

    async def test_no_more_begin_in_a_minute_than_the_limit_allows(self, bench: Bench) -> None:
        await add_many(bench, 5)
        await put(bench, max_per_minute=2)
        await bench.end(*await bench.claim())
        bench.pass_ms(WINDOW_MS - 1)
        assert await bench.claim() == []
        bench.pass_ms(1)
        assert len(await bench.claim()) == 2

    async def test_of_workers_at_once_all_together_keep_the_limits(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        await add_many(bench, 12)
        await add_many(bench, 12, job_id="paced", prefix="p")
        await put(bench, max_in_flight=5)
        await put(bench, "paced", max_per_minute=7)
        claimed = dict[str, int]()
        for _ in range(6):
            batches = await asyncio.gather(*(bench.claim(store=peer, limit=3) for peer in peers))
            for claim in (one for batch in batches for one in batch):
                claimed[claim.endpoint.job_id] = claimed.get(claim.endpoint.job_id, 0) + 1
        assert claimed == {"shop": 5, "paced": 7}

    async def test_what_a_limit_holds_back_hides_nothing_else(self, bench: Bench) -> None:
        await add_many(bench, 30)
        await put(bench, max_in_flight=1)
        await bench.claim()
        await put(bench, "other", max_in_flight=1)
        await bench.add("other", job_id="other", next_run_at=bench.ms(0))
        await bench.add("free", next_run_at=bench.ms(0))
        assert sorted(names(await bench.claim(limit=2))) == ["free", "other"]

    async def test_what_is_held_back_stays_due_and_opens_no_run(self, bench: Bench) -> None:
        held = (await add_many(bench, 2))[1]
        await put(bench, max_in_flight=1)
        await bench.claim()
        assert await bench.claim() == []
        assert (await bench.fresh(held)).next_run_at == held.next_run_at
        assert await bench.runs(held) == []

    async def test_a_lease_that_ran_out_holds_its_place_until_it_is_swept(self, bench: Bench) -> None:
        await add_many(bench, 3)
        await put(bench, max_in_flight=2)
        await bench.claim()
        bench.pass_ms(LEASE_MS)
        assert await bench.claim() == []
        await bench.sweep()
        assert (await use_of(bench)).in_flight == 0
        assert len(await bench.claim()) == 2

    async def test_a_suspect_under_a_limit_is_tried_within_it(self, bench: Bench) -> None:
        for name in ("one", "other"):
            await bench.add(name, job_id="shop", abandoned_count=1)
        await put(bench, max_in_flight=1)
        tried = tried_requirements([NOOP, ORDERED], Trial.FEW)
        assert len(await bench.claim(can_run=tried)) == 1
        assert await bench.claim(can_run=tried) == []

    async def test_endpoints_without_a_limit_are_claimed_as_ever(self, bench: Bench) -> None:
        await put(bench, max_in_flight=1)
        await add_many(bench, 1)
        await bench.add("free")
        assert names(await bench.claim(can_run=[NOOP])) == ["free"]
        assert names(await bench.claim(can_run=[ORDERED])) == ["e0"]

    async def test_the_next_due_moment_within_limits_is_their_own(self, bench: Bench) -> None:
        await put(bench, max_in_flight=1)
        await add_many(bench, 1, next_run_at=bench.ms(5_000))
        await bench.add("free")
        assert await bench.store.endpoints.next_due([ORDERED]) == bench.ms(5_000)
        assert await bench.store.endpoints.next_due([NOOP]) == bench.ms(0)

    async def test_nothing_is_claimed_within_limits_before_its_moment(self, bench: Bench) -> None:
        await put(bench, max_in_flight=1)
        await add_many(bench, 1, next_run_at=bench.ms(1))
        assert await bench.claim(within_ms=1_000) == []
        bench.pass_ms(1)
        (claim,) = await bench.claim()
        assert claim.started_at == claim.due_at == bench.clock.now()


class LimitChangeContract(Contract):
    """Limits are added, changed and deleted while endpoints are due and in flight."""

    async def test_a_limit_counts_what_was_in_flight_when_it_was_added(self, bench: Bench) -> None:
        await add_many(bench, 4)
        first = await bench.claim(limit=2)
        await put(bench, max_in_flight=2)
        assert (await use_of(bench)).in_flight == 2
        assert await bench.claim() == []
        await bench.end(*first)
        assert len(await bench.claim()) == 2

    async def test_a_lower_number_waits_until_enough_have_ended(self, bench: Bench) -> None:
        await add_many(bench, 5)
        await put(bench, max_in_flight=3)
        first = await bench.claim()
        await put(bench, max_in_flight=1)
        await bench.end(*first[:2])
        assert await bench.claim() == []
        await bench.end(first[2])
        assert len(await bench.claim()) == 1

    async def test_without_its_limit_an_endpoint_is_free(self, bench: Bench) -> None:
        await add_many(bench, 3)
        limit = await put(bench, max_in_flight=1, max_per_minute=1)
        await bench.claim()
        deleted = await bench.store.limits.delete_limit("default", LimitKind.JOB, "shop")
        assert (deleted.key, deleted.max_in_flight) == (limit.key, 1)
        assert len(await bench.claim(can_run=[NOOP])) == 2
        assert await bench.store.limits.limits("default") == []
        with pytest.raises(NotFound):
            await bench.store.limits.delete_limit("default", LimitKind.JOB, "shop")

    async def test_an_endpoint_that_moves_comes_under_other_limits(self, bench: Bench) -> None:
        (endpoint,) = await add_many(bench, 1)
        await put(bench, max_in_flight=1)
        await put(bench, "billing", LimitKind.KEY, max_in_flight=1)
        await put(bench, "example.com", LimitKind.HOST, max_in_flight=1)
        for fields, expected in (
            ({"limit_key": "billing"}, ("job:shop", "key:billing")),
            ({"job_id": "elsewhere"}, ("key:billing",)),
            ({"target": HttpTarget("http://example.com/")}, ("host:example.com", "key:billing")),
            ({"limit_key": None, "target": HttpTarget("http://127.0.0.1/")}, ()),
        ):
            await amend(bench, endpoint, **fields)
            assert (await bench.fresh(endpoint)).limited_by == expected

    async def test_a_deleted_endpoint_that_comes_back_is_under_its_limits(self, bench: Bench) -> None:
        (endpoint,) = await add_many(bench, 1)
        await put(bench, max_in_flight=1)
        await bench.store.endpoints.amend(
            endpoint.key, lambda one: ChangedEndpoint(evolve(one, archived=True))
        )
        await bench.store.endpoints.amend(endpoint.key, lambda _: ChangedEndpoint(endpoint))
        assert (await bench.fresh(endpoint)).limited_by == ("job:shop",)

    async def test_a_heartbeat_starts_no_runs_and_is_under_no_limit(self, bench: Bench) -> None:
        beat = await bench.add("beat", job_id="shop", target=HeartbeatTarget(), priority=3)
        await put(bench, max_in_flight=1)
        assert (await bench.fresh(beat)).limited_by == ()
        assert names(await bench.claim(can_run=["heartbeat"])) == ["beat"]

    async def test_limits_are_those_of_their_tenant(self, bench: Bench) -> None:
        await put(bench, max_in_flight=1)
        await add_many(bench, 2, tenant_id="other")
        assert len(await bench.claim(can_run=[NOOP])) == 2
        assert await bench.store.limits.uses("other", bench.clock.now()) == []
        with pytest.raises(NotFound):
            await bench.store.limits.delete_limit("other", LimitKind.JOB, "shop")

    async def test_a_change_is_told_with_what_was_before_and_keeps_when_it_was_added(
        self, bench: Bench
    ) -> None:
        added = await put(bench, max_in_flight=1)
        bench.pass_ms(1_000)
        changed = RunLimit(
            tenant_id="default",
            kind=LimitKind.JOB,
            name="shop",
            max_per_minute=5,
            created_at=bench.clock.now(),
        )
        assert await bench.store.limits.put_limit(changed) == added
        (stored,) = await bench.store.limits.limits("default")
        assert (stored.max_in_flight, stored.max_per_minute) == (None, 5)
        assert stored.created_at == added.created_at

    async def test_a_tenant_has_a_bounded_number_of_limits(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("memory", "sql"):
            monkeypatch.setattr(f"cadenza.adapters.stores.{module}.access.limits.MOST_LIMITS", 2)
        await put(bench, "a", max_in_flight=1)
        await put(bench, "b", max_in_flight=1)
        await put(bench, "b", max_in_flight=2)
        with pytest.raises(LimitReached):
            await put(bench, "c", max_in_flight=1)
        await put(bench, "c", max_in_flight=1, tenant_id="other")

    async def test_workers_are_woken_for_a_changed_limit(self, bench: Bench) -> None:
        await put(bench, max_in_flight=1)
        async with bench.wakes_workers():
            await put(bench, max_in_flight=2)

    async def test_workers_are_woken_for_a_deleted_limit(self, bench: Bench) -> None:
        await put(bench, max_in_flight=1)
        async with bench.wakes_workers():
            await bench.store.limits.delete_limit("default", LimitKind.JOB, "shop")
