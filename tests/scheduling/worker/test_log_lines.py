"""What an operator reads, word for word, and what is never built when nobody reads it."""

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from tests.operation_fixtures import ApplicationFixture
from tests.scheduling.worker.worker_fixtures import MINUTE, TENANT, WorkerFixture

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import Every, Once
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import Claim, Outcome
from cadenza.domain.scheduling.steer import ChangedEndpoint, clear_hints, pause, redefine, run_now
from cadenza.domain.validation import iso
from cadenza.engine.next_run_log import log_next_runs
from cadenza.ports.catalog import EndpointFilter
from cadenza.testing import FakeIds, FakeLog
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.fakes import LogLine


class QuietLog:
    """Wants no details, and notices when one is built all the same."""

    verbose = False

    def __init__(self) -> None:
        self.built: list[str] = []
        self.warnings: list[str] = []

    def debug(self, event: str, **facts: object) -> None:
        self.built.append(event)

    def info(self, event: str, **facts: object) -> None:
        """Let it pass."""

    def warning(self, event: str, **facts: object) -> None:
        self.warnings.append(event)

    error = warning


def a_logged_fixture(log: Any = None) -> WorkerFixture:
    """A worker whose store logs the changes of next runs, as the roots open it."""
    log = log or FakeLog()
    return WorkerFixture(store=log_next_runs(MemoryStore(FakeIds()), log), log=log)


def governor_lines(fixture: WorkerFixture) -> list[LogLine]:
    return [line for line in fixture.log.lines if line.event.startswith("[governor]")]


def nudge_lines(fixture: WorkerFixture) -> list[str]:
    return [event for event in fixture.log.events("debug") if event.startswith("[nudge")]


async def test_every_change_of_the_next_run_can_be_followed() -> None:
    fixture = a_logged_fixture()
    endpoint = await fixture.add(in_ms=MINUTE)
    run_now_at = partial(run_now, now=NEW_YEAR)
    await fixture.tool("propose_interval", intervalMs=5_000, reason="surge")
    await fixture.tool("pause_until", untilIso="2025-01-01T01:00:00Z")
    await fixture.tool("pause_until", untilIso=None)
    clear = partial(clear_hints, now=NEW_YEAR, cron=fixture.cron, origin="cli")
    await fixture.store.endpoints.amend(endpoint.key, clear)
    slower = evolve(endpoint, baseline=Every(2 * MINUTE))
    amend = partial(redefine, wanted=slower, now=NEW_YEAR, cron=fixture.cron)
    await fixture.store.endpoints.amend(endpoint.key, amend)
    await fixture.store.endpoints.amend(endpoint.key, run_now_at)
    fixture.clock.jump(1)
    await fixture.tick()
    lines = governor_lines(fixture)
    moments = [(line.facts["cause"], line.facts["before"], line.facts["next"]) for line in lines]
    first, hinted, paused = "2025-01-01T00:01:00Z", "2025-01-01T00:00:05Z", "2025-01-01T01:00:00Z"
    slow, now, after = "2025-01-01T00:02:00Z", "2025-01-01T00:00:00Z", "2025-01-01T00:02:00.001000Z"
    assert moments == [
        ("create", None, first),
        ("interval", first, hinted),
        ("pause", hinted, paused),
        ("resume", paused, hinted),
        ("clear", hinted, first),
        ("amend", first, slow),
        ("run-now", slow, now),
        ("settle", now, after),
    ]
    assert [line.facts["source"] for line in lines] == [
        "first",
        "ai-interval",
        "paused",
        "resume",
        "baseline-interval",
        "baseline-interval",
        "manual",
        "baseline-interval",
    ]
    run = await fixture.only_run()
    assert [line.facts["run_id"] for line in lines] == [None] * 7 + [run.id]
    whose = {"tenant_id": "default", "job_id": "default", "endpoint_id": "endpoint"}
    assert all(whose.items() <= line.facts.items() for line in fixture.log.lines if line.event[0] == "[")
    assert (lines[1].facts["origin"], lines[1].facts["reason"]) == ("test", "surge")


async def test_a_call_that_is_outranked_is_logged_with_its_reason() -> None:
    fixture = a_logged_fixture()
    endpoint = await fixture.add(in_ms=MINUTE)
    await fixture.tool("propose_interval", intervalMs=5_000)
    tools = fixture.steering.tools(endpoint.key, origin="rule:busy")
    await tools["propose_interval"].execute({"intervalMs": 1_000})
    line = governor_lines(fixture)[-1]
    assert line.facts["origin"] == "rule:busy"
    assert str(line.facts["not_applied"]).startswith("an interval hint (person: test) is in force")


