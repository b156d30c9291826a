"""Commands on a database of their own, and on a server that runs beside the tests."""

import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.cli_process import command, env

from cadenza.roots.command_line import main

WAIT_S = 60


@dataclass
class CliTarget:
    """Commands in one folder, with the settings of one way."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)

    def process(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """A command as a program of its own."""
        return subprocess.run(
            command(*words),
            input=given,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_S,
            cwd=self.folder,
            env=env(**self.settings),
        )

    def said(self, *words: str, given: str = "") -> Any:
        """What a program of its own answers with --json."""
        done = self.process(*words, "--json", given=given)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return json.loads(done.stdout)


@dataclass
class CliRunner:
    """Commands in this process, which is quicker."""

    target: CliTarget
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def run(self, *words: str) -> tuple[int, str, str]:
        """Exit code, output and errors."""
        self.monkeypatch.chdir(self.target.folder)
        for name in ("CADENZA_SERVER", "CADENZA_KEY"):
            self.monkeypatch.delenv(name, raising=False)
        for name, value in self.target.settings.items():
            self.monkeypatch.setenv(name, value)
        self.capsys.readouterr()
        code = main(words)
        captured = self.capsys.readouterr()
        return code, captured.out, captured.err

    def ok(self, *words: str) -> str:
        """The output of what must succeed."""
        code, out, err = self.run(*words)
        assert (code, err) == (0, ""), err
        return out

    def json(self, *words: str) -> Any:
        """The answer as a program reads it."""
        place = words.index("--") if "--" in words else len(words)
        return json.loads(self.ok(*words[:place], "--json", *words[place:]))

    def refused(self, *words: str) -> tuple[int, str]:
        """The exit code and the one sentence of what must fail."""
        code, out, err = self.run(*words)
        assert out == ""
        assert err.startswith("cadenza: ")
        assert err.count("\n") == 1
        return code, err


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


@contextmanager
def a_server(folder: Path) -> Iterator[CliTarget]:
    """A server on a database in a folder, and the target behind it with a key that may do everything."""
    local = CliTarget(folder)
    local.said("migrate")
    key = local.said("keys", "create", "--name", "tests", "--scope", "admin")["key"]
    port = free_port()
    serving = env(CADENZA_PORT=str(port), CADENZA_ALLOW_PRIVATE_TARGETS="true")
    with (
        (folder / "server.log").open("wb") as log,
        subprocess.Popen(command("api"), cwd=folder, env=serving, stdout=log, stderr=log) as process,
    ):
        address = f"http://127.0.0.1:{port}"
        try:
            wait_for(address, process)
            yield CliTarget(folder, {"CADENZA_SERVER": address, "CADENZA_KEY": key})
        finally:
            process.terminate()
            process.wait(WAIT_S)


def wait_for(address: str, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + WAIT_S
    while time.monotonic() < end:
        assert process.poll() is None, "the server ended"
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("the server does not answer")
