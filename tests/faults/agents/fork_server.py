"""Starts real processes quickly, by forking, because they are killed often."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import aiohttp
from tests.surfaces.server_process import A_KEY, Caller

PROGRAM = "tests.faults.agents.fork_server_process"
ROOT = Path(__file__).parents[3]
TIMEOUT_S = 120.0
PAUSE_S = 0.01


class ForkedProcess:
    """A process, and the files that it writes to."""

    def __init__(self, pid: int, out: Path, err: Path) -> None:
        self.pid = pid
        self._out = out
        self._err = err

    @property
    def alive(self) -> bool:
        """Whether it has not ended; the fork server reaps what has."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        return True

    @property
    def log(self) -> str:
        """What it has logged so far."""
        return self._err.read_text() if self._err.exists() else ""

    def send(self, how: signal.Signals) -> None:
        """Send it a signal, if it has not ended."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, how)

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        self._end(signal.SIGKILL)

    def end(self) -> None:
        """Stop it with SIGTERM, and check that it logs its end."""
        self._end(signal.SIGTERM)
        assert "cadenza has stopped" in self.log

    def _end(self, how: signal.Signals) -> None:
        limit = time.monotonic() + TIMEOUT_S
        self.send(how)
        while self.alive:
            assert time.monotonic() < limit, "it would not end"
            time.sleep(PAUSE_S)


class ServerProcess(ForkedProcess):
    """A process of `cadenza up` or the API."""

    def __init__(self, pid: int, out: Path, err: Path) -> None:
        super().__init__(pid, out, err)
        self.address = self._address()

    @property
    def key(self) -> str:
        """The key that it printed."""
        found = A_KEY.search(self._out.read_text())
        assert found, "it printed no key"
        return found[0]

    @asynccontextmanager
    async def caller(self, key: str | None = None) -> AsyncIterator[Caller]:
        """A caller with a key."""
        headers = {"Authorization": f"Bearer {key or self.key}"}
        async with aiohttp.ClientSession(self.address, headers=headers) as session:
            yield Caller(session)

    def _address(self) -> str:
        limit = time.monotonic() + TIMEOUT_S
        while time.monotonic() < limit:
            for line in self.log.splitlines(keepends=True):
                if "cadenza is up" in line and line.endswith("\n"):
                    return str(json.loads(line)["api"])
            time.sleep(PAUSE_S)
        raise AssertionError(f"it did not start: {self.log}")


class ForkServer:
    """Forks server processes, all in the same folder and with the same settings."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self._folder = folder
        self._settings = {"CADENZA_PORT": "0", "CADENZA_LOG_JSON": "1"} | settings
        self._started = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def up(self, *, speed: float = 1) -> AbstractContextManager[ServerProcess]:
        """`cadenza up`, killed at the end of the block."""
        return self._server("up", speed)

    def api(self) -> AbstractContextManager[ServerProcess]:
        """The API alone, killed at the end of the block."""
        return self._server("api", 1)

    def start(self, role: str, **settings: str) -> ForkedProcess:
        """Any program, with settings of its own beside the common ones; it is the caller's to end."""
        return ForkedProcess(*self._fork(role, 1, settings))

    @contextmanager
    def _server(self, role: str, speed: float) -> Iterator[ServerProcess]:
        pid, out, err = self._fork(role, speed, {})
        try:
            yield ServerProcess(pid, out, err)
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _fork(self, role: str, speed: float, settings: dict[str, str]) -> tuple[int, Path, Path]:
        self._started += 1
        out, err = (self._folder / f"{name}-{self._started}" for name in ("out", "err"))
        request = {
            "role": role,
            "folder": str(self._folder),
            "settings": self._settings | settings,
            "speed": speed,
            "out": str(out),
            "err": str(err),
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline()), out, err

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(TIMEOUT_S)
