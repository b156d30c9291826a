"""What an outcome leaves behind: counts, the last run, the next plan, the closed row."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import NOTHING, past, spans, stored
from tests.scheduling.scheduling_fixtures import (
    CRON,
    HOUR,
    MINUTE,
    NOW,
    ORIGIN,
    SECOND,
    Worker,
    an_endpoint,
    at,
    claimed,
    ended,
    settled,
)

from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Completion, Outcome, RunStatus
from cadenza.domain.scheduling.settle import settle, unplannable
from cadenza.domain.scheduling.steer import take_interval_hint
from cadenza.domain.validation import milliseconds

ENDED = (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT)
ANY_STATUS = st.sampled_from(RunStatus)
DUE: dict[str, Any] = {
    "next_run_at": past(),
    "paused_until": NOTHING,
    "quota_opens_at": NOTHING,
    "lease": NOTHING,
}


@pytest.mark.parametrize(
    ("status", "failures", "abandonments"),
    [
        (RunStatus.SUCCESS, 0, 0),
        (RunStatus.FAILURE, 5, 0),
        (RunStatus.TIMEOUT, 5, 0),
        (RunStatus.ABANDONED, 5, 2),
        (RunStatus.CANCELLED, 4, 1),
        (RunStatus.SKIPPED, 4, 1),
    ],
)
def test_failures_are_counted_until_a_success(status: RunStatus, failures: int, abandonments: int) -> None:
    held = claimed(an_endpoint(next_run_at=NOW, failure_count=4, abandoned_count=1))
    after = ended(held, status, now=at(SECOND)).endpoint
    assert (after.failure_count, after.abandoned_count) == (failures, abandonments)


@given(stored(**DUE), ANY_STATUS)
def test_a_run_that_was_dispatched_moves_the_last_run_to_its_start(
    endpoint: Endpoint, status: RunStatus
) -> None:
    held = claimed(endpoint)
    after = ended(held, status, now=at(SECOND)).endpoint
    stays_over = isinstance(endpoint.baseline, Once)  # A clock that was ahead may have ended it already.
    started = max(NOW, endpoint.last_run_at or NOW) if stays_over else NOW
    assert after.last_run_at == (endpoint.last_run_at if status is RunStatus.SKIPPED else started)


@given(stored(**DUE), st.sampled_from((RunStatus.CANCELLED, RunStatus.ABANDONED, RunStatus.SKIPPED)))
def test_a_run_that_never_started_leaves_the_last_run_alone(endpoint: Endpoint, status: RunStatus) -> None:
    held = claimed(endpoint)._replace(started_at=None)
    assert ended(held, status, now=at(SECOND)).endpoint.last_run_at == endpoint.last_run_at


@given(stored(), ANY_STATUS)
def test_settling_ends_the_lease(endpoint: Endpoint, status: RunStatus) -> None:
    held = claimed(evolve(endpoint, next_run_at=NOW))
    assert ended(held, status, now=at(SECOND)).endpoint.lease is None


@given(stored(**DUE), spans(), st.sampled_from(ENDED))
def test_the_governor_plans_the_next_run_after_the_last_has_been_counted(
    endpoint: Endpoint, lasting_ms: int, status: RunStatus
) -> None:
    held, now = claimed(evolve(endpoint, policy=Policy(), open_slot=None)), at(lasting_ms)
    after = ended(held, status, now=now)
    plan = plan_next_run(now, after.endpoint, CRON)
    assert (after.endpoint.next_run_at, after.endpoint.next_source) == (plan.next_run_at, plan.source)
    assert after.run.verdict


def test_a_hint_written_during_the_run_counts() -> None:
    held = claimed(an_endpoint(baseline=Every(HOUR), next_run_at=NOW))
    hint = IntervalHint(MINUTE, at(HOUR))
    fresh = take_interval_hint(held.endpoint, hint, now=at(1), cron=CRON, origin=ORIGIN).endpoint
    after = settled(fresh, held, Outcome(RunStatus.SUCCESS), now=at(SECOND)).endpoint
    assert (after.next_run_at, after.next_source) == (at(MINUTE), Source.AI_INTERVAL)


def test_a_pause_set_during_the_run_holds_and_one_that_is_over_is_forgotten() -> None:
    held = claimed(an_endpoint(next_run_at=NOW))
    over = evolve(held.endpoint, paused_until=at(SECOND), pause_reason="deploy")
    after = settled(over, held, Outcome(RunStatus.SUCCESS), now=at(SECOND)).endpoint
    assert (after.paused_until, after.pause_reason, after.next_run_at) == (None, None, at(MINUTE))
    held_back = settled(over, held, Outcome(RunStatus.SUCCESS), now=at(SECOND - 1)).endpoint
    assert (held_back.paused_until, held_back.pause_reason) == (at(SECOND), "deploy")
    assert (held_back.next_run_at, held_back.next_source) == (at(SECOND), Source.PAUSED)


@pytest.mark.parametrize(("opens_ms", "expected_ms"), [(MINUTE - 1, MINUTE), (HOUR, HOUR), (SECOND, MINUTE)])
def test_the_next_run_waits_for_the_quota(opens_ms: int, expected_ms: int) -> None:
    held = claimed(an_endpoint(next_run_at=NOW))
    endpoint = evolve(held.endpoint, quota_opens_at=at(opens_ms))
    after = settled(endpoint, held, Outcome(RunStatus.SUCCESS), now=at(SECOND)).endpoint
    assert after.next_run_at == at(expected_ms)
    assert after.quota_opens_at == (at(opens_ms) if opens_ms > SECOND else None)


def test_a_row_tells_what_happened() -> None:
    endpoint = an_endpoint(next_run_at=at(-2500), next_source=Source.MANUAL, job_id="shop", tenant_id="acme")
    outcome = Outcome(RunStatus.FAILURE, 412, "boom", {"code": 500}, "because")
    completion = Completion(claimed(endpoint), outcome, at(SECOND))
    run = settle(completion.claim.endpoint, completion, now=at(2 * SECOND), cron=CRON).run
    assert (run.id, run.tenant_id, run.job_id, run.endpoint_id) == ("run-1", "acme", "shop", "ep-1")
    assert (run.slot, run.attempt, run.source) == (at(-2500), 1, Source.MANUAL)
    assert (run.claimed_at, run.started_at, run.finished_at) == (NOW, NOW, at(SECOND))
    assert (run.status, run.duration_ms, run.error) == (RunStatus.FAILURE, 412, "boom")
    assert (run.response, run.reason, run.late_ms) == ({"code": 500}, "because", 2500)


def test_a_row_that_never_started_is_as_late_as_its_end_and_never_early() -> None:
    early = claimed(an_endpoint(next_run_at=at(SECOND)))
    assert ended(early, RunStatus.CANCELLED, now=NOW).run.late_ms == 0
    assert ended(early, RunStatus.CANCELLED, now=at(1500)).run.late_ms == 500


@pytest.mark.parametrize("status", RunStatus)
def test_slots_missed_while_nobody_ran_it_coalesce_with_their_number(status: RunStatus) -> None:
    late = claimed(an_endpoint(next_run_at=at(-5 * MINUTE - 1)))
    assert ended(late, status, now=at(SECOND)).run.coalesced == 5


@pytest.mark.parametrize(
    ("status", "number"), [(RunStatus.CANCELLED, 0), (RunStatus.ABANDONED, 5), (RunStatus.SKIPPED, 5)]
)
def test_a_claim_that_is_given_back_before_it_starts_stands_for_no_other_slots(
    status: RunStatus, number: int
) -> None:
    ahead = claimed(an_endpoint(next_run_at=at(SECOND)))
    after = ended(ahead, status, now=at(5 * MINUTE + SECOND))
    assert (after.run.coalesced, after.endpoint.missed_slots) == (number, 0)


def test_lateness_is_told_in_whole_milliseconds() -> None:
    late = claimed(an_endpoint(next_run_at=NOW - timedelta(microseconds=2_900)))
    assert repr(ended(late, RunStatus.SUCCESS, now=at(SECOND)).run.late_ms) == "2"


def test_slots_missed_during_a_long_run_are_counted_on_the_next_one() -> None:
    worker = Worker(an_endpoint(next_run_at=NOW))
    worker.run(lasting_ms=5 * MINUTE + SECOND)
    worker.run()
    worker.run()
    assert [row.coalesced for row in worker.rows] == [0, 4, 0]
    assert worker.rows[1].slot == at(5 * MINUTE + SECOND)


def test_fires_missed_during_a_long_run_are_counted_on_the_next_one() -> None:
    worker = Worker(an_endpoint(baseline=Cron("*/1 * * * *"), next_run_at=NOW))
    worker.run(lasting_ms=5 * MINUTE + SECOND)
    worker.run()
    assert [(row.slot, row.coalesced) for row in worker.rows] == [(NOW, 0), (at(6 * MINUTE), 5)]


def test_missed_slots_of_a_long_run_and_of_downtime_add_up() -> None:
    worker = Worker(an_endpoint(next_run_at=NOW))
    worker.run(lasting_ms=3 * MINUTE)
    worker.wait(2 * MINUTE)
    worker.run()
    assert worker.rows[1].coalesced == 2 + 2


def test_a_misfire_skip_moves_the_planning_anchor_and_not_the_last_run() -> None:
    late = claimed(an_endpoint(next_run_at=at(-HOUR), last_run_at=at(-2 * HOUR)))
    after = ended(late, RunStatus.SKIPPED, now=at(SECOND), reason="too late")
    assert (after.endpoint.last_run_at, after.endpoint.skipped_at) == (at(-2 * HOUR), at(SECOND))
    assert after.endpoint.next_run_at == at(SECOND + MINUTE)
    assert after.run.verdict
    assert after.run.reason == "too late"


def test_a_skipped_slot_is_only_the_anchor_until_something_runs_later() -> None:
    endpoint = an_endpoint(skipped_at=at(-MINUTE), last_run_at=at(-SECOND))
    assert plan_next_run(NOW, endpoint, CRON).next_run_at == at(MINUTE - SECOND)


def test_what_runs_once_is_finished_after_its_verdict() -> None:
    worker = Worker(an_endpoint(baseline=Once(NOW), next_run_at=NOW))
    worker.run()
    assert (worker.endpoint.next_run_at, worker.endpoint.next_source) == (None, Source.FINISHED)


def test_where_no_plan_can_be_made_the_run_is_closed_and_the_endpoint_waits_for_a_person() -> None:
    held = claimed(an_endpoint(next_run_at=NOW))
    after = unplannable(
        held.endpoint, Completion(held, Outcome(RunStatus.SUCCESS), at(1)), "its cron line is gone"
    )
    assert (after.endpoint.paused_until, after.endpoint.next_run_at) == (FOREVER, FOREVER)
    assert (after.endpoint.pause_reason, after.endpoint.lease) == ("its cron line is gone", None)
    assert (after.run.status, after.run.verdict, after.run.coalesced) == (RunStatus.SUCCESS, True, 0)


def moments_between(worker: Worker, runs: int) -> list[datetime]:
    for _ in range(runs):
        worker.run(lasting_ms=SECOND)
    return [row.started_at for row in worker.rows if row.started_at]


def test_an_interval_is_measured_from_start_to_start() -> None:
    starts = moments_between(Worker(an_endpoint(next_run_at=NOW)), 3)
    assert [start - NOW for start in starts] == [milliseconds(number * MINUTE) for number in range(3)]


@pytest.mark.parametrize("status", ENDED)
def test_a_run_during_which_the_clock_was_set_back_ran_now(status: RunStatus) -> None:
    """Otherwise the next run of an interval would lie ahead by as much as the clock was set back."""
    earlier = NOW - timedelta(hours=1)
    after = ended(claimed(an_endpoint(baseline=Every(MINUTE), next_run_at=NOW)), status, now=earlier).endpoint
    assert (after.last_run_at, after.next_run_at) == (earlier, earlier + timedelta(minutes=1))


@pytest.mark.parametrize("status", ENDED)
def test_what_runs_once_is_finished_also_if_the_clock_was_set_back_meanwhile(status: RunStatus) -> None:
    """Otherwise its moment would come again, and the same slot would get a second verdict."""
    held = claimed(an_endpoint(baseline=Once(NOW), next_run_at=NOW))
    after = ended(held, status, now=NOW - timedelta(hours=1)).endpoint
    assert (after.next_run_at, after.next_source) == (None, Source.FINISHED)


def test_what_ran_once_stays_finished_when_it_runs_again_by_a_clock_that_was_set_back() -> None:
    earlier = NOW - timedelta(hours=1)
    finished = an_endpoint(baseline=Once(NOW), last_run_at=NOW, next_run_at=earlier)
    after = ended(claimed(finished, now=earlier), RunStatus.SUCCESS, now=earlier).endpoint
    assert (after.next_run_at, after.next_source) == (None, Source.FINISHED)


@pytest.mark.parametrize("status", [*ENDED, RunStatus.ABANDONED])
def test_a_one_shot_is_served_by_its_run_also_if_the_clock_was_set_back_meanwhile(status: RunStatus) -> None:
    """Otherwise it would fire again, or expire as a second verdict on its slot."""
    hint = OneShotHint(NOW, NOW + timedelta(minutes=30))
    held = claimed(an_endpoint(one_shot_hint=hint, next_run_at=NOW))
    assert ended(held, status, now=NOW - timedelta(hours=1)).endpoint.one_shot_hint is None
