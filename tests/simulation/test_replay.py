"""Recorded history under another policy: the product's own governor and planners, the record's answers."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.calendars.calendar import calendar_of
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.ports.planning import Planner
from cadenza.ports.store import Store
from cadenza.roots.replay import policy_named
from cadenza.sim.adaptive_policies import AimdPlanner, BackoffPlanner
from cadenza.sim.replay.replay import RecordedHistory, ReplayPolicy, ReplayResult, recorded_history, replay
from cadenza.sim.replay.report import replay_document
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR

MINUTE_S = 60
HOUR_OF_MINUTES = range(0, 3_660, MINUTE_S)


def a_run(second: float, value: Any, status: RunStatus = RunStatus.SUCCESS, name: str = "endpoint") -> Run:
    moment = NEW_YEAR + timedelta(seconds=second)
    return Run(
        id=f"{second:09.0f}",
        tenant_id="default",
        job_id="default",
        endpoint_id=name,
        slot=moment,
        due_at=moment,
        attempt=1,
        source=Source.BASELINE_INTERVAL,
        claimed_at=moment,
        started_at=None if status is RunStatus.SKIPPED else moment,
        finished_at=moment,
        status=status,
        verdict=True,
        response=value,
    )


def a_record(runs: Sequence[Run], **fields: Any) -> RecordedHistory:
    found = recorded_history(an_endpoint(**fields), runs)
    assert found is not None
    return found


def an_hour(changing_at: set[int] = frozenset({1_200, 2_400}), **fields: Any) -> RecordedHistory:  # type: ignore[assignment]
    """A look a minute, for an hour, and changes that the looks at these seconds show first."""
    looks = [a_run(second, sum(at <= second for at in changing_at)) for second in HOUR_OF_MINUTES]
    return a_record(looks, **fields)


async def course(policy: ReplayPolicy, *records: RecordedHistory) -> ReplayResult:
    return (await replay(records or (an_hour(),), [policy])).others[0]


def planned_by(planner: type[BackoffPlanner] | type[AimdPlanner]) -> ReplayPolicy:
    async def make_planners(_: Store) -> Sequence[Planner]:
        return [planner()]

    return ReplayPolicy(name=planner.__name__, make_planners=make_planners)


def fixed(seconds: int) -> ReplayPolicy:
    return ReplayPolicy(name="fixed", baseline=Every(seconds * 1_000))


async def test_the_same_cadence_leads_to_the_same_course() -> None:
    replayed = await replay([an_hour()], [ReplayPolicy(name="baseline")])
    assert replayed.changes == 2
    assert replayed.recorded.runs == 60
    assert replayed.others[0].runs == 60
    assert list(replayed.others[0].delays) == list(replayed.recorded.delays)


async def test_half_the_runs_notice_later() -> None:
    found = await course(fixed(7 * MINUTE_S))
    assert found.runs == 8
    assert [delay.least_s for delay in found.delays] == [60, 120]
    assert [delay.most_s for delay in found.delays] == [120, 180]


async def test_finer_looks_cost_more_and_are_bounded_by_their_own_gap() -> None:
    found = await course(fixed(10))
    assert found.runs == 360
    assert {delay.most_s for delay in found.delays} == {10}
    assert {delay.least_s for delay in found.delays} == {0}


async def test_the_guard_bounds_every_policy() -> None:
    found = await course(fixed(1), an_hour(guard=Guard(min_interval_ms=30_000)))
    assert found.runs == 120


async def test_cron_is_played_by_the_governor() -> None:
    found = await course(ReplayPolicy(name="baseline"), an_hour(baseline=Cron("*/10 * * * *")))
    assert found.runs == 6


@pytest.mark.parametrize("field", ["never_during", "job_never_during"])
async def test_what_is_replayed_keeps_to_its_calendars_and_those_of_its_job(field: str) -> None:
    half_an_hour = [(NEW_YEAR + timedelta(minutes=15), NEW_YEAR + timedelta(minutes=45))]
    rules = CalendarRules(**{field: calendar_of("maintenance", "UTC", half_an_hour)})  # type: ignore[arg-type]
    found = await course(ReplayPolicy(name="baseline"), an_hour(calendar_rules=rules))
    assert 25 < found.runs <= 31


async def test_backoff_looks_ever_less_often_until_something_changes() -> None:
    found = await course(planned_by(BackoffPlanner))
    assert found.runs < 30
    assert found.unnoticed == 0
    calm = await course(planned_by(BackoffPlanner), an_hour(set()))
    assert calm.runs < found.runs
    assert list(calm.delays) == []


async def test_aimd_lengthens_by_steps_and_halves() -> None:
    calm = await course(planned_by(AimdPlanner), an_hour(set()))
    assert 20 < calm.runs < 60
    busy = await course(planned_by(AimdPlanner), an_hour(set(HOUR_OF_MINUTES)))
    assert busy.runs > 200


async def test_a_replay_is_always_the_same() -> None:
    first = await replay([an_hour()], [planned_by(AimdPlanner), planned_by(BackoffPlanner), fixed(45)])
    again = await replay([an_hour()], [planned_by(AimdPlanner), planned_by(BackoffPlanner), fixed(45)])
    assert first == again
    assert replay_document(first) == replay_document(again)


async def test_what_was_skipped_showed_nothing() -> None:
    skipped = a_run(90, None, RunStatus.SKIPPED)
    record = a_record([a_run(0, 1), skipped, a_run(180, 1)])
    assert len(record.runs) == 2
    assert record.changes() == []


async def test_a_failure_is_a_change_and_so_is_its_end() -> None:
    looks = [a_run(0, 1), a_run(60, None, RunStatus.FAILURE), a_run(120, 1)]
    assert len(a_record(looks).changes()) == 2


def test_one_look_is_too_few() -> None:
    assert recorded_history(an_endpoint(), [a_run(0, 1)]) is None
    assert recorded_history(an_endpoint(), []) is None


async def test_a_change_that_no_run_notices_is_counted() -> None:
    found = await course(fixed(3 * 3_600))
    assert found.runs == 0
    assert found.unnoticed == 2
    assert min(delay.least_s for delay in found.delays) >= 3_600


async def test_an_endpoint_that_stays_paused_is_never_looked_at() -> None:
    found = await course(fixed(60), an_hour(paused_until=FOREVER))
    assert found.runs == 0
    assert found.unnoticed == 2


async def test_endpoints_of_a_job_are_played_together() -> None:
    other = a_record([a_run(second, 1, name="other") for second in (600, 1_200)], name="other")
    replayed = await replay([an_hour(), other], [fixed(120)])
    assert replayed.endpoints == ["endpoint", "other"]
    assert replayed.recorded.runs == 61
    assert replayed.others[0].runs == 30 + 5


async def test_a_replay_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cadenza.sim.replay.replay.MOST_RUNS", 100)
    with pytest.raises(InvalidRequest, match="would look more than 100 times"):
        await course(fixed(1))


@pytest.mark.parametrize(
    "word", ["fixed", "fixed:", "fixed:-1s", "backoff:2", "", "learned:x", "nobody", "rules"]
)
def test_an_unknown_policy_is_refused(word: str) -> None:
    with pytest.raises(InvalidRequest):
        policy_named(word)
