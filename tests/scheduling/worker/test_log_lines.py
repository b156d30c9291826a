"""What an operator reads, word for word, and what is never built when nobody reads it."""

from typing import Any

import pytest
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import Claim, Outcome
from cadenza.domain.validation import iso
from cadenza.testing.clock import NEW_YEAR


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


async def test_a_settled_run_logs_what_the_governor_decided() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    await fixture.tick()
    line = "[governor] endpoint: next=2025-01-01T00:01:00Z source=baseline-interval"
    assert line in fixture.log.events("debug")


async def test_a_finished_endpoint_logs_that_there_is_no_next_run() -> None:
    fixture = WorkerFixture()
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
    for event, level in (("run", "debug"), ("an endpoint has begun to fail", "warning")):
        (line,) = [line for line in fixture.log.lines if line.event == event]
        assert line.level == level
        assert line.facts["error"] == "ValueError: no luck"
        assert line.facts["traceback"] == run.traceback
    assert "in stumble" in str(run.traceback)


async def test_a_nudge_logs_where_it_came_from_and_where_it_went() -> None:
    fixture = WorkerFixture()
    await fixture.add(in_ms=MINUTE)
    await fixture.tool("propose_interval", intervalMs=5_000)
    now = iso(NEW_YEAR)
    assert fixture.log.events("debug") == [
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
    fixture = WorkerFixture()
    endpoint = await fixture.add(**fields)
    await fixture.tool("propose_next_time", nextRunInMs=5_000)
    before = iso(endpoint.next_run_at or NEW_YEAR)
    assert fixture.log.events("debug") == [
        f"[nudge-skip] endpoint: before={before} candidate={candidate} now=2025-01-01T00:00:00Z"
    ]


async def test_a_nudge_while_paused_is_logged_as_skipped() -> None:
    fixture = WorkerFixture()
    await fixture.add(paused_until=fixture.at(MINUTE), in_ms=MINUTE)
    await fixture.tool("propose_next_time", nextRunInMs=0)
    (line,) = fixture.log.events("debug")
    assert line.startswith("[nudge-skip] endpoint: before=2025-01-01T00:01:00Z candidate=")


async def test_a_nudge_of_what_has_no_next_run_says_so() -> None:
    fixture = WorkerFixture()
    await fixture.add(next_run_at=None)
    await fixture.tool("propose_next_time", nextRunInMs=0)
    (line,) = fixture.log.events("debug")
    assert line.startswith("[nudge] endpoint: before=never candidate=2025-01-01T00:00:00Z")


async def test_a_pause_and_a_refused_call_log_no_nudge() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    await fixture.tool("pause_until", untilIso="2025-01-01T01:00:00Z")
    await fixture.tool("pause_until", untilIso=None)
    assert fixture.log.lines == []


async def test_details_are_not_built_when_they_are_not_logged() -> None:
    log = QuietLog()
    fixture = WorkerFixture(log=log)
    await fixture.add()
    await fixture.tick()
    await fixture.tool("propose_interval", intervalMs=5_000)
    await fixture.tool("propose_next_time", nextRunInMs=MINUTE)
    assert log.built == []


async def test_a_good_day_is_quiet() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    await fixture.tick()
    assert fixture.log.events("info") == fixture.log.events("warning") == []


async def test_a_failure_is_told_when_it_begins_and_when_it_is_over() -> None:
    fixture = WorkerFixture()
    await fixture.add()
    fixture.dispatcher.fails("endpoint", "no route")
    for _ in range(3):
        await fixture.tick()
        fixture.clock.jump(MINUTE)
    fixture.dispatcher.succeeds("endpoint")
    await fixture.tick()
    assert fixture.log.events("warning") == ["an endpoint has begun to fail"]
    assert fixture.log.events("info") == ["an endpoint is well again"]
    (told,) = [line for line in fixture.log.lines if line.level == "warning"]
    assert told.facts["error"] == "no route"


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
    await fixture.add(abandoned_count=2)
    await fixture.claim(1)
    fixture.clock.jump(1_000)
    await fixture.sweeper.sweep()
    assert fixture.log.lines[-1].event == "an endpoint is paused"
    assert fixture.log.lines[-1].facts["reason"] == "abandoned 3 times in a row"
