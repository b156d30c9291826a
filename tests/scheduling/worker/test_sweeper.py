"""What nobody will end is ended by the sweeper, whatever state it is in."""

from datetime import datetime

import pytest
from tests.scheduling.worker.call_recorder import once
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.run import RunStatus
from cadenza.ports.telemetry import ENDPOINT_PAUSED, ENDPOINT_SUSPECTED

LEASE = 3_000


class NoZone(CronsimCron):
    """Reads no line at all."""

    def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
        raise InvalidRequest("There is no such zone.", "timezone")


async def abandoned(fixture: WorkerFixture, count: int = 1) -> None:
    """Claims whose worker does not come back."""
    await fixture.claim(count)
    fixture.clock.jump(LEASE)


async def test_an_expired_lease_frees_the_endpoint_and_its_slot_stays_due() -> None:
    fixture = WorkerFixture(lease_ms=LEASE)
    endpoint = await fixture.add()
    await abandoned(fixture)
    await fixture.sweeper.sweep()
    run, after = await fixture.only_run(), await fixture.endpoint()
    assert (run.status, run.verdict, after.failure_count) == (RunStatus.ABANDONED, False, 1)
    assert (after.lease, after.next_run_at, after.last_run_at) == (None, endpoint.next_run_at, run.started_at)


async def test_a_lease_is_swept_at_its_end_and_not_before() -> None:
    fixture = WorkerFixture(lease_ms=LEASE)
    await fixture.add()
    await abandoned(fixture)
    fixture.clock.jump(-1)
    assert await fixture.sweeper.sweep() == []
    fixture.clock.jump(1)
    assert len(await fixture.sweeper.sweep()) == 1


async def test_a_lease_that_was_taken_after_the_clock_was_set_back_is_not_swept() -> None:
    fixture = WorkerFixture(lease_ms=LEASE)
    await fixture.add()
    await abandoned(fixture)

    async def set_clock_back_and_claim() -> None:
        fixture.clock.jump(-LEASE)
        assert await fixture.claim(1)

    fixture.store.after["sweep"] = once(set_clock_back_and_claim)
    assert len(await fixture.sweeper.sweep()) == 1
    assert (await fixture.endpoint()).lease is not None


async def test_what_was_claimed_ahead_and_not_started_has_not_run() -> None:
    fixture = WorkerFixture(lease_ms=LEASE, claim_ahead_ms=MINUTE)
    await fixture.add(in_ms=MINUTE)
    await abandoned(fixture)
    await fixture.sweeper.sweep()
    run, after = await fixture.only_run(), await fixture.endpoint()
    assert (run.status, run.started_at, after.last_run_at) == (RunStatus.ABANDONED, None, None)


async def test_more_than_a_batch_is_swept_in_one_go() -> None:
    fixture = WorkerFixture(lease_ms=LEASE)
    for number in range(1_001):
        await fixture.add(f"endpoint-{number}")
    await abandoned(fixture, 1_001)
    assert len(await fixture.sweeper.sweep()) == 1_001


async def test_an_endpoint_that_cannot_be_planned_does_not_stop_the_sweeper() -> None:
    fixture = WorkerFixture(lease_ms=LEASE, cron=NoZone())
    await fixture.add("odd", baseline=Cron("* * * * *"), in_ms=-2 * MINUTE)
    await fixture.add("even")
    await abandoned(fixture, 2)
    await fixture.sweeper.sweep()
    assert (await fixture.only_run("even")).status is RunStatus.ABANDONED
    odd = await fixture.endpoint("odd")
    assert (odd.paused_until, odd.lease) == (FOREVER, None)
    assert odd.pause_reason == "it cannot be planned: There is no such zone."


async def test_a_one_shot_that_expired_unserved_leaves_a_skipped_row() -> None:
    fixture = WorkerFixture()
    await fixture.add(in_ms=60 * MINUTE, paused_until=fixture.at(60 * MINUTE))
    await fixture.tool("propose_next_time", nextRunInMs=MINUTE, ttlMinutes=2)
    fixture.clock.jump(2 * MINUTE)
    assert await fixture.sweeper.sweep() == []
    run = await fixture.only_run()
    assert (run.status, run.reason) == (RunStatus.SKIPPED, "the one-shot hint expired unserved")
    assert (await fixture.endpoint()).one_shot_hint is None


async def test_an_outage_between_two_batches_is_the_callers_to_survive() -> None:
    fixture = WorkerFixture(lease_ms=LEASE)
    await fixture.add()
    await abandoned(fixture)
    fixture.store.fail("sweep", Unavailable("The store is away."))
    with pytest.raises(Unavailable):
        await fixture.sweeper.sweep()
    fixture.store.restore("sweep")
    assert len(await fixture.sweeper.sweep()) == 1


async def test_operators_are_told_of_suspects_and_of_a_pause_for_good() -> None:
    fixture = WorkerFixture(lease_ms=LEASE)
    await fixture.add()
    for _ in range(3):
        await fixture.lose()
    told = [
        event for event in fixture.telemetry.events if event.name in (ENDPOINT_SUSPECTED, ENDPOINT_PAUSED)
    ]
    assert [event.metadata.get("trial") for event in told] == ["alone", "quiet", None]
    assert told[-1].name == ENDPOINT_PAUSED
    assert told[-1].metadata["reason"] == (await fixture.endpoint()).pause_reason
