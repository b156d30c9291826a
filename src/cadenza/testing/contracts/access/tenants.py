"""Tenants: their limits, and every dispatched run counted once."""

import asyncio
from collections.abc import Sequence

import pytest

from cadenza.domain.access.tenant import MOST, NO_LIMITS, Limits, MonthlyUsage, QuotaUsage, Tenant
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus
from cadenza.ports.access import UsageOfMonth
from cadenza.ports.store import Store
from cadenza.testing.contracts.harness import LEASE_MS, MINUTE, Bench, Contract

DAY = 24 * 60 * MINUTE
JANUARY, FEBRUARY = "2025-01", "2025-02"
FULL = Limits(endpoints=0, min_interval_ms=1_000, runs_per_month=MOST, planner_tokens_per_month=4)


class TenantContract(Contract):
    """`put_tenant`, `tenant`, `quota_usage`, `spend_tokens`, `usage_by_month` and `count_endpoints`."""

    @pytest.mark.parametrize("limits", [NO_LIMITS, FULL, Limits(runs_per_month=7)])
    async def test_a_tenant_comes_back_as_it_was(self, store: Store, limits: Limits) -> None:
        tenant = Tenant(id="north", name="Norden \N{SNOWMAN}", limits=limits)
        await store.tenants.put_tenant(tenant)
        assert await store.tenants.tenant("north") == tenant

    async def test_a_tenant_that_is_put_again_has_changed(self, store: Store) -> None:
        for limits in (FULL, Limits(endpoints=5), NO_LIMITS):
            changed = Tenant(id="north", name=f"with {limits.endpoints}", limits=limits)
            await store.tenants.put_tenant(changed)
            assert await store.tenants.tenant("north") == changed

    async def test_a_tenant_that_nobody_has_put_is_itself_without_limits(self, store: Store) -> None:
        assert await store.tenants.tenant("north") == Tenant(id="north", name="north")

    async def test_standings_show_limits_and_spending_of_several_tenants(self, bench: Bench) -> None:
        store = bench.store
        await store.tenants.put_tenant(Tenant(id="north", name="north", limits=FULL))
        await store.tenants.spend_tokens("north", 5, bench.ms(0))
        await store.tenants.spend_tokens("south", 7, bench.ms(0))
        await store.tenants.spend_tokens("west", 9, bench.ms(0))
        assert await store.tenants.quota_usage(["north", "south", "east"], JANUARY) == {
            "north": QuotaUsage(FULL, MonthlyUsage(0, 5)),
            "south": QuotaUsage(spent=MonthlyUsage(0, 7)),
            "east": QuotaUsage(),
        }
        assert await store.tenants.quota_usage([], JANUARY) == {}

    async def test_standings_are_about_one_month(self, bench: Bench) -> None:
        await bench.store.tenants.spend_tokens("north", 5, bench.ms(0))
        await bench.store.tenants.spend_tokens("north", 3, bench.ms(31 * DAY))
        assert await standing(bench, month=JANUARY) == MonthlyUsage(0, 5)
        assert await standing(bench, month=FEBRUARY) == MonthlyUsage(0, 3)

    async def test_what_a_planner_used_is_counted_by_whomever(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        counting = [
            peer.tenants.spend_tokens("north", tokens, bench.ms(0)) for peer in peers for tokens in (1, 2)
        ]
        await asyncio.gather(*counting)
        assert await standing(bench) == MonthlyUsage(0, 3 * len(peers))

    @pytest.mark.parametrize("status", ["success", "failure", "timeout"])
    async def test_a_dispatched_run_is_counted_when_it_is_closed(self, bench: Bench, status: str) -> None:
        await bench.add(tenant_id="north")
        claim = await bench.claim_one()
        assert await standing(bench) == MonthlyUsage()
        await bench.end(claim, status=RunStatus(status))
        assert await standing(bench) == MonthlyUsage(runs=1)

    async def test_a_run_is_counted_in_the_month_in_which_it_ended(self, bench: Bench) -> None:
        await bench.add(tenant_id="north")
        bench.pass_ms(31 * DAY - 1_000)
        claim = await bench.claim_one()
        bench.pass_ms(1_000)
        await bench.end(claim)
        assert await standing(bench, month=JANUARY) == MonthlyUsage()
        assert await standing(bench, month=FEBRUARY) == MonthlyUsage(runs=1)

    async def test_the_runs_of_a_batch_are_counted_for_their_own_tenants(self, bench: Bench) -> None:
        for number in range(5):
            await bench.add(f"endpoint-{number}", tenant_id="north" if number < 3 else "south")
        for _ in range(2):
            await bench.end(*await bench.claim())
            bench.pass_ms(MINUTE)
        assert await standing(bench, "north") == MonthlyUsage(runs=6)
        assert await standing(bench, "south") == MonthlyUsage(runs=4)

    async def test_runs_that_were_steered_meanwhile_are_counted_once(self, bench: Bench) -> None:
        endpoints = [await bench.add(name, tenant_id="north") for name in ("a", "b", "c")]
        claims = await bench.claim()
        await bench.tool(endpoints[1], "propose_interval", intervalMs=20_000)
        await bench.end(*claims)
        assert await standing(bench) == MonthlyUsage(runs=3)

    async def test_a_lost_lease_counts_nothing(self, bench: Bench) -> None:
        await bench.add(tenant_id="north")
        claim = await bench.claim_one()
        await bench.end(claim)
        await bench.end(claim)
        assert await standing(bench) == MonthlyUsage(runs=1)

    @pytest.mark.parametrize("status", ["cancelled", "skipped"])
    async def test_what_was_cancelled_or_skipped_costs_nothing(self, bench: Bench, status: str) -> None:
        await bench.add(tenant_id="north")
        await bench.run_once(RunStatus(status), reason="why")
        assert await standing(bench) == MonthlyUsage()

    async def test_an_abandoned_run_is_counted_if_it_was_dispatched(self, bench: Bench) -> None:
        await bench.add("started", tenant_id="north")
        await bench.add("waiting", tenant_id="south", next_run_at=bench.ms(5_000))
        assert len(await bench.claim(within_ms=10_000)) == 2
        bench.pass_ms(LEASE_MS)
        assert len(await bench.sweep()) == 2
        assert await standing(bench, "north") == MonthlyUsage(runs=1)
        assert await standing(bench, "south") == MonthlyUsage()

    async def test_workers_that_settle_at_the_same_time_lose_no_run(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        for number in range(40):
            await bench.add(f"endpoint-{number:02}", tenant_id=("north", "south")[number % 2])
        claims = [await bench.claim(limit=10, store=peer) for peer in peers]
        workers = [Bench(peer) for peer in peers]
        await asyncio.gather(*(worker.end(*held) for worker, held in zip(workers, claims, strict=True)))
        assert await standing(bench, "north") == await standing(bench, "south") == MonthlyUsage(runs=20)

    async def test_spending_lists_the_months_newest_first(self, bench: Bench) -> None:
        for tokens in (3, 0, 5):
            await bench.store.tenants.spend_tokens("north", tokens, bench.ms(0))
            await bench.store.tenants.spend_tokens("south", 1, bench.ms(0))
            bench.pass_ms(31 * DAY)
        newest = UsageOfMonth("2025-03", MonthlyUsage(0, 5))
        assert await bench.store.tenants.usage_by_month("north", 12) == [
            newest,
            UsageOfMonth(JANUARY, MonthlyUsage(0, 3)),
        ]
        assert await bench.store.tenants.usage_by_month("north", 1) == [newest]
        assert await bench.store.tenants.usage_by_month("nobody", 12) == []

    async def test_live_endpoints_are_counted_no_further_than_asked(self, bench: Bench) -> None:
        for number in range(5):
            await bench.add(f"live-{number}", tenant_id="north", enabled=number > 0)
        await bench.add("gone", tenant_id="north", archived=True)
        await bench.add("done", tenant_id="north", next_run_at=None, next_source=Source.FINISHED)
        await bench.add("foreign", tenant_id="south")
        assert await bench.store.tenants.count_endpoints("north", 100) == 5
        assert await bench.store.tenants.count_endpoints("north", 3) == 3
        assert await bench.store.tenants.count_endpoints("north", MOST) == 5
        assert await bench.store.tenants.count_endpoints("nobody", 100) == 0


async def standing(bench: Bench, tenant_id: str = "north", month: str = JANUARY) -> MonthlyUsage:
    """What a tenant has spent."""
    return (await bench.store.tenants.quota_usage([tenant_id], month))[tenant_id].spent
