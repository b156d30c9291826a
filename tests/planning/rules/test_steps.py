"""The tool calls of steps, whether they would change anything, and the variables of rules."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from tests.planning.rules.test_rule import a_rule
from tests.scheduling.endpoint_strategies import crons, everies, spans

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.planning.rules.context import VARIABLES, RuleContext, rule_variables
from cadenza.domain.planning.rules.incidents import NO_INCIDENT, Evaluation
from cadenza.domain.planning.rules.rule import (
    ClearStep,
    PauseStep,
    ProposeIntervalStep,
    ProposeNextTimeStep,
    Step,
    WakeStep,
)
from cadenza.domain.planning.rules.steps import has_no_effect, tool_requests
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.domain.validation import milliseconds
from cadenza.engine.steering_commands import ProposeInterval, SteeringContext
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR as NOW

CRON = CronsimCron()
RULE = a_rule(name="too slow")
MINUTE = timedelta(minutes=1)


def hinted(interval_ms: int, *, left: timedelta = 30 * MINUTE, **fields: Any) -> Endpoint:
    return an_endpoint(interval_hint=IntervalHint(interval_ms, NOW + left), **fields)


def paused(span: timedelta = MINUTE) -> Endpoint:
    return an_endpoint(paused_until=NOW + span)


def called(step: Step, endpoint: Endpoint | None = None) -> list[tuple[str, dict[str, Any]]]:
    told = tool_requests(step, endpoint or an_endpoint(), rule=RULE, now=NOW)
    return [(tool, dict(arguments)) for tool, arguments in told]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (
            ProposeIntervalStep(interval_ms=20_000, ttl_minutes=5),
            [("propose_interval", {"intervalMs": 20_000, "ttlMinutes": 5})],
        ),
        (ProposeNextTimeStep(in_ms=7), [("propose_next_time", {"nextRunInMs": 7})]),
        (
            ProposeNextTimeStep(in_ms=7, ttl_minutes=2),
            [("propose_next_time", {"nextRunInMs": 7, "ttlMinutes": 2})],
        ),
        (PauseStep(for_ms=60_000), [("pause_until", {"untilIso": "2025-01-01T00:01:00Z"})]),
        (PauseStep(for_ms=None), [("pause_until", {"untilIso": None})]),
        (WakeStep(), [("propose_next_time", {"nextRunInMs": 0}), ("pause_until", {"untilIso": None})]),
        (ClearStep(), [("propose_interval", {"intervalMs": 60_000, "ttlMinutes": 1 / 60_000})]),
    ],
)
def test_a_step_is_tools_with_the_rule_as_their_reason(
    step: Step, expected: list[tuple[str, dict[str, Any]]]
) -> None:
    assert called(step) == [(tool, {**arguments, "reason": "too slow"}) for tool, arguments in expected]


def test_a_step_may_add_to_the_reason() -> None:
    ((_, arguments),) = called(ProposeNextTimeStep(in_ms=0, reason="look again"))
    assert arguments["reason"] == "too slow: look again"


def test_no_pause_goes_beyond_the_end_of_time() -> None:
    late = FOREVER - MINUTE
    ((_, arguments),) = tool_requests(PauseStep(for_ms=3_600_000), an_endpoint(), rule=RULE, now=late)
    assert arguments["untilIso"] == "9999-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("step", "endpoint", "so"),
    [
        (ProposeIntervalStep(interval_ms=60_000), an_endpoint(), True),
        (ProposeIntervalStep(interval_ms=20_000), an_endpoint(), False),
        (ProposeIntervalStep(interval_ms=60_000), an_endpoint(baseline=Cron("* * * * *")), False),
        (ProposeIntervalStep(interval_ms=20_000), hinted(20_000, left=31 * MINUTE), True),
        (ProposeIntervalStep(interval_ms=20_000), hinted(20_000, left=30 * MINUTE), False),
        (ProposeIntervalStep(interval_ms=20_000, ttl_minutes=58), hinted(20_000, left=30 * MINUTE), True),
        (ProposeIntervalStep(interval_ms=20_000), hinted(20_000, left=timedelta(0)), False),
        (ProposeIntervalStep(interval_ms=60_000), hinted(20_000, left=timedelta(0)), True),
        (ProposeIntervalStep(interval_ms=60_000), hinted(20_000), False),
        (ProposeIntervalStep(interval_ms=20_000), hinted(30_000, left=59 * MINUTE), False),
        (ProposeNextTimeStep(in_ms=0), an_endpoint(), False),
        (PauseStep(for_ms=60_000), an_endpoint(), False),
        (PauseStep(for_ms=3), paused(timedelta(microseconds=1_400)), True),
        (PauseStep(for_ms=60_000), paused(timedelta(seconds=30)), False),
        (PauseStep(for_ms=60_000), paused(timedelta(seconds=30, milliseconds=1)), True),
        (PauseStep(for_ms=None), an_endpoint(), True),
        (PauseStep(for_ms=None), paused(), False),
        (WakeStep(), an_endpoint(), True),
        (WakeStep(), paused(), False),
        (WakeStep(), paused(timedelta(0)), True),
        (ClearStep(), an_endpoint(), True),
        (ClearStep(), hinted(20_000), False),
        (ClearStep(), hinted(20_000, left=timedelta(0)), True),
    ],
)
def test_a_step_that_would_change_nothing(step: Step, endpoint: Endpoint, *, so: bool) -> None:
    assert has_no_effect(step, endpoint, NOW) is so


@given(baseline=everies() | crons(), interval_ms=spans(), ran_ago=spans())
def test_to_clear_is_to_plan_as_if_there_had_been_no_hint(
    baseline: Baseline, interval_ms: int, ran_ago: int
) -> None:
    bare = an_endpoint(baseline=baseline, last_run_at=NOW - milliseconds(ran_ago))
    hint = IntervalHint(interval_ms, NOW + MINUTE)
    stored = plan_next_run(NOW, evolve(bare, interval_hint=hint), CRON).next_run_at
    steered = evolve(bare, interval_hint=hint, next_run_at=stored, next_source=Source.AI_INTERVAL)
    ((_, arguments),) = called(ClearStep(), steered)
    by = SteeringContext(now=NOW, cron=CRON, origin="rules")
    after = ProposeInterval.parse(arguments).apply(steered, by).endpoint
    assert has_no_effect(ClearStep(), after, NOW + milliseconds(1))
    unhinted = plan_next_run(NOW, bare, CRON).next_run_at
    assert stored is not None
    assert unhinted is not None
    sooner = min(stored, NOW + _length(baseline))
    due = stored <= NOW
    assert after.next_run_at == (sooner if due else max(sooner, unhinted, NOW + milliseconds(1)))


def _length(baseline: Baseline) -> timedelta:
    return milliseconds(baseline.interval_ms) if isinstance(baseline, Every) else timedelta(days=3_650)


def a_run(number: int, status: RunStatus = RunStatus.SUCCESS, **fields: Any) -> Run:
    given: dict[str, Any] = {
        "id": f"run-{number}",
        "tenant_id": "default",
        "job_id": "job",
        "endpoint_id": "endpoint",
        "slot": NOW,
        "due_at": NOW,
        "attempt": 1,
        "source": Source.BASELINE_INTERVAL,
        "claimed_at": NOW,
        "finished_at": NOW,
        "status": status,
        "duration_ms": number,
        "late_ms": 3,
    }
    return Run(**(given | fields))


HTTP = an_endpoint("web", target=HttpTarget("https://example.com"), labels={"team": "web"}, failure_count=2)


def test_rules_see_the_newest_run_that_ran_and_those_before() -> None:
    answer = {"status": 200, "headers": {"etag": "x"}, "size": 2, "truncated": False, "body": {"a": [1]}}
    recent = [a_run(3, RunStatus.SKIPPED), a_run(2, response=answer), a_run(1, RunStatus.FAILURE)]
    seen = rule_variables(HTTP, NOW, is_new=True, recent=recent)
    assert tuple(seen) == VARIABLES
    assert seen["response"] == {
        "ok": True,
        "latency_ms": 2,
        "status": 200,
        "headers": {"etag": "x"},
        "body": {"a": [1]},
    }
    told = {"status": "success", "late_ms": 3, "attempt": 1, "source": "baseline-interval"}
    assert seen["run"] == {**told, "is_new": True}
    assert seen["recent"] == [
        {"response": seen["response"], "run": told},
        {"response": {"ok": False, "latency_ms": 1}, "run": {**told, "status": "failure"}},
    ]
    assert seen["endpoint"] == {
        "name": "web",
        "labels": {"team": "web"},
        "paused": False,
        "failures": 2,
        "interval_ms": 60_000,
    }
    assert seen["now"] == NOW


def test_without_a_run_there_is_nothing_to_see_of_one() -> None:
    seen = rule_variables(HTTP, NOW, is_new=True)
    assert (seen["response"], seen["run"], seen["recent"]) == ({}, {"is_new": False}, [])


@pytest.mark.parametrize(
    ("response", "body"),
    [({"text": "hello"}, "hello"), ({"body": None, "status": 204}, None), ({"body": [1], "text": "x"}, [1])],
)
def test_a_body_is_json_or_text(response: Any, body: Any) -> None:
    assert rule_variables(HTTP, NOW, recent=[a_run(1, response=response)])["response"]["body"] == body


@pytest.mark.parametrize("response", [None, [], "text", {"size": 3}])
def test_an_answer_without_a_body_has_none(response: Any) -> None:
    assert rule_variables(HTTP, NOW, recent=[a_run(1, response=response)])["response"].keys() == {
        "ok",
        "latency_ms",
    }


def test_what_a_function_returned_is_all_body() -> None:
    returned: Any = {"status": "fine", "body": 1}
    assert (
        rule_variables(an_endpoint(), NOW, recent=[a_run(1, response=returned)])["response"]["body"]
        == returned
    )
    assert "body" not in rule_variables(an_endpoint(), NOW, recent=[a_run(1)])["response"]


def test_rules_see_siblings_and_their_latest_answers() -> None:
    siblings = {
        "ran": an_endpoint("ran", next_run_at=NOW + MINUTE),
        "skipped": an_endpoint("skipped", paused_until=NOW + MINUTE, next_run_at=NOW - MINUTE),
        "never": an_endpoint("never", baseline=Cron("* * * * *"), next_run_at=None),
    }
    latest = {"ran": a_run(1, response={"x": 1}), "skipped": a_run(2, RunStatus.SKIPPED)}
    assert rule_variables(HTTP, NOW, siblings=siblings, latest=latest)["siblings"] == {
        "ran": {
            "paused": False,
            "failures": 0,
            "interval_ms": 60_000,
            "last": {"ok": True, "latency_ms": 1, "body": {"x": 1}},
            "next_in_ms": 60_000,
        },
        "skipped": {"paused": True, "failures": 0, "interval_ms": 60_000, "next_in_ms": 0},
        "never": {"paused": False, "failures": 0},
    }


def test_rules_see_where_an_endpoint_stands_at_this_moment() -> None:
    endpoint = hinted(20_000, paused_until=NOW + MINUTE, next_run_at=NOW + timedelta(microseconds=1_500))
    seen = rule_variables(endpoint, NOW, siblings={"same": endpoint})
    standing = {"paused": True, "failures": 0, "interval_ms": 20_000}
    assert seen["endpoint"] == {"name": "endpoint", "labels": {}, **standing}
    assert seen["siblings"]["same"] == {**standing, "next_in_ms": 1}
    assert type(seen["siblings"]["same"]["next_in_ms"]) is int
    later = rule_variables(endpoint, NOW + timedelta(hours=1))["endpoint"]
    assert (later["paused"], later["interval_ms"]) == (False, 60_000)


def test_a_run_is_new_only_if_somebody_says_so() -> None:
    assert rule_variables(HTTP, NOW, recent=[a_run(1)])["run"]["is_new"] is False
    assert RuleContext(NOW, HTTP, recent=[a_run(1)]).variables["run"]["is_new"] is False


def test_a_context_has_all_the_variables_it_was_given() -> None:
    told: dict[str, Any] = {
        "is_new": True,
        "recent": [a_run(1)],
        "siblings": {"back": an_endpoint("back")},
        "latest": {"back": a_run(2)},
    }
    context = RuleContext(NOW, HTTP, **told)
    assert context.variables == rule_variables(HTTP, NOW, **told)
    assert context.variables["siblings"]["back"]["last"] == {"ok": True, "latency_ms": 2}


def test_a_context_says_what_a_step_calls_and_on_which_endpoint() -> None:
    sibling = an_endpoint("sibling")
    context = RuleContext(NOW, HTTP, siblings={"sibling": sibling})
    step = PauseStep(endpoint="sibling", for_ms=60_000)
    ((endpoint, call),) = context.tool_requests(RULE, step)
    assert endpoint is sibling
    assert call == tool_requests(step, sibling, rule=RULE, now=NOW)[0]
    decision = context.decide(a_rule(then=step), NO_INCIDENT, Evaluation(None, "why"))
    assert decision.state.trouble == "why"


def test_a_context_finds_the_endpoint_of_a_step_as_it_was_last_steered() -> None:
    own, sibling = an_endpoint("own"), an_endpoint("sibling", paused_until=NOW + MINUTE)
    context = RuleContext(NOW, own, siblings={"sibling": sibling})
    assert context.endpoint_of(ClearStep()) is own
    assert context.endpoint_of(ClearStep(endpoint="own")) is own
    assert context.endpoint_of(ClearStep(endpoint="sibling")) is sibling
    assert context.endpoint_of(ClearStep(endpoint="nobody")) is None
    assert context.tool_requests(RULE, ClearStep(endpoint="nobody")) == []
    wake = a_rule(then=WakeStep(endpoint="sibling"))
    assert _decide(context, wake) == (wake.then,)
    context.update(evolve(sibling, paused_until=None))
    assert _decide(context, wake) == ()
    stranger = a_rule(then=WakeStep(endpoint="nobody"))
    assert _decide(context, stranger) == (stranger.then,), "so that somebody is told"


def _decide(context: RuleContext, rule: Any) -> tuple[Step, ...]:
    return context.decide(rule, NO_INCIDENT, Evaluation(holds=True)).steps
