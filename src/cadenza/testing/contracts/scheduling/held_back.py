"""What waits for a limit or a higher priority: how it is told, and who goes first."""

from cadenza.domain.access.run_limit import LimitKind, room
from cadenza.domain.scheduling.plan import RunKind, Source
from cadenza.domain.scheduling.run import RunStatus
from cadenza.testing.contracts.harness import MINUTE, Bench, Contract
from cadenza.testing.contracts.scheduling.cancelled_runs import cancel
from cadenza.testing.contracts.scheduling.limits import NOOP, ORDERED, add_many, amend, names, put, use_of
from cadenza.testing.contracts.scheduling.requested_runs import HOUR, ask


class HeldBackContract(Contract):
    """Who waits for a limit is told, and so is the run that was late for it."""

    async def test_a_limit_shows_what_waits_for_it_and_since_when(self, bench: Bench) -> None:
        await add_many(bench, 3)
        await put(bench, max_in_flight=1, max_per_minute=10)
        bench.pass_ms(500)
        await bench.claim()
        use = await use_of(bench)
        assert (use.in_flight, use.count_started(bench.clock.now()), use.waiting) == (1, 1, 2)
        assert (use.waiting_since, use.limit.held_since) == (bench.ms(-500), bench.clock.now())

    async def test_a_limit_that_holds_nothing_back_any_more_says_so(self, bench: Bench) -> None:
        await add_many(bench, 2)
        await put(bench, max_in_flight=1)
        (first,) = await bench.claim()
        bench.pass_ms(2_000)
        await bench.end(first)
        assert (await use_of(bench)).limit.held_since == bench.ms(-2_000)
        await bench.claim()
        assert (await use_of(bench)).limit.held_since is None

    async def test_a_run_that_was_held_back_says_by_which_limit_and_for_how_long(self, bench: Bench) -> None:
        (_, held) = await add_many(bench, 2)
        await put(bench, max_in_flight=1)
        (first,) = await bench.claim()
        bench.pass_ms(12_000)
        await bench.end(first)
        (late,) = await bench.claim()
        assert late.held_back_by == "job:shop"
        await bench.end(late)
        (run,) = await bench.runs(held)
        assert (run.status, run.late_ms) == (RunStatus.SUCCESS, 12_000)
        assert run.reason == "held back for 12 seconds by the limit for job shop"

    async def test_a_run_that_is_late_for_another_reason_blames_no_limit(self, bench: Bench) -> None:
        await add_many(bench, 1)
        await put(bench, max_in_flight=1)
        bench.pass_ms(MINUTE)
        assert (await bench.claim_one()).held_back_by is None

    async def test_there_is_room_again_when_runs_are_released(self, bench: Bench) -> None:
        await add_many(bench, 2)
        await put(bench, max_in_flight=1)
        (first,) = await bench.claim()
        await bench.end(first._replace(started_at=None), status=RunStatus.CANCELLED)
        assert room(await use_of(bench), bench.clock.now()) == 1

    async def test_requested_runs_take_places_of_limits_and_are_held_back_like_any_other(
        self, bench: Bench
    ) -> None:
        slot = bench.ms(-HOUR)
        for endpoint in await add_many(bench, 2, next_run_at=bench.ms(HOUR)):
            await ask(bench, endpoint, HOUR)
        await put(bench, max_in_flight=1, max_per_minute=9)
        first = await bench.claim_one()
        assert (first.slot, first.attempt, first.source) == (slot, 2, Source.RERUN)
        assert await bench.fresh(first.endpoint) == first.endpoint
        use = await use_of(bench)
        assert (use.in_flight, use.count_started(bench.clock.now()), use.waiting) == (1, 1, 1)
        bench.pass_ms(5_000)
        await bench.end(first)
        late = await bench.claim_one()
        assert (late.slot, late.source, late.held_back_by) == (slot, Source.RERUN, "job:shop")
        (settled,) = await bench.end(late)
        assert settled is not None
        assert settled.run.reason == "held back for 5 seconds by the limit for job shop"
        assert (await bench.fresh(late.endpoint)).requested is None

    async def test_a_limit_that_comes_or_goes_leaves_requested_runs_as_they_are(self, bench: Bench) -> None:
        (runs, waits) = await add_many(bench, 2, next_run_at=bench.ms(HOUR))
        await ask(bench, runs, HOUR, 2 * HOUR)
        first = await bench.claim_one()
        await ask(bench, waits, HOUR)
        await put(bench, max_in_flight=1)
        assert await bench.claim() == []
        assert (await bench.fresh(runs)).requested == first.endpoint.requested
        (settled,) = await bench.end(first)
        assert settled is not None
        assert (settled.run.kind, settled.run.verdict) == (RunKind.RERUN, False)
        second = await bench.claim_one()
        await bench.store.limits.delete_limit("default", LimitKind.JOB, "shop")
        (third,) = await bench.claim()
        assert {second.key, third.key} == {runs.key, waits.key}
        assert None not in await bench.end(second, third)
        assert [(await bench.fresh(one)).requested for one in (runs, waits)] == [None, None]

    async def test_the_place_of_a_run_that_is_cancelled_is_free_when_it_has_ended(self, bench: Bench) -> None:
        (endpoint, _) = await add_many(bench, 2)
        await put(bench, max_in_flight=1)
        claim = await bench.claim_one()
        await cancel(bench, endpoint, claim.run_id)
        assert (await bench.store.endpoints.to_cancel([claim]), await bench.claim()) == ({claim.run_id}, [])
        await bench.end(claim, status=RunStatus.CANCELLED)
        assert (await bench.claim_one()).key != endpoint.key


