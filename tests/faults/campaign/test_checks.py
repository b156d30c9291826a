"""Each check of a campaign finds what it is there for; a check that finds nothing would prove nothing."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.faults.agents.database_history import DatabaseHistory
from tests.faults.campaign.checks import (
    firings,
    ignored_steering,
    left_open,
    tracebacks,
    unrecorded_requests,
    unserved,
)
from tests.faults.campaign.listeners import Listener
from tests.faults.campaign.people import Steered
from tests.faults.campaign.plan import CampaignPlan, FaultKind
from tests.faults.scheduling.history_checks import History, violations

from cadenza.domain.scheduling.endpoint import OpenSlot
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.testing import an_endpoint

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
KEY = "default:a:2030-01-01T12:00:00Z"


def a_run(run_id: str = "one", **parts: Any) -> Run:
    """A run at noon that went well, unless its parts say otherwise."""
    run = Run(
        id=run_id,
        tenant_id="default",
        job_id="base",
        endpoint_id="a",
        slot=NOON,
        due_at=NOON,
        attempt=1,
        source=Source.BASELINE_INTERVAL,
        claimed_at=NOON,
        started_at=NOON,
        status=RunStatus.SUCCESS,
        verdict=True,
    )
    return run._replace(**parts)


def a_history(*runs: Run, **parts: Any) -> History:
    return {"a": (an_endpoint("a", **parts), list(runs))}


def steered(kind: str, seconds: float) -> Steered:
    moment = NOON + timedelta(seconds=seconds)
    return Steered(kind, "a", f"{kind} {seconds}", moment, moment)


RETRIED = a_run(status=RunStatus.FAILURE, verdict=False)
LOST = a_run(status=RunStatus.ABANDONED, verdict=False)


@pytest.mark.parametrize(
    ("history", "seen"),
    [
        (a_history(a_run()), {"one": 2}),
        (a_history(a_run()), {"another": 1}),
        (a_history(a_run(), a_run("two")), {}),
        (a_history(LOST), {}),
        (a_history(a_run(verdict=False), a_run("two")), {"one": 1, "two": 1}),
        (a_history(RETRIED, a_run("two")), {"one": 1, "two": 1}),
    ],
    ids=["dispatched twice", "no row", "two verdicts", "no verdict", "ran again", "no retries allowed"],
)
def test_runs_that_break_a_promise_are_found(history: History, seen: dict[str, int]) -> None:
    assert len(list(violations(history, Counter(seen)))) == 1


@pytest.mark.parametrize(
    "history",
    [
        a_history(LOST, a_run("two")),
        a_history(RETRIED, a_run("two"), policy=Policy(max_attempts=2)),
        a_history(LOST, archived=True),
    ],
    ids=["lost and marked so", "retried", "deleted before it was tried again"],
)
def test_runs_that_keep_their_promises_are_not(history: History) -> None:
    seen = Counter({run.id: 1 for _, runs in history.values() for run in runs})
    assert list(violations(history, seen)) == []


def test_a_request_that_no_run_accounts_for_is_found() -> None:
    history = a_history(a_run(), a_run("two", started_at=None))
    assert list(unrecorded_requests(history, Counter({KEY: 1}))) == []
    assert len(list(unrecorded_requests(history, Counter({KEY: 2})))) == 1


def test_what_is_left_open_is_found() -> None:
    history = a_history(a_run(status=None), open_slot=OpenSlot(NOON, 1))
    assert len(list(left_open(history))) == 2
    assert list(unserved(history, ["a"])) == []
    assert len(list(unserved(a_history(), ["a"]))) == 1


@pytest.mark.parametrize(("seconds", "found"), [(-1, 0), (1, 1), (3, 0)])
def test_a_start_during_a_pause_is_found(seconds: float, found: int) -> None:
    history = a_history(a_run(started_at=NOON + timedelta(seconds=seconds)))
    calls = [steered("pause_until", 0), steered("resume", 2)]
    assert len(list(ignored_steering(history, calls))) == found


def test_a_start_after_a_deletion_is_found_and_so_is_what_was_not_deleted() -> None:
    late = a_run(started_at=NOON + timedelta(seconds=1))
    assert len(list(ignored_steering(a_history(late, archived=True), [steered("delete", 0)]))) == 1
    assert len(list(ignored_steering(a_history(), [steered("delete", 0)]))) == 1


def test_a_prompt_that_fired_twice_is_found_with_its_runs_unless_it_was_resumed() -> None:
    once = Counter({"wish": 1})
    messages = DatabaseHistory(once, Counter({"wish": 2}), once, once, Counter())
    history = {"wish": (an_endpoint("wish"), [a_run(status=RunStatus.FAILURE, error="no model")])}
    told = "wish has 2 prompts; its runs: failure no model"
    assert list(firings(messages, history, ["wish"], resumed=set())) == [told]
    assert list(firings(messages, history, ["wish"], resumed={"wish"})) == []


def test_a_prompt_that_failed_is_over_when_it_was_tried_as_often_as_it_may_be() -> None:
    once = Counter({"wish": 1})
    messages = DatabaseHistory(Counter(), once, once, once, Counter())
    last = a_run(status=RunStatus.FAILURE, error="lost", attempt=3)
    for runs, problems in (([last], 0), ([last._replace(attempt=2)], 1), ([last, last], 1), ([], 1)):
        history = {"wish": (an_endpoint("wish"), runs)}
        assert len(list(firings(messages, history, ["wish"], resumed=set()))) == problems


def test_messages_out_of_order_and_numbers_given_twice_are_found() -> None:
    listener = Listener("ada", "token")
    for seq, text in ((1, "a"), (3, "c"), (2, "b"), (3, "another")):
        listener._take({"type": "subtitle", "seq": seq, "text": text}, Random(1))
    assert listener.violations == ["ada was sent 2 after 3", "ada has two messages with the number 3"]


def test_a_traceback_in_a_log_is_found(tmp_path: Path) -> None:
    (tmp_path / "err-1").write_text("ready\nTraceback (most recent call last):\n  File x\nValueError: no\n")
    (tmp_path / "err-2").write_text('{"event": "ready"}\n')
    assert list(tracebacks(tmp_path)) == ["err-1 has 1 tracebacks, the last of them ValueError: no"]


def test_a_seed_draws_the_same_faults_and_at_least_one_of_each_kind() -> None:
    plan = CampaignPlan(kills=5, seed=3)
    assert list(plan.faults()) == list(plan.faults()) != list(plan._replace(seed=4).faults())
    assert {fault.kind for fault in plan.faults()} == set(FaultKind)
