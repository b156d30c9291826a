"""Databases whose disk a test fills and frees, of every kind that this machine can provide."""

import asyncio
import os
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg
from tests.postgres import TABLES, Cluster, on_database

MEGABYTE = 1 << 20
SIZE = 16 * MEGABYTE
NO_LIMIT = resource.RLIM_INFINITY
REFUSE = """
CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
END $$
"""


class LimitedFile:
    """A SQLite file that its process may not write: needs no rights, and SQLite reports an I/O error."""

    says = "cannot be read or written: its disk reports an error."

    def __init__(self, folder: Path) -> None:
        self.url = f"sqlite:///{folder / 'cadenza.db'}"

    def fill(self, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, NO_LIMIT))

    def free(self, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (NO_LIMIT, NO_LIMIT))


class MountedFile:
    """A SQLite file on a small file system of its own, for which one must be root."""

    says = "is full."

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"
        self.url = f"sqlite:///{folder / 'cadenza.db'}"

    def fill(self, _: int) -> None:
        fill(self._ballast)

    def free(self, _: int) -> None:
        self._ballast.unlink()


class RefusingServer:
    """A PostgreSQL that refuses new rows as it does when the disk of a tablespace is full."""

    says = "is full."

    def __init__(self, cluster: Cluster) -> None:
        self.url = cluster.url

    def fill(self, _: int) -> None:
        # A row of a table that hardly grows still finds a place.
        made = (
            f"CREATE TRIGGER full_disk BEFORE INSERT ON {one} EXECUTE FUNCTION refuse();"
            for one in TABLES
            if one != "rates"
        )
        execute(self.url, REFUSE, *made)

    def free(self, _: int) -> None:
        execute(self.url, "DROP FUNCTION refuse CASCADE")


class FullTablespace:
    """A PostgreSQL database in a tablespace on a small file system, for which one must be root."""

    says = "is full."

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._ballast = folder / "ballast"
        place = folder / "tablespace"
        place.mkdir()
        cluster.give(folder, place)
        execute(cluster.url, f"CREATE TABLESPACE small LOCATION '{place}'")
        execute(cluster.url, "CREATE DATABASE small TABLESPACE small TEMPLATE template0")
        self.url = on_database(cluster.url, "small")

    def fill(self, _: int) -> None:
        fill(self._ballast)

    def free(self, _: int) -> None:
        self._ballast.unlink()


SmallDisk = LimitedFile | MountedFile | RefusingServer | FullTablespace
KINDS = ["limited file", "refusing server"]
if os.geteuid() == 0:
    KINDS += ["mounted file", "full tablespace"]


@contextmanager
def mounted() -> Iterator[Path]:
    """A small file system."""
    with tempfile.TemporaryDirectory(prefix="cadenza-disk-") as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=755", "tmpfs", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def fill(ballast: Path) -> None:
    """Write until the file system takes no more."""
    with ballast.open("ab", buffering=0) as file:
        for block in (b"\0" * 4_096, b"\0"):
            try:
                while True:
                    file.write(block)
            except OSError:
                pass


def execute(url: str, *statements: str) -> None:
    async def execute() -> None:
        connection = await asyncpg.connect(url)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    asyncio.run(execute())
