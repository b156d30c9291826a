"""Secrets from the command line: piped in or typed, and never shown."""

import os
import pty
import subprocess
from pathlib import Path

from tests.surfaces.cli.cli_fixtures import CliRunner
from tests.surfaces.cli.cli_process import command, env

A_SECRET = "hush-4711-hush"


def test_a_secret_is_written_and_never_shown(cli: CliRunner) -> None:
    done = cli.target.process("secrets", "put", "hidden", given=f"{A_SECRET}\n")
    assert (done.returncode, done.stderr) == (0, "")
    told = done.stdout + cli.ok("secrets", "list") + cli.ok("secrets", "list", "--json") + cli.ok("export")
    assert "${secret:hidden}" in told
    assert A_SECRET not in told
    for file in cli.target.folder.iterdir():
        assert A_SECRET.encode() not in file.read_bytes()
    assert cli.refused("secrets", "put", "hidden", A_SECRET)[0] == 2
    cli.ok("secrets", "delete", "hidden")
    assert cli.refused("secrets", "delete", "hidden")[0] == 3


def test_a_secret_may_be_typed_unseen(local: CliRunner, tmp_path: Path) -> None:
    shown, terminal = pty.openpty()
    with subprocess.Popen(
        command("secrets", "put", "typed"),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        cwd=tmp_path,
        env=env(TERM="dumb"),
        start_new_session=True,
    ) as process:
        os.close(terminal)
        seen = b""
        while b"Value of typed: " not in seen:
            seen += os.read(shown, 1_024)
        os.write(shown, f"{A_SECRET}\n".encode())
        try:
            while chunk := os.read(shown, 1_024):
                seen += chunk
        except OSError:  # Linux reports the end of a terminal as an error.
            pass
        assert process.wait() == 0
    os.close(shown)
    assert A_SECRET.encode() not in seen
    assert [one["name"] for one in local.json("secrets", "list")["items"]] == ["typed"]


def test_an_empty_secret_is_refused(local: CliRunner) -> None:
    done = local.target.process("secrets", "put", "empty")
    assert (done.returncode, done.stdout) == (2, "")
    assert "empty" in done.stderr
