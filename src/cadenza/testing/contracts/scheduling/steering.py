"""Steering: one atomic change at a time."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.scheduling.hint import HintKind, IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.store import Store
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract

HOUR = 60 * MINUTE


class SteeringContract(Contract):
    """`amend`, through the three tools."""

    async def quiet(self, bench: Bench, **fields: Any) -> Endpoint:
        """An endpoint whose next run is an hour away."""
        return await bench.add(**({"next_run_at": bench.ms(HOUR)} | fields))

    async def test_a_nudge_brings_the_next_run_forward(self, bench: Bench) -> None:
        endpoint = await self.quiet(bench)
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=5_000)
        after = await bench.fresh(endpoint)
        assert (after.next_run_at, after.next_source) == (bench.ms(5_000), Source.AI_ONESHOT)

    async def test_a_nudge_is_clamped_to_the_guard_counted_from_now(self, bench: Bench) -> None:
        guard = Guard(min_interval_ms=20_000, max_interval_ms=2 * MINUTE)
        endpoint = await self.quiet(bench, guard=guard)
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=10 * MINUTE)
        after = await bench.fresh(endpoint)
        assert (after.next_run_at, after.next_source) == (bench.ms(2 * MINUTE), Source.CLAMPED_MAX)
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=1_000)
        after = await bench.fresh(endpoint)
        assert (after.next_run_at, after.next_source) == (bench.ms(20_000), Source.CLAMPED_MIN)

    async def test_a_nudge_never_delays(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(1_000))
        amended = await bench.tool(endpoint, "propose_next_time", nextRunInMs=5_000)
        assert amended.nudge is not None
        assert not amended.nudge.applied
        assert (await bench.fresh(endpoint)).next_run_at == bench.ms(1_000)

    async def test_a_nudge_is_ignored_while_paused(self, bench: Bench) -> None:
        endpoint = await self.quiet(bench)
        await bench.tool(endpoint, "pause_until", untilIso="2025-01-01T12:00:00Z")
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=5_000)
        assert (await bench.fresh(endpoint)).next_run_at == bench.ms(12 * HOUR)

    async def test_a_nudge_works_after_the_first_run_as_before_it(self, bench: Bench) -> None:
        endpoint = await bench.add()
        await bench.run_once()
        bench.pass_ms(1_000)
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=0)
        bench.pass_ms(1)
        assert (await bench.run_once()).source is Source.AI_ONESHOT

    async def test_resume_plans_anew_also_when_that_is_later(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(1_000))
        await bench.tool(endpoint, "pause_until", untilIso="2025-01-01T00:00:30Z", reason="noise")
        assert (await bench.fresh(endpoint)).pause_reason == "noise"
        await bench.tool(endpoint, "pause_until", untilIso=None)
        after = await bench.fresh(endpoint)
        assert (after.paused_until, after.pause_reason) == (None, None)
        assert (after.next_run_at, after.next_source) == (bench.ms(MINUTE), Source.RESUME)

    async def test_an_interval_hint_relaxes_at_once(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(MINUTE))
        await bench.tool(endpoint, "propose_interval", intervalMs=5 * MINUTE)
        assert (await bench.fresh(endpoint)).next_run_at == bench.ms(5 * MINUTE)

    async def test_each_hint_keeps_its_own_expiry_and_reason(self, bench: Bench) -> None:
        endpoint = await self.quiet(bench)
        await bench.tool(endpoint, "propose_interval", intervalMs=30_000, ttlMinutes=10, reason="surge")
        await bench.tool(endpoint, "propose_next_time", nextRunInMs=10_000, ttlMinutes=2, reason="look")
        after = await bench.fresh(endpoint)
        assert after.interval_hint == IntervalHint(30_000, bench.ms(10 * MINUTE), "surge", "contract")
        assert after.one_shot_hint == OneShotHint(bench.ms(10_000), bench.ms(2 * MINUTE), "look", "contract")

    async def test_what_a_higher_rank_decided_stays_and_the_call_is_on_record(self, bench: Bench) -> None:
        endpoint = await self.quiet(bench)
        await bench.tool(endpoint, "propose_interval", intervalMs=30_000)
        await bench.tool(endpoint, "pause_until", untilIso="2025-01-01T12:00:00Z")
        before = await bench.fresh(endpoint)
        assert (before.interval_hint and before.interval_hint.origin, before.pause_origin) == (
            "contract",
            "contract",
        )
        tools = bench.steering.tools(endpoint.key, origin="rule:surge")
        amended = await tools["pause_until"].execute({"untilIso": None})
        assert not amended.applied
        assert await bench.fresh(endpoint) == before
        newest = (await bench.store.runs.hints(endpoint.key))[0]
        assert (newest.origin, newest.not_applied) == (
            "rule:surge",
            "a pause (person: contract) is in force until 2025-01-01T12:00:00Z",
        )

    async def test_a_change_that_is_refused_changes_nothing(self, bench: Bench) -> None:
        endpoint = await self.quiet(bench)
        before = await bench.fresh(endpoint)
        with pytest.raises(InvalidRequest):
            await bench.tool(endpoint, "pause_until", untilIso="2024-12-31T00:00:00Z")
        assert await bench.fresh(endpoint) == before
        assert await bench.store.runs.hints(endpoint.key) == []

    async def test_an_endpoint_that_is_not_there_cannot_be_changed(self, bench: Bench) -> None:
        endpoint = await self.quiet(bench)
        for key in (EndpointKey("default", "nobody"), EndpointKey("stranger", endpoint.id)):
            with pytest.raises(NotFound):
                await bench.store.endpoints.amend(key, ChangedEndpoint)
            with pytest.raises(NotFound):
                await bench.store.endpoints.get(key)

    async def test_changes_to_one_endpoint_happen_one_after_the_other(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        endpoint = await self.quiet(bench)

        def one_more(fresh: Endpoint) -> ChangedEndpoint:
            return ChangedEndpoint(evolve(fresh, failure_count=fresh.failure_count + 1))

        await asyncio.gather(*(store.endpoints.amend(endpoint.key, one_more) for store in [*peers] * 5))
        assert (await bench.fresh(endpoint)).failure_count == 5 * len(peers)

    async def test_changes_to_one_definition_happen_one_after_the_other(
        self, bench: Bench, peers: Sequence[Store]
    ) -> None:
        endpoint = await self.quiet(bench, description="")

        def longer(fresh: Endpoint) -> ChangedEndpoint:
            return ChangedEndpoint(evolve(fresh, description=f"{fresh.description}x"))

        await asyncio.gather(*(store.endpoints.amend(endpoint.key, longer) for store in [*peers] * 5))
        assert (await bench.fresh(endpoint)).description == "x" * 5 * len(peers)

    async def test_the_history_keeps_every_hint_with_its_reason_and_origin(self, bench: Bench) -> None:
        endpoint = await self.quiet(bench)
        await bench.tool(endpoint, "propose_interval", intervalMs=30_000, reason="surge")
        await bench.tool(endpoint, "pause_until", untilIso="2025-01-01T12:00:00Z", reason="night")
        newest, oldest = await bench.store.runs.hints(endpoint.key)
        assert (newest.kind, newest.reason, newest.origin) == (HintKind.PAUSE, "night", "contract")
        assert (oldest.kind, oldest.interval_ms) == (HintKind.INTERVAL, 30_000)
        assert oldest.expires_at == bench.ms(HOUR)

    async def test_the_bell_rings_when_a_next_run_moves(self, bench: Bench) -> None:
        endpoint = await self.quiet(bench)
        async with bench.wakes_workers():
            await bench.tool(endpoint, "propose_next_time", nextRunInMs=5_000)

    async def test_what_lies_ahead_of_a_moment_is_changed_in_pages(self, bench: Bench) -> None:
        now, ahead = bench.clock.now(), bench.ms(HOUR)
        fields = {
            "ran-later": {"last_run_at": ahead},
            "skipped-later": {"skipped_at": ahead},
            "never-ran": {},
        }
        for name, field in fields.items():
            await bench.add(name, next_run_at=bench.ms(HOUR + 1), **field)
        await bench.add("ran-before", next_run_at=ahead, last_run_at=bench.ms(-1))
        await bench.add("is-due", next_run_at=now, last_run_at=ahead)
        await bench.add("other", next_run_at=ahead, tenant_id="other", last_run_at=ahead)

        def change(endpoint: Endpoint) -> ChangedEndpoint:
            return ChangedEndpoint(evolve(endpoint, next_run_at=bench.ms(1_000)))

        first = await bench.store.endpoints.amend_ahead(now, change, after=None, limit=3)
        keys = [one.endpoint.key for one in first]
        rest = await bench.store.endpoints.amend_ahead(now, change, after=keys[-1], limit=3)
        assert [*keys, *(one.endpoint.key for one in rest)] == [
            *(EndpointKey("default", name) for name in sorted(fields)),
            EndpointKey("other", "other"),
        ]
        bench.pass_ms(1_000)
        assert len(await bench.claim()) == 5

    async def test_a_change_ahead_that_moves_nothing_is_none(self, bench: Bench) -> None:
        endpoint = await bench.add(next_run_at=bench.ms(HOUR))
        await bench.store.endpoints.amend_ahead(bench.clock.now(), ChangedEndpoint, after=None, limit=5)
        assert await bench.fresh(endpoint) == endpoint
