"""Which endpoints are suspected when their process dies, how they are tried again, and which is paused."""

import pytest
from tests.scheduling.scheduling_fixtures import MINUTE, NOW, Worker, an_endpoint

from cadenza.domain.scheduling.abandon import Trial, function_of, is_suspect, requirement_of, trial_of
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import ProcessDeath, RunStatus
from cadenza.domain.scheduling.steer import reset_failures
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget

ALONE = ProcessDeath(in_flight=1, suspects=0)
BESIDE_HEALTHY = ProcessDeath(in_flight=40, suspects=1)
BESIDE_SUSPECTS = ProcessDeath(in_flight=40, suspects=5)


def after(*deaths: ProcessDeath) -> Worker:
    """An endpoint whose processes died so."""
    worker = Worker(an_endpoint(next_run_at=NOW))
    for death in deaths:
        worker.run(RunStatus.ABANDONED, MINUTE, death=death)
    return worker


def test_what_dies_alone_three_times_in_a_row_is_paused_and_says_so() -> None:
    worker = after()
    for _ in range(3):
        assert not worker.endpoint.paused(worker.now)
        worker.run(RunStatus.ABANDONED, MINUTE, death=ALONE)
    words = "its process died 3 times while it ran alone; resume it when that is fixed"
    assert worker.endpoint.pause_reason == words
    assert worker.endpoint.paused_until == worker.endpoint.next_run_at == FOREVER
    assert (worker.endpoint.next_source, worker.endpoint.open_slot) == (Source.PAUSED, None)
    assert [(row.attempt, row.verdict) for row in worker.rows] == [(1, False), (2, False), (3, True)]
    assert worker.endpoint.failure_count == 3


@pytest.mark.parametrize("beside", [BESIDE_SUSPECTS, ProcessDeath(in_flight=2, suspects=2)])
def test_what_dies_beside_other_suspects_is_never_paused(beside: ProcessDeath) -> None:
    worker = after(*[beside] * 50)
    assert not worker.endpoint.paused(worker.now)
    assert (worker.endpoint.abandoned_count, worker.endpoint.abandoned_alone_count) == (50, 0)


def test_the_first_death_beside_others_blames_nobody_even_if_one_of_them_is_a_suspect() -> None:
    worker = after(BESIDE_HEALTHY)
    assert (worker.endpoint.abandoned_count, worker.endpoint.abandoned_alone_count) == (1, 0)


def test_the_last_of_three_deaths_is_one_with_nothing_else_in_flight() -> None:
    worker = after(BESIDE_SUSPECTS, BESIDE_SUSPECTS, BESIDE_HEALTHY, BESIDE_HEALTHY, BESIDE_HEALTHY)
    assert not worker.endpoint.paused(worker.now)
    worker.run(RunStatus.ABANDONED, MINUTE, death=ALONE)
    assert worker.endpoint.paused(worker.now)


def test_where_something_else_is_always_in_flight_six_deaths_are_enough() -> None:
    worker = after(BESIDE_SUSPECTS, *[BESIDE_HEALTHY] * 5)
    assert not worker.endpoint.paused(worker.now)
    worker.run(RunStatus.ABANDONED, MINUTE, death=BESIDE_HEALTHY)
    assert worker.endpoint.paused(worker.now)


@pytest.mark.parametrize(
    ("deaths", "trial"),
    [
        ([BESIDE_SUSPECTS], Trial.FEW),
        ([BESIDE_SUSPECTS] * 2, Trial.ALONE),
        ([ALONE], Trial.ALONE),
        ([ALONE] * 2, Trial.QUIET),
        ([BESIDE_SUSPECTS, BESIDE_HEALTHY, BESIDE_HEALTHY], Trial.QUIET),
    ],
)
def test_the_more_deaths_it_was_part_of_the_farther_from_others_it_is_tried(
    deaths: list[ProcessDeath], trial: Trial
) -> None:
    assert trial_of(after(*deaths).endpoint) is trial


@pytest.mark.parametrize("status", [RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT])
def test_what_ends_is_no_suspect_any_more_and_is_counted_from_the_start(status: RunStatus) -> None:
    worker = after(ALONE, ALONE)
    worker.run(status, MINUTE)
    assert not is_suspect(worker.endpoint)
    for _ in range(2):
        worker.run(RunStatus.ABANDONED, MINUTE, death=ALONE)
    assert not worker.endpoint.paused(worker.now)


@pytest.mark.parametrize("status", [RunStatus.CANCELLED, RunStatus.SKIPPED])
def test_what_does_not_run_to_its_end_stays_a_suspect(status: RunStatus) -> None:
    worker = after(ALONE)
    worker.run(status, MINUTE)
    assert (worker.endpoint.abandoned_count, worker.endpoint.abandoned_alone_count) == (1, 1)


def test_what_is_resumed_after_it_was_given_up_is_tried_alone_and_counted_afresh() -> None:
    worker = after(ALONE, ALONE, ALONE)
    worker.resume()
    assert worker.endpoint.next_run_at == worker.now
    assert trial_of(worker.endpoint) is Trial.ALONE
    for _ in range(2):
        worker.run(RunStatus.ABANDONED, MINUTE, death=ALONE)
        assert not worker.endpoint.paused(worker.now)


def test_an_operator_can_clear_a_suspect() -> None:
    assert not is_suspect(reset_failures(after(ALONE, ALONE).endpoint).endpoint)


def test_a_worker_must_have_a_trial_for_a_suspect() -> None:
    page = an_endpoint(target=HttpTarget("https://example.com/"))
    assert requirement_of(page) == "http"
    suspect = an_endpoint(target=CallableTarget("callable:odd"), abandoned_count=1)
    assert requirement_of(suspect) == "few:callable:callable:odd"
    assert function_of(requirement_of(suspect)) == "callable:odd"
    assert function_of("alone:http") is None
