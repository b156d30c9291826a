"""A log line that nobody takes costs a line, and nothing else."""

import json
import logging
import os
from io import StringIO

import pytest

from cadenza.adapters.telemetry.log import ProgramLog, StructuredLog


def test_a_line_has_its_facts() -> None:
    stream = StringIO()
    StructuredLog(stream=stream, as_json=True).info("run", endpoint="e")
    assert '"endpoint":"e"' in stream.getvalue()
    assert stream.getvalue().count("\n") == 1


def test_the_level_error_leaves_errors_alone() -> None:
    stream = StringIO()
    log = StructuredLog(stream=stream, as_json=True, level=logging.ERROR)
    for write in (log.debug, log.info, log.warning, log.error):
        write(write.__name__)
    (line,) = stream.getvalue().splitlines()
    assert (json.loads(line)["event"], json.loads(line)["level"]) == ("error", "error")


@pytest.mark.parametrize("as_json", [True, False])
def test_a_pipe_that_nobody_reads_is_no_error(*, as_json: bool) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    log = StructuredLog(stream=stream, as_json=as_json)
    for _ in range(1_000):
        log.info("run", endpoint="e")
        log.warning("a dependency is unavailable, retrying")
    with pytest.raises(BrokenPipeError):
        stream.close()


def test_a_closed_stream_is_no_error() -> None:
    stream = StringIO()
    log = StructuredLog(stream=stream)
    stream.close()
    log.info("run")


UNTRUSTED = "\x1b[2Jgone\x07 \x9b31m \u202egnp.exe\nforged line"


def test_what_a_target_says_cannot_steer_a_terminal_or_forge_a_line() -> None:
    stream = StringIO()
    log, event = StructuredLog(stream=stream), f"it said {UNTRUSTED}"
    log.warning(event, error=UNTRUSTED, ids=[UNTRUSTED], colour="\x1b[31m")
    (line,) = stream.getvalue().splitlines()
    assert line.isprintable()
    assert "it said \\u001b[2Jgone\\u0007" in line
    assert r"colour='\x1b[31m' error='\x1b[2Jgone" in line


def test_a_traceback_keeps_its_lines_and_nothing_else_that_steers() -> None:
    stream = StringIO()
    StructuredLog(stream=stream).warning("it failed", traceback=f"Traceback:\n  ValueError: {UNTRUSTED}")
    _, *trace = stream.getvalue().splitlines()
    assert trace == [
        "Traceback:",
        "  ValueError: \\u001b[2Jgone\\u0007 \\u009b31m \\u202egnp.exe",
        "forged line",
    ]


def test_a_json_line_steers_no_terminal_and_reads_back_as_it_was() -> None:
    stream = StringIO()
    StructuredLog(stream=stream, as_json=True).warning("it failed", error=UNTRUSTED)
    (line,) = stream.getvalue().splitlines()
    assert line.isprintable()
    assert json.loads(line)["error"] == UNTRUSTED


def test_the_log_of_a_program_gets_visible_text_and_facts_as_they_are(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ProgramLog(StructuredLog()).warning("it failed", error=UNTRUSTED, traceback="one\n\x1btwo")
    (record,) = caplog.records
    first, *trace = record.getMessage().splitlines()
    assert first.isprintable()
    assert trace == ["one", "\\u001btwo"]
    assert vars(record)["facts"]["error"] == UNTRUSTED
