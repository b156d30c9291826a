"""The commands in this process, with launchers that remember."""

import importlib.metadata
from dataclasses import replace

import pytest
from tests.surfaces.cli.recording_launchers import Recorder

from cadenza.domain.errors import (
    CadenzaError,
    Conflict,
    InvalidRequest,
    NotAllowed,
    NotFound,
    Unavailable,
)
from cadenza.roots import command_line
from cadenza.sim.catalogue import simulate
from cadenza.sim.checks import Check
from cadenza.sim.prototype_run import Parity, Reference
from cadenza.sim.report import Report
from cadenza.surfaces.cli.app import run
from cadenza.surfaces.cli.exits import CODES, exit_code

Captured = pytest.CaptureFixture[str]


@pytest.fixture
async def report() -> Report:
    return await simulate("flash-sale")


def test_the_options_reach_the_launcher(report: Report) -> None:
    recorder = Recorder(report=report)
    assert run(recorder.launchers(), ["sim", "flash-sale"]) == 0
    assert (
        run(recorder.launchers(), ["sim", "system-resources", "--as-published", "--step-seconds", "10"]) == 0
    )
    assert recorder.asked == [
        {"scenario": "flash-sale", "as_published": False, "step_seconds": 5},
        {"scenario": "system-resources", "as_published": True, "step_seconds": 10},
    ]


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["tables", "json"])
def test_a_failed_check_exits_with_1_and_is_shown(
    report: Report, options: list[str], capsys: Captured
) -> None:
    failing = Check("a-check", passed=False, detail="it is not so")
    recorder = Recorder(report=replace(report, checks=(*report.checks, failing)))
    assert run(recorder.launchers(), ["sim", "flash-sale", *options]) == 1
    shown = capsys.readouterr().out
    assert "a-check" in shown
    assert "it is not so" in shown
    assert ('"passed": false' if options else "FAILED") in shown


def test_lost_parity_exits_with_1(report: Report, capsys: Captured) -> None:
    parity = Parity({"a": 1}, {"x": 1}, Reference({"a": 2}, {"x": 2}))
    recorder = Recorder(report=replace(report, parity=parity))
    assert run(recorder.launchers(), ["sim", "flash-sale"]) == 1
    assert "as published: 1 runs of 2, differing in a (1 instead of 2)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidRequest("Say it differently.", "field"), 2),
        (NotFound("There is no such thing."), 3),
        (Conflict("It is not so."), 4),
        (NotAllowed("You may not."), 5),
        (Unavailable("Try again later."), 6),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_errors_have_their_exit_codes(error: CadenzaError, code: int, capsys: Captured) -> None:
    assert run(Recorder(error=error).launchers(), ["sim", "flash-sale"]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"cadenza: {error.message}\n"


def test_every_kind_of_error_has_a_code() -> None:
    assert set(CODES) == set(CadenzaError.__subclasses__())


def test_an_error_of_a_finer_kind_has_the_code_of_its_kind() -> None:
    class Gone(NotFound):
        """It was there once."""

    assert exit_code(Gone("It is gone.")) == 3
    assert exit_code(CadenzaError("Something is wrong.")) == 6


def test_up_passes_its_options_and_its_exit_code_on() -> None:
    recorder = Recorder(code=4)
    assert run(recorder.launchers(), ["up"]) == 4
    assert run(recorder.launchers(), ["up", "--demo", "--speed", "60"]) == 4
    assert recorder.asked == [{"demo": False, "speed": 1.0}, {"demo": True, "speed": 60.0}]


@pytest.mark.parametrize("speed", ["3", "0.5"])
def test_only_the_demo_lets_time_run_faster(speed: str, capsys: Captured) -> None:
    recorder = Recorder(code=0)
    assert run(recorder.launchers(), ["up", "--speed", speed]) == 2
    assert "--speed goes with --demo" in capsys.readouterr().err
    assert recorder.asked == [], "the times of one's own runs stay true"


def test_the_version_is_that_of_the_package(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: f"1.2.3 of {name}")
    assert command_line.main(["--version"]) == 0
    assert capsys.readouterr().out == "1.2.3 of cadenza\n"


def test_a_tree_that_is_not_installed_has_no_version(
    monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def missing(name: str) -> str:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", missing)
    assert command_line.main(["--version"]) == 0
    assert capsys.readouterr().out == "not installed\n"


def test_main_reads_the_words_it_was_started_with(monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr("sys.argv", ["cadenza", "sim", "flash-sale"])
    assert command_line.main() == 0
    assert "18 of 18 checks passed" in capsys.readouterr().out


def test_a_launcher_may_stop_the_program_itself() -> None:
    with pytest.raises(SystemExit, match="7"):
        run(Recorder(error=SystemExit(7)).launchers(), ["up"])
