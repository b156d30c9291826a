"""A lower rank leaves a fresh decision of a higher one as it is, whatever the tool."""

from collections.abc import Callable
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.scheduling.abandon import OWN_ORIGIN
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.explain import explain
from cadenza.domain.scheduling.hint import (
    HintKind,
    IntervalHint,
    OneShotHint,
    Rank,
    lowered,
    origin_text,
    rank_of,
)
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import (
    ChangedEndpoint,
    clear_hints,
    pause,
    resume,
    take_interval_hint,
    take_one_shot,
)
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR as NOW

CRON, MINUTE, HOUR = CronsimCron(), timedelta(minutes=1), timedelta(hours=1)
ORIGINS = {
    Rank.LEARNING: "planner:learned",
    Rank.LLM: "mcp",
    Rank.RULE: "rule:surge",
    Rank.PERSON: "key:ab12",
}
IN_FORCE: dict[str, Callable[[str], Endpoint]] = {
    "interval": lambda by: an_endpoint(interval_hint=IntervalHint(20_000, NOW + HOUR, None, by)),
    "one-shot": lambda by: an_endpoint(one_shot_hint=OneShotHint(NOW + MINUTE, NOW + HOUR, None, by)),
    "pause": lambda by: an_endpoint(paused_until=NOW + HOUR, pause_origin=by),
}
KEPT_FROM = {
    "interval": {HintKind.INTERVAL, HintKind.PAUSE, HintKind.CLEAR},
    "one-shot": {HintKind.ONE_SHOT, HintKind.PAUSE, HintKind.CLEAR},
    "pause": set(HintKind),
}
"""What each thing in force keeps lower ranks from."""
STEERING_KINDS = [kind for kind in HintKind if kind is not HintKind.FINISH]


def steer(endpoint: Endpoint, kind: HintKind, origin: str) -> ChangedEndpoint:
    planned = endpoint if endpoint.next_run_at else evolve(endpoint, next_run_at=NOW + 10 * MINUTE)
    by: dict[str, Any] = {"now": NOW, "origin": origin}
    match kind:
        case HintKind.INTERVAL:
            return take_interval_hint(planned, IntervalHint(5_000, NOW + HOUR), cron=CRON, **by)
        case HintKind.ONE_SHOT:
            return take_one_shot(planned, OneShotHint(NOW, NOW + HOUR), cron=CRON, **by)
        case HintKind.PAUSE:
            return pause(planned, NOW + 2 * HOUR, None, cron=CRON, **by)
        case HintKind.RESUME:
            return resume(planned, None, cron=CRON, **by)
        case HintKind.CLEAR:
            return clear_hints(planned, cron=CRON, **by)
        case HintKind.FINISH:
            raise AssertionError("only the turn of a schedule finishes it")


@pytest.mark.parametrize(("what", "kind"), [*product(IN_FORCE, STEERING_KINDS)])
def test_only_a_lower_rank_is_kept_from_undoing_what_is_in_force(what: str, kind: HintKind) -> None:
    for theirs, ours in product(Rank, Rank):
        before = evolve(IN_FORCE[what](ORIGINS[theirs]), next_run_at=NOW + 10 * MINUTE)
        changed = steer(before, kind, ORIGINS[ours])
        assert changed.applied is not (ours < theirs and kind in KEPT_FROM[what]), (theirs, ours)
        assert (changed.endpoint == before) is not changed.applied or kind is HintKind.RESUME
        assert changed.record is not None
        assert (changed.record.kind, changed.record.origin) == (kind, ORIGINS[ours])


def test_what_is_not_applied_says_why() -> None:
    changed = steer(IN_FORCE["interval"]("cli"), HintKind.INTERVAL, "rule:surge")
    because = "an interval hint (person: command line) is in force until 2025-01-01T01:00:00Z"
    assert changed.record is not None
    assert changed.record.not_applied == because
    assert changed.note == f"Not applied, because {because}."


@pytest.mark.parametrize(
    "over",
    [
        {"interval_hint": IntervalHint(20_000, NOW, None, "cli")},
        {"one_shot_hint": OneShotHint(NOW - MINUTE, NOW + HOUR, None, "cli"), "last_run_at": NOW - MINUTE},
        {"one_shot_hint": OneShotHint(NOW - HOUR, NOW, None, "cli")},
        {"paused_until": NOW, "pause_origin": "cli"},
    ],
)
def test_what_is_over_keeps_nobody_off(over: dict[str, Any]) -> None:
    endpoint = an_endpoint(**over)
    assert all(steer(endpoint, kind, "planner:learned").applied for kind in STEERING_KINDS)


def test_a_person_hands_back_by_clearing() -> None:
    hinted = IN_FORCE["interval"]("dashboard")
    assert not steer(hinted, HintKind.INTERVAL, "rule:surge").applied
    cleared = steer(hinted, HintKind.CLEAR, "key:ab12").endpoint
    after = steer(cleared, HintKind.INTERVAL, "rule:surge").endpoint
    assert after.interval_hint == IntervalHint(5_000, NOW + HOUR, None, "rule:surge")


