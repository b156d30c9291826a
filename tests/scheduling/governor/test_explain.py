"""Why the next run is when it is, in words."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.scheduling.abandon import OWN_ORIGIN
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.endpoint import Endpoint, Lease
from cadenza.domain.scheduling.explain import Explanation, explain
from cadenza.domain.scheduling.hint import HintMode, IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import SOURCE_REASONS, Source
from cadenza.domain.scheduling.policy import Backoff, Guard, Policy
from cadenza.domain.wording import span_in_words

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def why(**fields: Any) -> Explanation:
    usual: dict[str, Any] = {
        "id": "traffic",
        "name": "Traffic",
        "last_run_at": NOW - 20 * timedelta(seconds=1),
        "next_run_at": NOW + 40 * timedelta(seconds=1),
        "next_source": Source.BASELINE_INTERVAL,
    }
    return explain(Endpoint(**(usual | fields)), now=NOW, cron=CronsimCron())


def words(**fields: Any) -> str:
    return " ".join(why(**fields).sentences)


def test_it_answers_with_the_moment_and_the_rule_that_set_it() -> None:
    assert words() == (
        "Traffic runs next at 2030-01-01T12:00:40Z, in 40 seconds: set by its baseline interval."
        " Baseline: every minute. No active hints."
    )


@pytest.mark.parametrize("source", list(Source))
def test_every_source_has_its_words(source: Source) -> None:
    assert SOURCE_REASONS[source] in words(next_source=source)


def test_hints_are_told_with_their_reasons() -> None:
    hint = IntervalHint(20_000, NOW + 30 * MINUTE, "surge", "rule:sale")
    shot = OneShotHint(NOW + MINUTE, NOW + 9 * MINUTE, "look closer", "dashboard")
    told = words(interval_hint=hint, one_shot_hint=shot)
    assert (
        "An interval hint (rule: sale) sets every 20 seconds instead of the baseline"
        " until 2030-01-01T12:30:00Z (surge)." in told
    )
    assert "A one-shot hint (person: dashboard) sets a run at 2030-01-01T12:01:00Z (look closer)." in told
    assert "if that is sooner" in words(interval_hint=hint, hint_mode=HintMode.TIGHTEN)


def test_a_function_that_no_running_program_has_is_told() -> None:
    endpoint = Endpoint(id="traffic", name="Traffic", next_run_at=NOW - MINUTE)

    def told(declared_at: datetime | None) -> str:
        sentences = explain(endpoint, now=NOW, cron=CronsimCron(), declared_at=declared_at).sentences
        return " ".join(sentences)

    last = "No running program declares its function; it was last declared at 2030-01-01T11:57:00Z."
    assert last in told(NOW - 3 * MINUTE)
    assert "No running program" not in told(NOW - 2 * MINUTE)
    assert "No running program" not in told(None)


def test_hints_that_are_over_are_not_told() -> None:
    stale = IntervalHint(20_000, NOW, "surge")
    served = OneShotHint(NOW - MINUTE, NOW + MINUTE, "look closer")
    told = words(interval_hint=stale, one_shot_hint=served)
    assert "No active hints." in told
    assert "surge" not in told
    assert "look closer" not in told


def test_a_pause_is_told_as_what_keeps_it_from_running() -> None:
    explanation = why(
        paused_until=NOW + MINUTE, pause_reason="deploy", pause_origin="cli", next_run_at=NOW + MINUTE
    )
    assert explanation.gate == "paused until 2030-01-01T12:01:00Z"
    gate = "paused until 2030-01-01T12:01:00Z (person: command line) (deploy)"
    assert f"No runs start: {gate}." in explanation.sentences


def test_what_is_due_says_for_how_long() -> None:
    assert "has been due since 2030-01-01T11:58:30Z (1 minute 30 seconds ago): " in words(
        next_run_at=NOW - 1.5 * MINUTE
    )
    assert "has been due since 2030-01-01T12:00:00Z: " in words(next_run_at=NOW)


def test_what_runs_now_is_not_told_a_next_moment() -> None:
    assert words(lease=Lease("token", "run", NOW)).startswith("Traffic is running now;")


def test_what_is_finished_says_so() -> None:
    once = Once(NOW - MINUTE)
    told = words(baseline=once, last_run_at=NOW, next_run_at=None, next_source=Source.FINISHED)
    assert told.startswith("Traffic has no next run: its schedule is finished.")
    assert "one-time, at 2030-01-01T11:59:00Z" in told


@pytest.mark.parametrize(
    ("guard", "sentence"),
    [
        (Guard(20_000, 300_000), "Guard: minimum interval 20 seconds, maximum interval 5 minutes."),
        (Guard(20_000), "Guard: minimum interval 20 seconds."),
        (Guard(None, 300_000), "Guard: maximum interval 5 minutes."),
    ],
)
def test_the_guard_is_told(guard: Guard, sentence: str) -> None:
    assert sentence in words(guard=guard)


def test_failures_are_told_and_what_they_stretch() -> None:
    assert "1 consecutive failure." in words(failure_count=1)
    stretched = words(failure_count=3, policy=Policy(backoff=Backoff.EXPONENTIAL), baseline=Every(60_000))
    assert "3 consecutive failures: backoff extends its baseline interval to 8 minutes." in stretched


def test_what_the_governor_would_choose_now_is_told_where_it_differs() -> None:
    told = words(next_run_at=NOW + 5 * MINUTE, next_source=Source.MANUAL)
    assert "Calculated now, the next run would be 2030-01-01T12:00:40Z (baseline-interval)." in told
    overdue = words(next_run_at=NOW + 5 * MINUTE, last_run_at=NOW - 5 * MINUTE)
    assert "the next run would be now (baseline-interval)." in overdue


def test_what_never_ran_is_not_told_a_plan_that_moves_with_the_clock() -> None:
    assert "Calculated now" not in words(last_run_at=None)
    assert "Calculated now" in words(last_run_at=None, next_source=Source.MANUAL)


def test_a_cron_line_is_told_with_its_zone() -> None:
    assert "cron expression 0 9 * * * (Europe/Berlin)" in words(baseline=Cron("0 9 * * *", "Europe/Berlin"))


@pytest.mark.parametrize(
    ("length", "said"),
    [
        (timedelta(milliseconds=1), "1 ms"),
        (timedelta(0), "0 ms"),
        (timedelta(seconds=1, milliseconds=500), "1 second 500 ms"),
        (timedelta(hours=2), "2 hours"),
        (timedelta(days=1, hours=3, minutes=5), "1 day 3 hours"),
    ],
)
def test_spans_are_said_as_people_say_them(length: timedelta, said: str) -> None:
    assert span_in_words(length) == said


@pytest.mark.parametrize(
    ("deaths", "alone", "told"),
    [
        (1, 0, "died 1 time during a run. Until a run completes, it runs together with only a few other"),
        (2, 0, "died 2 times during a run. Until a run completes, it runs together with no other suspect."),
        (3, 2, "died 3 times during a run, 2 times alone. Until a run completes, it runs alone in its"),
    ],
)
def test_a_suspect_is_told_with_how_it_is_tried(deaths: int, alone: int, told: str) -> None:
    found = words(abandoned_count=deaths, abandoned_alone_count=alone)
    assert f"Suspect: its worker process {told}" in found


def test_what_was_given_up_is_told_with_its_reason_and_without_a_moment() -> None:
    given_up = {"paused_until": FOREVER, "next_run_at": FOREVER, "pause_origin": OWN_ORIGIN}
    assert words(**given_up, pause_reason="it died; resume it", abandoned_count=3) == (
        "Traffic is paused until resumed: it died; resume it. Baseline: every minute. No active hints."
    )


def test_a_pause_without_an_end_is_told_as_until_resumed() -> None:
    paused = {"paused_until": FOREVER, "next_run_at": FOREVER, "next_source": Source.PAUSED}
    assert words(**paused, pause_origin="cli").startswith(
        "Traffic is paused until resumed. No runs start: paused until resumed (person: command line)."
    )
