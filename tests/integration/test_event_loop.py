"""Programs run on uvloop where it is, and on Python's own loop where it is not."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import uvloop

from cadenza.roots.wiring.process import fastest_loop, run_event_loop

EMBEDDED = """
import asyncio, os, signal
from cadenza import Cadenza

app = Cadenza("sqlite:///embedded.db")

@app.every("1h", start_now=True)
async def work():
    print(type(asyncio.get_running_loop()).__module__, flush=True)
    os.kill(os.getpid(), signal.{signal})

app.run()
print("ended", flush=True)
"""


async def the_loop() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_uvloop_is_taken_where_it_is() -> None:
    assert isinstance(run_event_loop(the_loop()), uvloop.Loop)


def test_pythons_own_loop_is_taken_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvloop", None)
    assert fastest_loop() is None
    assert isinstance(run_event_loop(the_loop()), asyncio.SelectorEventLoop)


def test_what_is_raised_comes_out() -> None:
    async def fail() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        run_event_loop(fail())


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_an_embedded_program_runs_on_it_and_ends_by_signal(number: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", EMBEDDED.replace("{signal}", number)],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "uvloop\nended\n"), done.stderr


@pytest.mark.parametrize("command", ["up", "worker"])
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_programs_end_by_signal(command: str, end: signal.Signals, tmp_path: Path) -> None:
    settings = {"CADENZA_LOG_JSON": "1", "CADENZA_PORT": "0"}
    process = subprocess.Popen(
        [sys.executable, "-m", "cadenza", command],
        cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=os.environ | settings,
    )  # fmt: skip
    assert process.stderr is not None
    while "cadenza is up" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(end)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert "cadenza has stopped" in errors