def test_a_pause_that_an_endpoint_was_created_with_yields_to_everybody() -> None:
    dormant = an_endpoint(paused_until=NOW + HOUR)
    assert steer(dormant, HintKind.RESUME, "planner:learned").applied


def test_a_pause_after_lost_workers_is_ended_by_people_only() -> None:
    lost = IN_FORCE["pause"](OWN_ORIGIN)
    assert [steer(lost, HintKind.RESUME, ORIGINS[rank]).applied for rank in Rank] == [False] * 3 + [True]


@pytest.mark.parametrize(
    ("origin", "rank", "text"),
    [
        ("key:ab12", Rank.PERSON, "person: key ab12"),
        ("dashboard", Rank.PERSON, "person: dashboard"),
        ("cli", Rank.PERSON, "person: command line"),
        ("rule:surge: now", Rank.RULE, "rule: surge: now"),
        ("planner:rules", Rank.RULE, "rule"),
        ("planner:http", Rank.RULE, "HTTP header"),
        ("planner:own", Rank.RULE, "planner: own"),
        ("run:sync", Rank.RULE, "function: sync"),
        ("program", Rank.RULE, "program"),
        ("planner:llm", Rank.LLM, "LLM planner"),
        ("mcp", Rank.LLM, "LLM: MCP"),
        ("llm:key:ab12", Rank.LLM, "LLM: key ab12"),
        ("agent:ada", Rank.LLM, "agent: ada"),
        ("planner:learned", Rank.LEARNING, "learning planner"),
        (None, Rank.LEARNING, "origin unknown"),
    ],
)
def test_every_origin_has_a_rank_and_words(origin: str | None, rank: Rank, text: str) -> None:
    assert (rank_of(origin), origin_text(origin)) == (rank, text)


def test_a_stated_rank_can_only_lower() -> None:
    assert lowered("key:ab12", Rank.LLM) == "llm:key:ab12"
    assert rank_of(lowered("key:ab12", Rank.RULE)) is Rank.RULE
    assert lowered("planner:llm", Rank.RULE) == "planner:llm"


def test_an_explanation_tells_what_was_not_applied_while_that_is_so() -> None:
    hinted = IN_FORCE["interval"]("dashboard")
    history = [steer(hinted, kind, "rule:surge").record for kind in STEERING_KINDS]
    records = [one for one in history if one is not None]
    told = " ".join(explain(hinted, now=NOW, cron=CRON, history=records).sentences)
    asked = "requested at 2025-01-01T00:00:00Z (rule: surge), was not applied, because an interval hint"
    assert f"A run every 5 seconds, {asked} (person: dashboard) is in force until" in told
    assert f"A pause until 2025-01-01T02:00:00Z, {asked}" in told
    assert told.count("was not applied") == 3
    later = explain(hinted, now=NOW + HOUR, cron=CRON, history=records)
    assert "not applied" not in " ".join(later.sentences)


def test_only_the_newest_call_of_an_origin_is_told() -> None:
    hinted = IN_FORCE["interval"]("dashboard")
    refused = steer(hinted, HintKind.INTERVAL, "rule:surge").record
    assert refused is not None
    told = explain(hinted, now=NOW, cron=CRON, history=[refused, refused]).sentences
    assert sum("not applied" in sentence for sentence in told) == 1
    applied = refused._replace(not_applied=None)
    told = explain(hinted, now=NOW, cron=CRON, history=[applied, refused]).sentences
    assert not any("not applied" in sentence for sentence in told)


def test_a_call_of_more_than_an_hour_ago_is_told_no_more() -> None:
    hinted = an_endpoint(interval_hint=IntervalHint(20_000, NOW + 9 * HOUR, None, "dashboard"))
    refused = steer(hinted, HintKind.PAUSE, "rule:surge").record
    assert refused is not None

    def told(after: timedelta) -> str:
        return " ".join(explain(hinted, now=NOW + after, cron=CRON, history=[refused]).sentences)

    assert "was not applied" in told(HOUR)
    assert "was not applied" not in told(HOUR + MINUTE)


def test_a_due_moment_is_not_credited_to_a_hint_that_came_after_it() -> None:
    hint = IntervalHint(20_000, NOW + HOUR, None, "dashboard")
    due = an_endpoint(interval_hint=hint, next_run_at=NOW - MINUTE, next_source=Source.AI_INTERVAL)
    written = steer(an_endpoint(), HintKind.INTERVAL, "dashboard").record
    assert written is not None
    answer = explain(due, now=NOW, cron=CRON, history=[written]).sentences[0]
    assert "set by an interval hint that was replaced since" in answer
    earlier = written._replace(written_at=NOW - HOUR)
    answer = explain(due, now=NOW, cron=CRON, history=[earlier]).sentences[0]
    assert "set by an interval hint (person: dashboard)" in answer
