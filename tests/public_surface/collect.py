"""Collect all that users see of Cadenza, and compare it with the files in `snapshots`, or write them anew.

From the project's folder, with `src` on the path:

    python -m tests.public_surface.collect                   compare; exits with 1 when something differs
    python -m tests.public_surface.collect --write           write the snapshots of this folder anew
    python -m tests.public_surface.collect --write --to DIR  write them to another folder
    … --without-postgresql                                   leave PostgreSQL out, and its file alone

There are two levels. `shape` holds names, fields, options, codes, types, defaults, tables and counts;
`sentences` holds what is said in words. A commit that only says something more plainly changes files in
`sentences` alone. `cadenza --help` stands in both: its options in `shape`, its text in `sentences`.
"""

import argparse
import asyncio
import difflib
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.postgres import NAMED, Cluster, Databases, wheel_programs
from tests.public_surface.commands import collect_commands
from tests.public_surface.figures import collect_figures
from tests.public_surface.names import collect_names
from tests.public_surface.servers import collect_servers
from tests.public_surface.simulations import collect_simulations
from tests.public_surface.snapshot import Snapshot
from tests.public_surface.tables import collect_postgresql, collect_sqlite

SNAPSHOTS = Path(__file__).with_name("snapshots")
LEVELS = ("shape", "sentences")
POSTGRESQL = "shape/postgresql.json"


def collect() -> dict[str, str]:
    """Everything but PostgreSQL: texts by the names of their files."""
    snapshot = Snapshot()
    collect_commands(snapshot)
    collect_names(snapshot)
    collect_simulations(snapshot)
    collect_sqlite(snapshot)
    asyncio.run(collect_servers(snapshot))
    asyncio.run(collect_figures(snapshot))
    return snapshot.files


def collect_from(databases: Databases) -> str:
    """The tables of PostgreSQL, made on one of its servers."""
    snapshot, url = Snapshot(), databases.empty()
    try:
        collect_postgresql(snapshot, url)
    finally:
        databases.drop(url)
    return snapshot.files[POSTGRESQL]


def collect_postgresql_alone() -> str:
    """The same on a server that is started for it, or on the one that is named."""
    if NAMED:
        return collect_from(Databases(NAMED))
    cluster = Cluster(wheel_programs())
    try:
        return collect_from(Databases(cluster.url))
    finally:
        cluster.remove()


def stored(folder: Path) -> dict[str, str]:
    """What is written in a folder of snapshots; other files in it are none of them."""
    files = [path for level in LEVELS for path in sorted((folder / level).glob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in files}


def write(files: Mapping[str, str], folder: Path) -> None:
    """Write snapshots, and delete those that are no longer collected."""
    for name in stored(folder).keys() - files.keys():
        (folder / name).unlink()
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Lines that say what differs, file by file."""
    for name in sorted(before.keys() | now.keys()):
        old, new = (side.get(name, "").splitlines() for side in (before, now))
        yield from difflib.unified_diff(old, new, f"stored/{name}", f"collected/{name}", n=2, lineterm="")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.public_surface.collect")
    parser.add_argument("--write", action="store_true", help="write the snapshots instead of comparing them")
    parser.add_argument("--to", type=Path, default=SNAPSHOTS, help="the folder of the snapshots")
    parser.add_argument("--without-postgresql", action="store_true", help="leave PostgreSQL out")
    given = parser.parse_args()
    before, now = stored(given.to), collect()
    if not given.without_postgresql:
        now[POSTGRESQL] = collect_postgresql_alone()
    elif POSTGRESQL in before:
        now[POSTGRESQL] = before[POSTGRESQL]
    if given.write:
        write(now, given.to)
        return 0
    found = list(differences(before, now))
    sys.stdout.writelines(f"{line}\n" for line in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