async def test_a_change_that_fails_or_moves_nothing_logs_nothing() -> None:
    fixture = a_logged_fixture()
    endpoint = await fixture.add(in_ms=MINUTE)
    fixture.log.lines.clear()
    await fixture.store.endpoints.amend(endpoint.key, ChangedEndpoint)
    with pytest.raises(InvalidRequest):
        await fixture.tool("pause_until", untilIso="2024-01-01T00:00:00Z")
    assert fixture.log.lines == []


async def test_changes_of_many_and_of_jobs_are_logged_one_by_one() -> None:
    fixture = a_logged_fixture()
    for name in ("a", "b"):
        await fixture.add(name, in_ms=MINUTE)
    until = NEW_YEAR + timedelta(hours=1)
    close = partial(pause, cron=fixture.cron, until=until, reason=None, now=NEW_YEAR, origin="cli")
    await fixture.store.catalog.amend_all(TENANT, close, wanted=EndpointFilter(job_id="default"))
    lines = governor_lines(fixture)[2:]
    assert [(line.facts["endpoint_id"], line.facts["cause"]) for line in lines] == [
        ("a", "pause"),
        ("b", "pause"),
    ]


def test_without_debug_lines_the_store_is_left_as_it_is() -> None:
    store = MemoryStore(FakeIds())
    parts = vars(store).copy()
    assert log_next_runs(store, QuietLog()) is store
    assert vars(store) == parts


async def test_a_settled_run_logs_what_the_governor_decided() -> None:
    fixture = a_logged_fixture()
    await fixture.add()
    await fixture.tick()
    line = "[governor] endpoint: next=2025-01-01T00:01:00Z source=baseline-interval"
    assert line in fixture.log.events("debug")


async def test_a_finished_endpoint_logs_that_there_is_no_next_run() -> None:
    fixture = a_logged_fixture()
    await fixture.add(baseline=Once(NEW_YEAR))
    await fixture.tick()
    assert "[governor] endpoint: next=never source=finished" in fixture.log.events("debug")


async def test_each_run_has_one_canonical_line() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    fixture.clock.jump(250)
    await fixture.tick()
    (line,) = [line for line in fixture.log.lines if line.event == "run"]
    run = await fixture.only_run()
    assert line.level == "debug"
    assert line.facts == {
        "tenant_id": "default",
        "job_id": "default",
        "endpoint_id": "endpoint",
        "run_id": run.id,
        "status": "success",
        "attempt": 1,
        "late_ms": 250,
        "error": None,
    }


async def test_the_line_of_a_failed_run_says_how_it_failed() -> None:
    fixture = WorkerFixture()
    await fixture.add()

    def stumble(_: Claim) -> Outcome:
        raise ValueError("no luck")

    fixture.dispatcher.on("endpoint", stumble)
    await fixture.tick()
    run = await fixture.only_run()
    for event, level in (("run", "debug"), ("an endpoint started to fail", "warning")):
        (line,) = [line for line in fixture.log.lines if line.event == event]
        assert line.level == level
        assert line.facts["error"] == "ValueError: no luck"
        assert line.facts["traceback"] == run.traceback
    assert "in stumble" in str(run.traceback)


async def test_a_nudge_logs_where_it_came_from_and_where_it_went() -> None:
    fixture = a_logged_fixture()
    await fixture.add(in_ms=MINUTE)
    await fixture.tool("propose_interval", intervalMs=5_000)
    now = iso(NEW_YEAR)
    assert nudge_lines(fixture) == [
        f"[nudge] endpoint: before=2025-01-01T00:01:00Z candidate=2025-01-01T00:00:05Z now={now}"
    ]


@pytest.mark.parametrize(
    ("fields", "candidate"),
    [
        ({"in_ms": 1_000}, "2025-01-01T00:00:05Z"),
        ({"in_ms": 5_000}, "2025-01-01T00:00:05Z"),
        ({"in_ms": 9_000, "guard": Guard(min_interval_ms=10_000)}, "2025-01-01T00:00:10Z"),
    ],
)
async def test_a_nudge_that_moves_nothing_is_logged_as_skipped(
    fields: dict[str, Any], candidate: str
) -> None:
    fixture = a_logged_fixture()
    endpoint = await fixture.add(**fields)
    await fixture.tool("propose_next_time", nextRunInMs=5_000)
    before = iso(endpoint.next_run_at or NEW_YEAR)
    assert nudge_lines(fixture) == [
        f"[nudge-skip] endpoint: before={before} candidate={candidate} now=2025-01-01T00:00:00Z"
    ]


