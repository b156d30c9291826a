"""Ctrl-C at moments that are hard to meet by hand: no traceback, no warning, and the right exit code."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.surfaces.cli.cli_process import env

INTERRUPTED_AT = """
import atexit, os, signal, sys

EVENT, _, NAME = sys.argv.pop(1).partition(" ")
signal.signal(signal.SIGINT, signal.default_int_handler)
came = []

def interrupt(event, args):
    if not came and event == EVENT and NAME in ("", args[0] if args else ""):
        came.append(event)
        os.kill(os.getpid(), signal.SIGINT)

"""
PROGRAM = f"""{INTERRUPTED_AT}
from cadenza.__main__ import main
sys.addaudithook(interrupt)
atexit.register(interrupt, "exit", ())
sys.exit(main())
"""
EMBEDDED = f"""{INTERRUPTED_AT}
from cadenza import Cadenza
app = Cadenza("sqlite:///embedded.db")

@app.every("1h")
def work():
    raise NotImplementedError

sys.addaudithook(interrupt)
app.run()
print("ended", came == [EVENT])
"""
ALL = "import cadenza.roots.command_line"
LOADING = "import cadenza.domain.scheduling.endpoint"
COMMANDS = "import cadenza.roots.clients.local"
NEW_LOOP = "socket.__new__"
UVLOOP = "import uvloop"
MIGRATIONS = "import alembic"
DATABASE = "sqlite3.connect"
MESSAGE = re.compile(r"(cadenza: Database .* not found.*\n)?(cadenza: Interrupted\.\n)?")


def ended(folder: Path, program: str, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=folder, env=env(CADENZA_PORT="0", CADENZA_DEMO_PORT="0", TMPDIR=str(folder)),
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("moment", [ALL, COMMANDS, NEW_LOOP, DATABASE, "exit"])
def test_a_command_is_interrupted_without_a_traceback(moment: str, tmp_path: Path) -> None:
    code, _, err = ended(tmp_path, PROGRAM, moment, "jobs", "list")
    assert (code, MESSAGE.fullmatch(err) is not None) == (130, True), err
    assert list(tmp_path.iterdir()) == [], "what it opened is closed, and its temporary files are gone"


@pytest.mark.parametrize(
    ("moment", "words"),
    [(LOADING, "up"), (UVLOOP, "up"), (MIGRATIONS, "up"), (DATABASE, "up"), (DATABASE, "up --demo")],
)
def test_a_server_is_interrupted_while_it_starts(moment: str, words: str, tmp_path: Path) -> None:
    code, _, err = ended(tmp_path, PROGRAM, moment, *words.split())
    assert (code, MESSAGE.fullmatch(err) is not None) == (130, True), err


@pytest.mark.parametrize("moment", [UVLOOP, MIGRATIONS, DATABASE])
def test_an_embedded_app_that_is_interrupted_while_it_starts_has_run(moment: str, tmp_path: Path) -> None:
    assert ended(tmp_path, EMBEDDED, moment) == (0, "ended True\n", "")
