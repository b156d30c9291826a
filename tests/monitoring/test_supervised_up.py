"""`cadenza up` with a part that crashes for real: the others go on, or the process ends with a clear word."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.surfaces.server_process import Caller, Program, running

CRASHING = """
import sys
from cadenza.engine import supervision
from cadenza.engine.retention import RetentionLoop
from cadenza.roots.command_line import main

class Bug(Exception): pass

real, crashes = RetentionLoop.run, {crashes}

async def run(upkeep):
    global crashes
    crashes -= 1
    if crashes >= 0:
        raise Bug("upkeep is broken")
    await real(upkeep)

RetentionLoop.run = run
supervision.Supervisor.__init__.__kwdefaults__["restarts"] = supervision.RestartPolicy(crashes=3, first_ms=50)
sys.exit(main(["up"]))
"""

TWICE = 'cadenza_part_crashes_total{part="upkeep"} 2.0'


def program(crashes: int) -> list[str]:
    return [sys.executable, "-c", CRASHING.format(crashes=crashes)]


def lines(program: Program) -> list[dict[str, Any]]:
    return [json.loads(line) for line in program.lines if line.startswith("{")]


async def crashed_twice(caller: Caller) -> None:
    async with asyncio.timeout(90):
        told = await caller.ask("GET /metrics")
        while TWICE not in told.body.decode():
            await asyncio.sleep(0.05)
            told = await caller.ask("GET /metrics")


async def test_a_crash_of_one_part_is_not_noticed_at_the_api(tmp_path: Path) -> None:
    with running(tmp_path, program(2)) as up:
        async with up.caller() as caller:
            await crashed_twice(caller)
            assert (await caller.ask("GET /healthz")).status == 200
            assert (await caller.ask("GET /v1/jobs")).status == 200
        assert up.end() == 0
    told = [line for line in lines(up) if line["level"] == "warning"]
    assert [line["part"] for line in told] == ["upkeep", "upkeep"]
    assert told[0]["problem"] == "Bug: upkeep is broken"


def test_a_part_that_keeps_crashing_takes_the_process_down(tmp_path: Path) -> None:
    ended = subprocess.run(
        program(99),
        check=False,
        cwd=tmp_path,
        env=os.environ | {"CADENZA_PORT": "0", "CADENZA_LOG_LEVEL": "error", "CADENZA_LOG_JSON": "1"},
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert ended.returncode == 6
    (logged,) = [json.loads(line) for line in ended.stderr.splitlines() if line.startswith("{")]
    assert (logged["level"], logged["part"], logged["problem"]) == (
        "error",
        "upkeep",
        "Bug: upkeep is broken",
    )
    assert "in run" in logged["traceback"]
    assert "cadenza: The part upkeep crashed 3 times within 60 s and was given up" in ended.stderr
    assert "Bug: upkeep is broken" in ended.stderr.splitlines()[-1]
