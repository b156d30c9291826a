"""Claims that waited for their moment get a second look."""

from cadenza.domain.scheduling.due import Cancel, Start, Wait
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.testing.contracts.harness import LEASE_MS, MINUTE, Bench, Contract


class StartContract(Contract):
    """`start`."""

    async def ahead(self, bench: Bench) -> Claim:
        """A claim whose moment is a second away."""
        await bench.add(next_run_at=bench.ms(1_000))
        return await bench.claim_one(within_ms=1_000)

    async def test_nothing_starts_before_its_moment(self, bench: Bench) -> None:
        claim = await self.ahead(bench)
        bench.pass_ms(999)
        (answer,) = await bench.start(claim)
        assert isinstance(answer, Wait)
        assert (await bench.runs(claim.endpoint))[0].started_at is None

    async def test_a_start_is_marked_in_its_run(self, bench: Bench) -> None:
        claim = await self.ahead(bench)
        bench.pass_ms(1_000)
        (answer,) = await bench.start(claim)
        assert isinstance(answer, Start)
        assert answer.claim.started_at == bench.ms(0)
        assert (await bench.runs(claim.endpoint))[0].started_at == bench.ms(0)

    async def test_what_goes_on_waiting_is_marked_as_not_dispatched(self, bench: Bench) -> None:
        endpoint = await bench.add()
        claim = await bench.claim_one()
        held = claim._replace(started_at=None)
        (answer,) = await bench.store.endpoints.start([held], lambda _, claim: Wait(claim))
        assert answer is not None
        assert answer == Wait(held._replace(place=answer.claim.place)), "only its store knows its place"
        assert (await bench.runs(endpoint))[0].started_at is None
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        assert (await bench.fresh(endpoint)).last_run_at is None

    async def test_a_started_run_that_is_lost_counts_as_dispatched(self, bench: Bench) -> None:
        claim = await self.ahead(bench)
        bench.pass_ms(1_000)
        await bench.start(claim)
        started = bench.ms(0)
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        assert (await bench.fresh(claim.endpoint)).last_run_at == started

    async def test_what_was_moved_earlier_starts_then_and_for_that_slot(self, bench: Bench) -> None:
        claim = await self.ahead(bench)
        await bench.tool(claim.endpoint, "propose_next_time", nextRunInMs=200)
        (waiting,) = await bench.start(claim)
        assert isinstance(waiting, Wait)
        assert waiting.claim.due_at == bench.ms(200)
        bench.pass_ms(200)
        (answer,) = await bench.start(waiting.claim)
        assert isinstance(answer, Start)
        assert (answer.claim.slot, answer.claim.source) == (bench.ms(0), Source.AI_ONESHOT)
        (run,) = await bench.runs(claim.endpoint)
        assert (run.slot, run.source) == (bench.ms(0), Source.AI_ONESHOT)

    async def test_what_is_no_longer_due_is_cancelled_with_the_reason(self, bench: Bench) -> None:
        claim = await self.ahead(bench)
        await bench.tool(claim.endpoint, "pause_until", untilIso="2025-02-01T00:00:00Z")
        bench.pass_ms(1_000)
        (answer,) = await bench.start(claim)
        assert isinstance(answer, Cancel)
        assert answer.reason == "paused until 2025-02-01T00:00:00Z"
        await bench.end(claim, status=RunStatus.CANCELLED, reason=answer.reason)
        (run,) = await bench.runs(claim.endpoint)
        assert (run.status, run.reason) == (RunStatus.CANCELLED, answer.reason)
        assert (await bench.fresh(claim.endpoint)).lease is None

    async def test_a_claim_given_back_leaves_its_slot_due_and_without_a_verdict(self, bench: Bench) -> None:
        claim = await self.ahead(bench)
        await bench.end(claim, status=RunStatus.CANCELLED, reason="its worker stopped")
        after = await bench.fresh(claim.endpoint)
        assert (after.next_run_at, after.failure_count, after.last_run_at) == (claim.slot, 0, None)
        bench.pass_ms(1_000)
        run = await bench.run_once()
        assert run.slot == claim.slot
        assert [run.verdict for run in await bench.runs(claim.endpoint)] == [False, True]

    async def test_a_lost_lease_does_not_start(self, bench: Bench) -> None:
        claim = await self.ahead(bench)
        bench.pass_ms(LEASE_MS)
        await bench.sweep()
        assert await bench.start(claim) == [None]

    async def test_a_batch_is_answered_in_its_order(self, bench: Bench) -> None:
        for name, ahead_ms in (("a", 300), ("b", 100), ("c", 200)):
            await bench.add(name, next_run_at=bench.ms(ahead_ms))
        claims = sorted(await bench.claim(within_ms=MINUTE), key=lambda claim: claim.endpoint.name)
        bench.pass_ms(200)
        answers = await bench.start(*claims)
        assert [type(answer) for answer in answers] == [Wait, Start, Start]
