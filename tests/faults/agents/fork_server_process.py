"""Forks server processes from one that has imported everything, so that they start quickly.

Each line that it reads is a request: folder, settings and speed. It answers with a process id.
"""

import json
import os
import signal
import sys
from typing import Any

import dateparser
from alembic import command

from cadenza.adapters.stores.postgres import store as postgres
from cadenza.adapters.stores.sql import migrate
from cadenza.adapters.stores.sql.migrations.versions import v0008_agents
from cadenza.adapters.stores.sqlite import store as sqlite
from cadenza.roots import api, up

IMPORTED = (command, dateparser, migrate, postgres, sqlite, v0008_agents)


def run_process(request: dict[str, Any]) -> None:
    """Run `cadenza up`, or the API alone, until it ends."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(request["folder"])
    os.environ.update(request["settings"])
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    try:
        code = up.launch(demo=False, speed=request["speed"]) if request["speed"] else api.launch()
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
