"""The processes of a campaign: each is started again whenever it has ended."""

import asyncio
import signal
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Self

from tests.faults.agents.fork_server import ForkedProcess, ForkServer
from tests.faults.campaign.plan import PROCESSES

READY = ("cadenza is up", "ready")
TIMEOUT_S = 180.0
LOOK_S = 0.05


class ProcessGroup:
    """Real processes under names that stay, as a service manager would run them."""

    def __init__(self, fork_server: ForkServer, settings: Mapping[str, Mapping[str, str]]) -> None:
        self._fork_server = fork_server
        self._settings = settings
        self._processes: dict[str, ForkedProcess] = {}
        self.exits: Counter[str] = Counter()
        """Processes that ended without being killed, while faults were going on."""
        self._killed: set[int] = set()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        for name in PROCESSES:
            self._start(name)
        self._task = asyncio.create_task(self._restart_what_ended())
        await self.all_ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stop_restarting()
        for process in self._processes.values():
            process.send(signal.SIGKILL)

    async def ready(self, name: str) -> ForkedProcess:
        """The process under a name, as soon as it has started."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                process = self._processes[name]
                if process.alive and any(text in process.log for text in READY):
                    return process
                await asyncio.sleep(LOOK_S)

    async def all_ready(self) -> None:
        await asyncio.gather(*(self.ready(name) for name in PROCESSES))

    async def kill(self, name: str) -> None:
        """Kill a process that has started; it is started again at once."""
        process = await self.ready(name)
        self._killed.add(process.pid)
        process.send(signal.SIGKILL)

    async def freeze(self, name: str, seconds: float) -> None:
        """Stop a process for a while."""
        process = await self.ready(name)
        process.send(signal.SIGSTOP)
        try:
            await asyncio.sleep(seconds)
        finally:
            process.send(signal.SIGCONT)

    async def stop(self) -> list[str]:
        """Ask all processes to stop; the names of those that would not."""
        await self._stop_restarting()
        for process in self._processes.values():
            process.send(signal.SIGTERM)
        with suppress(TimeoutError):
            async with asyncio.timeout(TIMEOUT_S):
                while any(process.alive for process in self._processes.values()):  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_S)
        return [name for name, process in self._processes.items() if process.alive]

    async def _stop_restarting(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _restart_what_ended(self) -> None:
        while True:
            for name, process in self._processes.items():
                if not process.alive:
                    if process.pid not in self._killed:
                        self.exits[name] += 1
                    self._start(name)
            await asyncio.sleep(LOOK_S)

    def _start(self, name: str) -> None:
        role = name.partition("-")[0]
        self._processes[name] = self._fork_server.start(role, **self._settings[name])
