"""Forks server processes from one that has imported everything, so that they start quickly.

Each line that it reads is a request: role, folder, settings and speed. It answers with a process id.
"""

import asyncio
import json
import os
import signal
import sys
from functools import partial
from typing import Any

import dateparser
from alembic import command
from tests.faults.scheduling import worker_process

from cadenza.adapters.stores.postgres import store as postgres
from cadenza.adapters.stores.sql import migrate
from cadenza.adapters.stores.sql.migrations.versions import v0008_agents
from cadenza.adapters.stores.sqlite import store as sqlite
from cadenza.engine.agents import turn_lock
from cadenza.engine.agents.turn_lock import TurnSettings
from cadenza.roots import api, daily, planner, up, worker

TURN_LEASE = "TURN_LEASE_MS"
"""How long the turn of a process that died lasts, if not as long as usual."""
DISPATCH_LOG = "DISPATCH_LOG"
"""Where a worker with functions notes its runs."""
LONGEST_RUN_MS = 300
IMPORTED = (command, dateparser, migrate, postgres, sqlite, v0008_agents)
PROGRAMS = {
    "api": api.launch,
    "worker": worker.launch,
    "planner": planner.launch,
    "daily": daily.launch,
}


def launch(role: str, speed: float) -> int:
    """Run a program of Cadenza, or a worker with functions, until it ends; the exit code."""
    if role == "up":
        return up.launch(demo=False, speed=speed)
    if role == "functions":
        asyncio.run(worker_process.main(os.environ[DISPATCH_LOG], 0, LONGEST_RUN_MS))
        return 0
    return PROGRAMS[role]()


def run_process(request: dict[str, Any]) -> None:
    """Run what was asked for until it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(request["folder"])
    os.environ.update(request["settings"])
    if TURN_LEASE in os.environ:
        turn_lock.TurnSettings = partial(TurnSettings, lease_ms=int(os.environ[TURN_LEASE]))  # type: ignore[misc,assignment]
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    try:
        code = launch(request["role"], request["speed"])
    except BaseException as problem:  # noqa: BLE001 - Nothing of the parent may run on in here.
        os.write(2, repr(problem).encode())
        code = 1
    os._exit(code)


def main() -> None:
    """Fork a process for each request until the input ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # So that they need not be waited for.
    for line in iter(sys.stdin.readline, ""):
        pid = os.fork()
        if not pid:
            run_process(json.loads(line))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
