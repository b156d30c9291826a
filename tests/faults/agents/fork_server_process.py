"""Forks processes from one that has imported everything, so that being born again takes no time.

Each line that it reads is an order: where to live, with which settings, how fast. It answers with an id.
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


def live(order: dict[str, Any]) -> None:
    """Be `cadenza up`, or the API alone, until the end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.chdir(order["folder"])
    os.environ.update(order["settings"])
    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(order[name], os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
    try:
        code = up.launch(demo=False, speed=order["speed"]) if order["speed"] else api.launch()
    except BaseException as problem:  # noqa: BLE001 - Nothing of the parent may run on in here.
        os.write(2, repr(problem).encode())
        code = 1
    os._exit(code)


def main() -> None:
    """Take orders until there are no more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # Nobody needs to wait for them.
    for line in iter(sys.stdin.readline, ""):
        pid = os.fork()
        if not pid:
            live(json.loads(line))
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