async def test_a_nudge_while_paused_is_logged_as_skipped() -> None:
    fixture = a_logged_fixture()
    await fixture.add(paused_until=fixture.at(MINUTE), in_ms=MINUTE)
    await fixture.tool("propose_next_time", nextRunInMs=0)
    (line,) = nudge_lines(fixture)
    assert line.startswith("[nudge-skip] endpoint: before=2025-01-01T00:01:00Z candidate=")


async def test_a_nudge_of_what_has_no_next_run_says_so() -> None:
    fixture = a_logged_fixture()
    await fixture.add(next_run_at=None)
    await fixture.tool("propose_next_time", nextRunInMs=0)
    (line,) = nudge_lines(fixture)
    assert line.startswith("[nudge] endpoint: before=never candidate=2025-01-01T00:00:00Z")


async def test_a_pause_and_a_refused_call_log_no_nudge() -> None:
    fixture = a_logged_fixture()
    await fixture.add()
    await fixture.tool("pause_until", untilIso="2025-01-01T01:00:00Z")
    await fixture.tool("pause_until", untilIso=None)
    assert nudge_lines(fixture) == []


async def test_details_are_not_built_when_they_are_not_logged() -> None:
    log = QuietLog()
    fixture = WorkerFixture(log=log)
    await fixture.add()
    await fixture.tick()
    await fixture.tool("propose_interval", intervalMs=5_000)
    await fixture.tool("propose_next_time", nextRunInMs=MINUTE)
    assert log.built == []


async def test_a_good_day_is_quiet() -> None:
    fixture = a_logged_fixture()
    await fixture.add()
    await fixture.tick()
    assert fixture.log.events("info") == fixture.log.events("warning") == []


def ids_of(facts: Mapping[str, object]) -> tuple[object, ...]:
    """What every line about an endpoint says."""
    return tuple(facts.get(name) for name in ("tenant_id", "job_id", "endpoint_id", "run_id"))


async def test_a_failure_is_told_when_it_begins_and_when_it_is_over() -> None:
    fixture = a_logged_fixture()
    await fixture.add()
    fixture.dispatcher.fails("endpoint", "no route")
    for _ in range(3):
        await fixture.tick()
        fixture.clock.jump(MINUTE)
    fixture.dispatcher.succeeds("endpoint")
    await fixture.tick()
    assert fixture.log.events("warning") == ["an endpoint started to fail"]
    assert fixture.log.events("info") == ["an endpoint recovered"]
    began, over = [line.facts for line in fixture.log.lines if line.level in ("warning", "info")]
    assert (began["error"], over["failures"]) == ("no route", 3)
    for facts in (began, over):
        assert ids_of(facts)[:3] == ("default", "default", "endpoint")
    assert over["run_id"] not in (None, began["run_id"])


async def test_abandoned_runs_are_one_warning_and_a_detail_each() -> None:
    fixture = WorkerFixture(lease_ms=1_000)
    for name in ("a", "b"):
        await fixture.add(name)
    claims = await fixture.claim(2)
    fixture.clock.jump(1_000)
    await fixture.sweeper.sweep()
    summary, *details = fixture.log.lines
    assert (summary.level, summary.event) == ("warning", "runs were abandoned by their worker")
    assert summary.facts == {"runs": 2, "run_ids": [claim.run_id for claim in claims]}
    assert [line.facts["run_id"] for line in details if line.level == "debug"] == summary.facts["run_ids"]
    assert details[0].facts["slot"] == "2025-01-01T00:00:00Z"


async def test_an_endpoint_that_is_given_up_is_a_warning_with_the_reason() -> None:
    fixture = WorkerFixture(lease_ms=1_000)
    await fixture.add(abandoned_count=2, abandoned_alone_count=2)
    await fixture.claim(1)
    fixture.clock.jump(1_000)
    await fixture.sweeper.sweep()
    assert fixture.log.lines[-1].event == "an endpoint is paused"
    for line in fixture.log.lines:
        assert "run_ids" in line.facts or None not in ids_of(line.facts), line
    assert (
        fixture.log.lines[-1].facts["reason"]
        == "its process died 3 times while it ran alone; resume it when that is fixed"
    )


async def test_every_line_says_who_also_where_no_hint_is_written() -> None:
    app, log = ApplicationFixture(), FakeLog()
    log_next_runs(app.store, log)
    await app.job()
    await app.endpoint()
    await app.ask("run_now", endpoint_id="traffic")
    lines = [line for line in log.lines if line.event.startswith("[governor]")]
    assert [(line.facts["cause"], line.facts["origin"]) for line in lines] == [
        ("create", "test"),
        ("run-now", "test"),
    ]
    fixture = a_logged_fixture()
    await fixture.add()
    await fixture.tick()
    assert {line.facts["origin"] for line in governor_lines(fixture)} == {"cadenza"}
