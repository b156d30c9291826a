"""A log line that nobody takes costs a line, and nothing else."""

import json
import logging
import os
from io import StringIO

import pytest

from cadenza.adapters.telemetry.log import StructuredLog


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