class PriorityContract(Contract):
    """Within a tenant the higher priority goes first; tenants keep their turns."""

    async def test_the_higher_priority_goes_first_and_then_what_was_due_sooner(self, bench: Bench) -> None:
        for name, priority, due_ms in (("low", 1, -9), ("late", 5, -1), ("soon", 5, -5), ("high", 9, 0)):
            await bench.add(name, priority=priority, next_run_at=bench.ms(due_ms))
        assert names(await bench.claim(limit=3)) == ["high", "soon", "late"]
        assert names(await bench.claim()) == ["low"]

    async def test_a_place_of_a_limit_goes_to_the_higher_priority(self, bench: Bench) -> None:
        await put(bench, max_in_flight=1)
        for name, priority in (("low", -1), ("middle", 0), ("high", 1)):
            await bench.add(name, job_id="shop", priority=priority)
        ended = []
        for _ in range(3):
            claim = await bench.claim_one()
            ended.append(claim.endpoint.id)
            await bench.end(claim)
        assert ended == ["high", "middle", "low"]

    async def test_below_zero_waits_for_what_has_no_priority_and_is_due(self, bench: Bench) -> None:
        await bench.add("low", priority=-1)
        await bench.add("plain")
        assert await bench.claim(can_run=[ORDERED]) == []
        (plain,) = await bench.claim(can_run=[NOOP])
        assert names(await bench.claim(can_run=[ORDERED])) == ["low"]
        await bench.end(plain)

    async def test_no_tenant_waits_for_the_priorities_of_another(self, bench: Bench) -> None:
        for number in range(6):
            await bench.add(f"high{number}", priority=9)
        await bench.add("low", tenant_id="other", priority=1)
        await bench.add("last", tenant_id="third", priority=-9)
        claims = await bench.claim(limit=4)
        assert sorted(claim.endpoint.tenant_id for claim in claims) == [
            "default",
            "default",
            "other",
            "third",
        ]

    async def test_of_a_tenant_with_a_bound_no_more_is_claimed_within_limits(self, bench: Bench) -> None:
        for number in range(3):
            await bench.add(f"e{number}", priority=1)
            await bench.add(f"o{number}", priority=1, tenant_id="other")
        claims = await bench.claim(limit=10, bounds={"default": 1, "other": 0}, can_run=[ORDERED])
        assert [claim.endpoint.tenant_id for claim in claims] == ["default"]

    async def test_a_priority_that_is_set_or_taken_away_counts_at_once(self, bench: Bench) -> None:
        endpoint = await bench.add("one")
        for priority, required in ((2, ORDERED), (0, NOOP)):
            await amend(bench, endpoint, priority=priority)
            assert await bench.store.endpoints.next_due([required]) == bench.clock.now()

    async def test_what_was_claimed_in_order_is_settled_like_any_other(self, bench: Bench) -> None:
        endpoint = await bench.add("one", priority=3, limit_key="k")
        await bench.run_once(RunStatus.FAILURE)
        fresh = await bench.fresh(endpoint)
        assert (fresh.failure_count, fresh.priority, fresh.limit_key) == (1, 3, "k")
        assert fresh.next_run_at == bench.ms(MINUTE)
