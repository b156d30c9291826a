import json
from dataclasses import replace

import pytest

from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.sim.catalogue import simulate
from cadenza.sim.checks import Check
from cadenza.sim.prototype_run import Parity, Reference
from cadenza.sim.report import Report, document


@pytest.fixture
async def report() -> Report:
    return await simulate("flash-sale")


def test_the_document_says_everything_in_json(report: Report) -> None:
    said = json.loads(json.dumps(document(report)))
    assert said["scenario"] == "flash-sale"
    assert said["mode"] == "corrected"
    assert said["step_seconds"] == 5
    assert said["total_runs"] == sum(said["runs"].values()) == len(said["order"]) == len(said["timeline"])
    assert sum(said["sources"].values()) == sum(said["causes"].values()) == said["total_runs"]
    assert sum(said["tiers"].values()) == said["total_runs"]
    assert [set(check) for check in said["checks"]] == [{"name", "passed", "detail"}] * 18
    assert len(said["snapshots"]) == said["minutes"] == 40
    assert said["parity"]["published"]["total_runs"] == said["parity"]["total_runs"] == 467
    assert said["passed"] is True


def test_a_line_of_the_timeline(report: Report) -> None:
    assert document(report)["timeline"][0] == {
        "at": "2025-01-01T00:00:00Z",
        "second": 0,
        "endpoint": "traffic_monitor",
        "cause": "first",
        "source": "baseline-interval",
        "next_run_at": "2025-01-01T00:01:00Z",
    }


def test_a_snapshot_has_the_columns_of_the_table(report: Report) -> None:
    assert document(report)["snapshots"][13] == {
        "phase": "critical",
        "minute": 13,
        "traffic": 6000,
        "orders": 120,
        "pageLoad": 4500,
        "invLag": 600,
        "dbQuery": 1200,
        "nextCheck": 20,
    }


def test_one_failing_check_fails_the_report(report: Report) -> None:
    failing = Check("a-check", passed=False, detail="it is not so")
    assert not replace(report, checks=(*report.checks, failing)).passed


def test_lost_parity_fails_the_report_and_names_the_difference(report: Report) -> None:
    parity = Parity({"a": 2, "b": 1}, {"x": 3}, Reference({"a": 2, "b": 2}, {"x": 3, "y": 1}))
    assert parity.equal is False
    assert parity.sentence == (
        "as published: 3 runs of 4, differing in b (1 instead of 2), y (0 instead of 1)"
    )
    assert not replace(report, parity=parity).passed


def test_parity_in_one_line(report: Report) -> None:
    assert report.parity.sentence == "as published: 467 runs of 467, per endpoint and per source equal"


async def test_parity_where_no_counts_were_published() -> None:
    report = await simulate("system-resources")
    assert report.parity.equal is None
    assert report.parity.sentence.startswith(
        "as published: 105 runs; no counts were published to compare them with; fails cpu-"
    )
    assert document(report)["parity"]["published"] is None
    assert document(report)["parity"]["broken"] == list(report.parity.broken)


@pytest.mark.parametrize("step_s", [0, -1, 3, 7, 60])
async def test_a_step_that_misses_moments_is_refused(step_s: int) -> None:
    with pytest.raises(InvalidRequest, match=rf"1, 2, 5, 10 seconds, not {step_s}\."):
        await simulate("flash-sale", step_s=step_s)


async def test_the_published_rules_know_one_step() -> None:
    with pytest.raises(InvalidRequest, match="5 seconds at a time"):
        await simulate("flash-sale", as_published=True, step_s=1)


async def test_an_unknown_scenario_is_not_found() -> None:
    with pytest.raises(NotFound, match="flash-sale, system-resources"):
        await simulate("black-friday")
