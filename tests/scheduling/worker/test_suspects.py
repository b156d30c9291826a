"""A worker starts suspects apart from each other, and lets what is healthy go on beside them."""

from typing import Any

import pytest
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock
from tests.scheduling.worker.worker_fixtures import SUCCESS, WorkerFixture

from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.engine.worker.suspects import TRIAL_MS

LEASE = 20_000
WARM_UP = LEASE // 2
FEW = {"abandoned_count": 1}
ALONE = {"abandoned_count": 2}
QUIET = {"abandoned_count": 2, "abandoned_alone_count": 2}


def noop() -> list[str]:
    return ["callable:noop"]


def worker(fixture: WorkerFixture, **settings: Any) -> RunningWorker:
    return RunningWorker(fixture, can_run=noop, **settings)


class Company:
    """Endpoints that take a while, and what each of them ran beside."""

    def __init__(self, fixture: WorkerFixture, span_ms: float) -> None:
        self._fixture = fixture
        self._span_ms = span_ms
        self._inside: list[str] = []
        self.beside: dict[str, set[str]] = {}

    async def add(self, name: str, **fields: Any) -> None:
        self._fixture.dispatcher.on(name, self._run)
        await self._fixture.add(name, **fields)

    async def _run(self, claim: Claim) -> Outcome:
        name = claim.endpoint.name
        for other in self._inside:
            self.beside[other].add(name)
        self.beside[name] = set(self._inside)
        self._inside.append(name)
        await self._fixture.clock.sleep(self._span_ms)
        self._inside.remove(name)
        return SUCCESS


async def test_few_suspects_run_at_a_time_and_end_as_suspects() -> None:
    fixture = on_manual_clock(lease_ms=LEASE, concurrency=32)
    company = Company(fixture, 100)
    for number in range(20):
        await company.add(f"few-{number}", **FEW)
    async with worker(fixture):
        await fixture.clock.advance(2_000)
        assert len(company.beside) == 20
        assert max(map(len, company.beside.values())) <= 4 + 3
        assert not any([(await fixture.endpoint(f"few-{number}")).abandoned_count for number in range(20)])


async def test_a_suspect_that_died_beside_others_runs_beside_none_once_the_worker_has_lived_a_while() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    company = Company(fixture, 100)
    for name in ("alone-1", "alone-2"):
        await company.add(name, **ALONE)
    await company.add("few", **FEW)
    async with worker(fixture):
        await fixture.clock.advance(WARM_UP - 2_000)
        assert company.beside == {"few": set()}
        await fixture.clock.advance(4_000)
    assert company.beside == {"few": set(), "alone-1": set(), "alone-2": set()}


async def test_healthy_endpoints_are_not_slowed_by_suspects() -> None:
    fixture = on_manual_clock(lease_ms=LEASE, concurrency=4)
    company = Company(fixture, 5_000)
    for number in range(10):
        await company.add(f"suspect-{number}", **(FEW if number % 2 else ALONE))
    moments = fixture.moments("healthy")
    await fixture.add("healthy", baseline=Every(1_000))
    async with worker(fixture):
        await fixture.clock.advance(60_500)
    assert moments == [1_000 * second for second in range(61)]


async def test_suspects_get_a_place_in_a_worker_that_is_always_full() -> None:
    fixture = on_manual_clock(lease_ms=LEASE, concurrency=2)
    for number in range(20):
        fixture.takes(400, f"busy-{number}")
        await fixture.add(f"busy-{number}", baseline=Every(1_000))
    moments = fixture.moments("few")
    await fixture.add("few", **FEW)
    async with worker(fixture):
        await fixture.clock.advance(5_000)
    assert moments


async def test_the_last_trial_waits_until_nothing_else_runs_and_holds_others_back() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    company = Company(fixture, 1_500)
    await company.add("before", next_run_at=fixture.at(WARM_UP - 1_000))
    await company.add("quiet", **QUIET)
    await company.add("after", next_run_at=fixture.at(WARM_UP + 2_000))
    async with worker(fixture):
        await fixture.clock.advance(WARM_UP + 10_000)
    assert company.beside == {"before": set(), "quiet": set(), "after": set()}


async def test_nobody_waits_long_for_a_last_trial() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    company = Company(fixture, 10 * TRIAL_MS)
    await company.add("before", next_run_at=fixture.at(WARM_UP - 1_000))
    await company.add("quiet", **QUIET)
    moments = fixture.moments("healthy")
    await fixture.add("healthy", next_run_at=fixture.at(WARM_UP + 2_000), baseline=Every(1_000))
    async with worker(fixture):
        await fixture.clock.advance(WARM_UP + 3 * TRIAL_MS)
        assert WARM_UP + TRIAL_MS < moments[0] <= WARM_UP + 2 * TRIAL_MS + 2_000
        assert company.beside["quiet"] == {"before"}


async def test_a_suspect_that_runs_long_keeps_others_waiting_for_a_while_only() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    company = Company(fixture, 10 * TRIAL_MS)
    for name in ("alone-1", "alone-2"):
        await company.add(name, **ALONE)
    async with worker(fixture):
        await fixture.clock.advance(WARM_UP + TRIAL_MS - 1_000)
        assert set(company.beside) == {"alone-1"}
        await fixture.clock.advance(3_000)
        assert set(company.beside) == {"alone-1", "alone-2"}


@pytest.mark.parametrize("suspicion", [FEW, ALONE, QUIET])
async def test_a_worker_that_stops_leaves_suspects_to_others(suspicion: dict[str, int]) -> None:
    fixture = on_manual_clock(lease_ms=LEASE, grace_ms=1_000)
    fixture.takes(10 * TRIAL_MS, "suspect")
    await fixture.add("suspect", **suspicion)
    async with worker(fixture):
        await fixture.clock.advance(WARM_UP + 1_000)
    (run,) = await fixture.runs("suspect")
    assert run.status is RunStatus.CANCELLED
    assert (await fixture.endpoint("suspect")).abandoned_count == suspicion["abandoned_count"]


async def test_the_sweep_of_a_worker_that_died_brings_its_runs_back_at_once() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    for name in ("one", "other"):
        await fixture.add(name)
    dead = WorkerFixture(clock=fixture.clock, store=fixture.store.port, lease_ms=LEASE)
    assert len(await dead.claim(2)) == 2
    async with worker(fixture, poll_ms=LEASE * 10):
        await fixture.clock.advance(2 * LEASE)
    for name in ("one", "other"):
        lost, again = await fixture.runs(name)
        assert (lost.status, again.status) == (RunStatus.ABANDONED, RunStatus.SUCCESS)
        assert again.started_at == lost.finished_at


async def test_a_sweep_of_another_process_brings_runs_back_before_the_next_poll() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    await fixture.add("swept", next_run_at=fixture.at(10 * LEASE))
    other = WorkerFixture(clock=fixture.clock, store=fixture.store.port, lease_ms=LEASE)
    moments = fixture.moments("swept")
    async with worker(fixture, poll_ms=LEASE * 20):
        await fixture.clock.advance(2 * LEASE)
        await other.change("swept", next_run_at=fixture.clock.now(), abandoned_count=1)
        await fixture.clock.advance(LEASE)
    assert 2 * LEASE <= moments[0] <= 2.5 * LEASE


async def test_other_suspects_wait_while_one_is_tried_alone() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    company = Company(fixture, 1_500)
    await company.add("alone", **ALONE)
    await company.add("few", next_run_at=fixture.at(WARM_UP + 200), **FEW)
    async with worker(fixture):
        await fixture.clock.advance(WARM_UP + 5_000)
    assert company.beside == {"alone": set(), "few": set()}
