"""`cadenza` as a real process, and the address and key that it tells."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from tests.surfaces.api_in_process import Answered

UP = [sys.executable, "-m", "cadenza", "up"]
API = [sys.executable, "-c", "from cadenza.roots.api import launch; raise SystemExit(launch())"]
A_KEY = re.compile(r"cad_[A-Za-z0-9]+_[A-Za-z0-9]+")


class Program:
    """One process that serves the API."""

    def __init__(self, folder: Path, command: list[str], **settings: str) -> None:
        self.folder = folder
        environment = os.environ | {"CADENZA_PORT": "0", "CADENZA_LOG_JSON": "1"} | settings
        self._out = (folder / f"out-{len(list(folder.iterdir()))}").open("w+")
        self._process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=self._out, stderr=subprocess.PIPE, text=True
        )
        self.lines: list[str] = []
        self.address = self._address()

    def _address(self) -> str:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line)
            if "cadenza is up" in line:
                return str(json.loads(line)["api"])
        raise AssertionError(f"it did not start: {self.lines}")

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def said(self) -> str:
        """What it wrote to its standard output so far."""
        self._out.seek(0)
        return self._out.read()

    @property
    def key(self) -> str:
        """The key that it showed."""
        found = A_KEY.search(self.said)
        assert found, "it showed no key"
        return found[0]

    @asynccontextmanager
    async def caller(self, key: str | None = None) -> AsyncIterator["Caller"]:
        """Somebody with a key."""
        headers = {"Authorization": f"Bearer {key or self.key}"}
        async with aiohttp.ClientSession(self.address, headers=headers) as session:
            yield Caller(session)

    def ask_to_end(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def end(self) -> int:
        """Ask it to end, and wait."""
        self.ask_to_end()
        return self.ended()

    def ended(self) -> int:
        """Wait for its end; the exit code."""
        assert self._process.stderr is not None
        self.lines += self._process.stderr
        self._process.stderr.close()
        code = self._process.wait(timeout=30)
        self._out.close()
        return code

    def kill(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self.ended()


class Caller:
    """Asks, and reads answers to their end."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def ask(self, request: str, body: Any = None, **headers: str) -> Answered:
        """`GET /v1/jobs`; a body that is no text is sent as JSON."""
        method, path = request.split(" ")
        raw = body if body is None or isinstance(body, str) else json.dumps(body)
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if raw is not None:
            given = {"content-type": "application/json"} | given
        async with self._session.request(method, path, data=raw, headers=given) as answer:
            known = {name.lower(): value for name, value in answer.headers.items()}
            return Answered(answer.status, known, await answer.read())


@contextmanager
def running(folder: Path, command: list[str], **settings: str) -> Iterator[Program]:
    """A program that is gone in the end, whatever becomes of the test."""
    program = Program(folder, command, **settings)
    try:
        yield program
    finally:
        program.kill()
