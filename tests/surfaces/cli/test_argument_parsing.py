"""What people write, and what operations are asked for."""

import sys
from io import StringIO
from typing import Any

import pytest
from tests.surfaces.cli.recording_launchers import Recorder

from cadenza.surfaces.cli.app import run

PLAN: dict[str, Any] = {
    "answer": "So it is.",
    "next_run_at": None,
    "source": "finished",
    "governor": {"candidates": []},
}
ANSWERS = {
    "get_endpoint": {"id": "e-1", "name": "traffic"},
    "get_job": {"id": "j-1", "name": "checkout"},
    "propose_interval": PLAN,
    "propose_next_time": PLAN,
    "pause_until": PLAN,
    "pause_endpoints": {"endpoints": 2},
    "resume_endpoints": {"endpoints": 1},
    "create_key": {"id": "k", "name": "n", "scopes": ["read"], "expires_at": None, "key": "cad_k_s"},
    "list_runs": {"items": [], "next_cursor": None},
}
HINT = "endpoints tighten traffic --every 1m30s"


@pytest.mark.parametrize(
    ("words", "operation", "arguments"),
    [
        (HINT, "propose_interval", {"intervalMs": 90_000, "ttlMinutes": 60}),
        (f"{HINT} --for 2h --reason sale", "propose_interval", {"ttlMinutes": 120, "reason": "sale"}),
        ("endpoints next traffic --in 5m", "propose_next_time", {"nextRunInMs": 300_000}),
        ("endpoints next traffic --at 2h", "propose_next_time", {"nextRunAtIso": "2030-01-31T14:00:00Z"}),
        (
            "endpoints next traffic --at 2030-02-01T01:00:00+01:00",
            "propose_next_time",
            {"nextRunAtIso": "2030-02-01T00:00:00Z"},
        ),
        ("endpoints pause traffic --until 1d", "pause_until", {"untilIso": "2030-02-01T12:00:00Z"}),
        ("endpoints pause traffic --until 2030-03-01", "pause_until", {"untilIso": "2030-03-01T00:00:00Z"}),
        ("endpoints pause traffic --until resumed", "pause_until", {"untilIso": "9999-01-01T00:00:00Z"}),
        ("endpoints pause traffic", "pause_until", {"untilIso": "9999-01-01T00:00:00Z"}),
        ("endpoints resume traffic", "pause_until", {"untilIso": None}),
        (
            "endpoints pause --label a=b --label c=d --job checkout --until 2h",
            "pause_endpoints",
            {"label": ["a=b", "c=d"], "job_id": "j-1", "untilIso": "2030-01-31T14:00:00Z"},
        ),
        ("endpoints resume --job checkout", "resume_endpoints", {"job_id": "j-1"}),
        ("keys create --name n --expires 30d", "create_key", {"expires_at": "2030-03-02T12:00:00Z"}),
        (
            "runs list --since 24h --until 2h --status failure --status timeout",
            "list_runs",
            {
                "since": "2030-01-30T12:00:00Z",
                "until": "2030-01-31T10:00:00Z",
                "status": ["failure", "timeout"],
            },
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_spans_and_moments_become_what_the_operation_takes(
    words: str, operation: str, arguments: dict[str, Any]
) -> None:
    recorder = Recorder(answers=ANSWERS)
    assert run(recorder.launchers(), words.split()) == 0
    asked = recorder.asked[-1][operation]
    assert {name: asked.get(name, "left out") for name in arguments} == arguments


def test_nobody_pauses_everything_by_leaving_a_word_out() -> None:
    recorder = Recorder(answers=ANSWERS)
    assert run(recorder.launchers(), ["endpoints", "pause", "--until", "2h"]) == 2
    assert run(recorder.launchers(), ["endpoints", "resume"]) == 2
    assert recorder.asked == []


@pytest.mark.parametrize(
    "line",
    [
        "endpoints create --job j --file -",
        "calendars put work --file -",
        "daily programmes put evening --file -",
        "apply -f -",
    ],
)
def test_a_hyphen_is_standard_input(
    line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("[]"))
    run(Recorder(answers=ANSWERS).launchers(), line.split())
    assert "needs a value" not in capsys.readouterr().err
    assert sys.stdin.read() == ""


def test_an_ics_file_may_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", StringIO("BEGIN:VCALENDAR"))
    recorder = Recorder(answers=ANSWERS | {"put_calendar": {}})
    run(recorder.launchers(), ["calendars", "put", "work", "--ics", "-", "--json"])
    assert recorder.asked == [
        {"put_calendar": {"calendar_id": "work", "ics": "BEGIN:VCALENDAR", "only_new": False}}
    ]
