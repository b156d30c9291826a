"""Backups, measurements, and progress for those who watch."""

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner
from tests.surfaces.cli.cli_process import command, env


def test_a_backup_is_written_and_put_back(local: CliRunner, tmp_path: Path) -> None:
    local.ok("jobs", "create", "--name", "kept", "--id", "kept")
    copied = local.json("backup", "copy.db")
    assert (copied["path"], copied["endpoints"]) == ("copy.db", 0)
    local.ok("jobs", "delete", "kept")
    assert local.refused("backup", "copy.db")[0] in {2, 4}
    told = local.ok("restore", "copy.db")
    assert "What was there is in" in told
    assert local.json("jobs", "show", "kept")["name"] == "kept"
    assert "is copied to copy.db" in local.ok("backup", "copy.db", "--overwrite")
    assert local.refused("restore", "nowhere.db")[0] in {2, 3, 6}


def test_the_machine_is_measured(local: CliRunner) -> None:
    before = set(local.target.folder.iterdir())
    figures = local.json("bench", "--seconds", "1")
    assert figures.keys() == {"plans_per_second", "cycles_per_second", "cpu_us_per_cycle"}
    assert all(figure > 0 for figure in figures.values())
    assert "full cycles per second" in local.ok("bench", "--seconds", "0.2")
    assert set(local.target.folder.iterdir()) == before


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "soon"])
def test_a_measurement_lasts_some_seconds(local: CliRunner, seconds: str) -> None:
    assert local.refused("bench", f"--seconds={seconds}")[0] == 2


@pytest.mark.parametrize(
    ("words", "title"),
    [(("bench", "--seconds", "0.5"), "measuring"), (("jobs", "list", "--all"), "list jobs")],
    ids=["bar", "count"],
)
def test_progress_is_shown_on_a_terminal_beside_the_answer(
    tmp_path: Path, words: tuple[str, ...], title: str
) -> None:
    shown, terminal = pty.openpty()
    with subprocess.Popen(
        command(*words, "--json"),
        stdout=subprocess.PIPE,
        stderr=terminal,
        cwd=tmp_path,
        env=env(TERM="xterm"),
    ) as process:
        os.close(terminal)
        # First what is seen: a terminal that nobody reads is soon full, and then the program waits.
        seen = b""
        try:
            while chunk := os.read(shown, 65_536):
                seen += chunk
        except OSError:  # Linux reports the end of a terminal as an error.
            pass
        os.close(shown)
        answer, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert title in seen.decode()
    assert json.loads(answer)


def test_nothing_but_the_answer_is_shown_in_a_pipe(local: CliRunner) -> None:
    done = local.target.process("jobs", "list", "--all", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"items": [], "next_cursor": None}
