"""What a server writes beside its SQLite file, so that commands on this machine do as it does."""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Self

from cadenza.adapters.clock import FastClock, SystemClock
from cadenza.domain.validation import iso
from cadenza.ports.clock import Clock
from cadenza.roots.settings import SQLITE, Settings

LONGEST = 65_536
SUFFIX = "-server"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """A running server: its address, its clock, and the targets that it allows."""

    address: str
    allow_private_targets: bool
    allow_targets: list[str]
    speed: float = 1.0
    began: str = ""
    start: str = ""

    @classmethod
    def of(cls, settings: Settings, address: str, clock: Clock) -> Self:
        """The record of a server with these settings."""
        record = cls(
            address=address,
            allow_private_targets=settings.allow_private_targets,
            allow_targets=list(settings.allow_targets),
        )
        if not isinstance(clock, FastClock):
            return record
        return replace(record, speed=clock.speed, began=iso(clock.began), start=iso(clock.start))

    @property
    def clock(self) -> Clock:
        """The clock of the server."""
        if self.speed == 1:
            return SystemClock()
        return FastClock(
            self.speed, datetime.fromisoformat(self.start), began=datetime.fromisoformat(self.began)
        )

    def applied_to(self, settings: Settings) -> Settings:
        """The settings of a command, with the targets that the server allows."""
        allowed = {
            "allow_private_targets": self.allow_private_targets,
            "allow_targets": tuple(self.allow_targets),
        }
        return settings.model_copy(update=allowed)


def database_path(settings: Settings) -> Path | None:
    """The SQLite file of the settings; None for PostgreSQL."""
    url = settings.database_url
    return Path(url.removeprefix(SQLITE)) if url.startswith(SQLITE) else None


def with_demo_database(settings: Settings) -> Settings:
    """The settings with the database of the demo."""
    return settings.model_copy(update={"database_url": settings.demo_database_url})


@contextmanager
def published(settings: Settings, record: ServerRecord) -> Iterator[None]:
    """Publish the record while the server runs, which a lock shows; a second server of the file has none."""
    with _opened(settings) as file:
        if file is not None and _lock(file, fcntl.LOCK_EX):
            file.truncate(0)
            file.write(json.dumps(asdict(record)).encode())
            file.flush()
        yield


def running_server(settings: Settings) -> ServerRecord | None:
    """The server that runs on the SQLite file of the settings; None if there is none."""
    path = database_path(settings)
    with suppress(OSError, ValueError, TypeError):
        if path is not None:
            with path.with_name(path.name + SUFFIX).open("rb") as file:
                return None if _lock(file, fcntl.LOCK_SH) else ServerRecord(**json.loads(file.read(LONGEST)))
    return None


@contextmanager
def _opened(settings: Settings) -> Iterator[BinaryIO | None]:
    """The file of the record, for its owner's eyes; None where it cannot be written."""
    path, file = database_path(settings), None
    with suppress(OSError):
        if path is not None:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
            file = os.fdopen(os.open(path.with_name(path.name + SUFFIX), flags, 0o600), "r+b")
    try:
        yield file
    finally:
        if file is not None:
            file.close()


def _lock(file: BinaryIO, kind: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(file.fileno(), kind | fcntl.LOCK_NB)
        return True
    return False
