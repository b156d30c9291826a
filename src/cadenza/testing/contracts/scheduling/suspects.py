"""What was in flight when a process died, and how it is claimed again."""

from cadenza.domain.scheduling.abandon import Trial, tried_requirements
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.domain.validation import milliseconds
from cadenza.testing.contracts.harness import LEASE_MS, Bench, Contract

NOOP = "callable:noop"
FEW, ALONE, QUIET = tried_requirements([NOOP], *Trial)


async def claim(bench: Bench, *can_run: str, limit: int = 100, within_ms: int = 0) -> list[Claim]:
    """What the process `p` claims, in a batch of its own."""
    now = bench.clock.now()
    return await bench.store.endpoints.claim_due(
        now=now,
        within=milliseconds(within_ms),
        lease_until=now + milliseconds(LEASE_MS),
        limit=limit,
        can_run=can_run or None,
        holder="p",
    )


async def die(bench: Bench) -> None:
    """Let all leases run out."""
    bench.pass_ms(LEASE_MS)
    await bench.sweep()


async def counts(bench: Bench, endpoint: Endpoint) -> tuple[int, int]:
    """At how many deaths it was in flight, and alone."""
    fresh = await bench.fresh(endpoint)
    return fresh.abandoned_count, fresh.abandoned_alone_count


class SuspectContract(Contract):
    """Suspects are told apart by what their process had in flight, and claimed apart from others."""

    async def test_what_was_in_flight_together_is_suspected_and_not_alone(self, bench: Bench) -> None:
        one, other = await bench.add("one"), await bench.add("other")
        await claim(bench, limit=1)
        await claim(bench, limit=1)
        await die(bench)
        assert (await counts(bench, one), await counts(bench, other)) == ((1, 0), (1, 0))

    async def test_batches_of_one_process_that_run_out_one_after_the_other_died_together(
        self, bench: Bench
    ) -> None:
        one, other = await bench.add("one"), await bench.add("other")
        await claim(bench, limit=1)
        bench.pass_ms(1_000)
        await claim(bench, limit=1)
        bench.pass_ms(LEASE_MS - 1_000)
        assert len(await bench.sweep()) == 1
        bench.pass_ms(1_000)
        assert len(await bench.sweep()) == 1
        assert (await counts(bench, one), await counts(bench, other)) == ((1, 0), (1, 0))

    async def test_what_was_settled_or_in_another_process_was_not_in_flight_beside_it(
        self, bench: Bench
    ) -> None:
        ended, died, elsewhere = [await bench.add(name) for name in ("ended", "died", "elsewhere")]
        (first,) = await claim(bench, limit=1)
        await claim(bench, limit=1)
        await bench.claim(limit=1)
        await bench.end(first)
        await die(bench)
        found = [await counts(bench, one) for one in (ended, died, elsewhere)]
        assert found == [(0, 0), (1, 1), (1, 1)]

    async def test_what_waited_for_its_moment_is_not_suspected(self, bench: Bench) -> None:
        died, waiting = await bench.add("died"), await bench.add("waiting", next_run_at=bench.ms(100))
        await claim(bench, within_ms=100)
        await die(bench)
        assert (await counts(bench, died), await counts(bench, waiting)) == ((1, 1), (0, 0))

    async def test_the_only_suspect_beside_others_died_alone(self, bench: Bench) -> None:
        suspect, other = await bench.add("suspect", abandoned_count=2), await bench.add("other")
        await claim(bench)
        await die(bench)
        assert (await counts(bench, suspect), await counts(bench, other)) == ((3, 1), (1, 0))

    async def test_a_suspect_is_claimed_by_those_alone_that_try_it(self, bench: Bench) -> None:
        for name, given in (("fine", (0, 0)), ("few", (1, 0)), ("alone", (2, 0)), ("quiet", (2, 2))):
            await bench.add(name, abandoned_count=given[0], abandoned_alone_count=given[1])
        for required, name in ((NOOP, "fine"), (FEW, "few"), (ALONE, "alone"), (QUIET, "quiet")):
            assert [one.endpoint.id for one in await claim(bench, required)] == [name]
        assert await claim(bench) == []

    async def test_a_suspect_that_ends_is_none_any_more(self, bench: Bench) -> None:
        for status in (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT):
            endpoint = await bench.add(status, abandoned_count=2, abandoned_alone_count=1)
            (tried,) = await claim(bench, ALONE)
            await bench.end(tried, status=status)
            assert await counts(bench, endpoint) == (0, 0)
        bench.pass_ms(LEASE_MS * 10)
        assert len(await claim(bench, NOOP)) == 3

    async def test_the_next_due_moment_of_suspects_is_their_own(self, bench: Bench) -> None:
        await bench.add("few", abandoned_count=1)
        await bench.add("fine", next_run_at=bench.ms(5_000))
        assert await bench.store.endpoints.next_due([NOOP]) == bench.ms(5_000)
        assert await bench.store.endpoints.next_due([FEW]) == bench.ms(0)
        assert await bench.store.endpoints.next_due() == bench.ms(0)

    async def test_a_suspect_with_another_target_is_tried_with_that(self, bench: Bench) -> None:
        endpoint = await bench.add("few", abandoned_count=1)
        amended = evolve(endpoint, target=HttpTarget("https://example.com/"))
        await bench.store.endpoints.amend(endpoint.key, lambda _: ChangedEndpoint(amended))
        assert await claim(bench, FEW) == []
        assert len(await claim(bench, *tried_requirements(["http"], Trial.FEW))) == 1
