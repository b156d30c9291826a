"""A PostgreSQL server and a standby of it, which is promoted when the first is killed."""

import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Self

import asyncpg
from tests.postgres import Cluster, free_port, tcp_url, wheel_programs

SYNC_STATE = "SELECT sync_state FROM pg_stat_replication"


async def synchronous_standby(primary: Cluster, port: int) -> Cluster:
    """A standby that has every commit that the primary has confirmed."""
    standby = await asyncio.to_thread(Cluster, wheel_programs(), primary=primary, port=port)
    await set_up(primary, "synchronous_standby_names = '*'")
    await _until(primary, SYNC_STATE, "sync")
    return standby


async def set_up(server: Cluster, setting: str) -> None:
    """Change a setting of a server that runs."""
    connection = await asyncpg.connect(server.url)
    await connection.execute(f"ALTER SYSTEM SET {setting}")
    await connection.execute("SELECT pg_reload_conf()")
    await connection.close()


async def _until(server: Cluster, statement: str, answer: object) -> None:
    connection = await asyncpg.connect(server.url)
    async with asyncio.timeout(60):
        while await connection.fetchval(statement) != answer:  # noqa: ASYNC110 - It tells nobody.
            await asyncio.sleep(0.05)
    await connection.close()


class ReplicaPair:
    """Two servers of the wheel, the second a synchronous standby of the first, or one that lags behind."""

    def __init__(self, *, synchronous: bool) -> None:
        self.primary = Cluster(wheel_programs())
        self._port = free_port()
        self._synchronous = synchronous
        self.url = f"{tcp_url(self.primary.port, self._port)}?target_session_attrs=read-write"

    async def __aenter__(self) -> Self:
        if self._synchronous:
            self.standby = await synchronous_standby(self.primary, self._port)
        else:
            self.standby = await asyncio.to_thread(
                Cluster, wheel_programs(), primary=self.primary, port=self._port
            )
            await _until(self.primary, SYNC_STATE, "async")
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.standby.remove)
        await asyncio.to_thread(self.primary.remove)

    async def fall_behind(self) -> None:
        """From now on, the standby receives nothing."""
        await set_up(self.standby, "primary_conninfo = ''")
        await _until(self.primary, "SELECT count(*) FROM pg_stat_replication", 0)

    def fail_over(self) -> float:
        """Kill the primary and promote the standby; the seconds that took."""
        began, pid_file = time.monotonic(), Path(self.primary.folder / "data" / "postmaster.pid")
        os.kill(int(pid_file.read_text().split()[0]), signal.SIGKILL)
        pid_file.unlink()
        self.standby.promote()
        return time.monotonic() - began
