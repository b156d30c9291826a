"""Environments for what is measured or drawn with packages of others, made once and used again."""

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FOLDER = Path(sys.prefix) / "peers"
UV = (sys.executable, str(ROOT / "scripts" / "uv_with_pip_settings.py"))


class Peer(NamedTuple):
    """Another scheduler or queue that keeps its state in PostgreSQL."""

    name: str
    module: str
    """What runs it, in `benchmarks.peers`."""
    jobs: int
    """How many are always due: enough that it never waits for one."""
    packages: tuple[str, ...]


PEERS = (
    Peer(
        "APScheduler 3", "apscheduler_3", 1_000, ("apscheduler>=3.11,<4", "sqlalchemy>=2", "psycopg[binary]")
    ),
    Peer(
        "APScheduler 4",
        "apscheduler_4",
        200,
        # Its pre-release does not run with what came out after it.
        ("apscheduler==4.0.0a6", "sqlalchemy[asyncio]>=2,<2.1", "asyncpg", "anyio>=4.6,<4.10", "sniffio"),
    ),
    Peer("pgqueuer", "pgqueuer_jobs", 1_000, ("pgqueuer[asyncpg]>=1,<2",)),
    Peer("procrastinate", "procrastinate_jobs", 1_000, ("procrastinate>=3,<4", "psycopg[binary]")),
    Peer("DBOS", "dbos_workflows", 200, ("dbos>=3,<4",)),
)


def interpreter(name: str, packages: tuple[str, ...]) -> Path | None:
    """The Python of an environment with these packages; None if the registry does not have them."""
    python, complete = FOLDER / name / "bin" / "python", FOLDER / name / "complete"
    if complete.exists() and complete.read_text() == " ".join(packages):
        return python
    commands = (
        ("venv", "--quiet", "--clear", "--python", sys.executable, str(FOLDER / name)),
        ("pip", "install", "--quiet", "--python", str(python), *packages),
    )
    for command in commands:
        if subprocess.run([*UV, *command], check=False).returncode:
            return None
    complete.write_text(" ".join(packages))
    return python


def version(peer: Peer, python: Path) -> str:
    """The version of a peer that is measured."""
    package = peer.packages[0].split("[")[0].split(">")[0].split("=")[0]
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()
