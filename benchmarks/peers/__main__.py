"""Full cycles of the product, of other schedulers and of hand-written ceilings, beside each other.

A cycle is a claim, a function that does nothing, a record of the run where the peer keeps one, and the next
moment or job, stored in PostgreSQL with its default durability. Everything is always due. Each contender has
a database of its own, peers an environment of their own with their newest version; laps take turns, and a
ratio is the median of the rounds, so that the machine's other work meets all of them. A peer that cannot be
installed, or does not run, is left out, with a sentence.
"""

import argparse
import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.peers.environments import PEERS, ROOT, Peer, interpreter, version
from benchmarks.postgres_cycles import Lap, counted, fill, join, lap, leave
from benchmarks.servers import a_server, empty_database, new_database
from tests.postgres import Cluster

BATCH = 500
OURS = "Cadenza"
CEILING = "ceiling, in batches"
ROWS = "ceiling, row by row"
START_S = 120
POLL_S = 0.2


class Contender(NamedTuple):
    """Something that runs cycles, and how it is started."""

    name: str
    role: str | None = None
    """A role of `benchmarks.cycle_process`; None for a peer."""
    peer: Peer | None = None
    python: Path | None = None


class Options(NamedTuple):
    """How much to measure."""

    endpoints: int
    seconds: float
    rounds: int


def contenders(names: list[str]) -> list[Contender]:
    """Ceilings, the product as it is started by default, and the peers that can be had."""
    found = [Contender(CEILING, "ceiling"), Contender(ROWS, "rows"), Contender(OURS, "default")]
    for peer in PEERS:
        if names and peer.name not in names:
            continue
        if (python := interpreter(peer.module, peer.packages)) is None:
            print(f"{peer.name} is left out: its packages could not be installed.", file=sys.stderr)
        else:
            found.append(Contender(f"{peer.name} ({version(peer, python)})", peer=peer, python=python))
    return found


async def start(contender: Contender, url: str) -> Process:
    """Start its process; it has begun to run when this returns."""
    if contender.peer is None or contender.python is None:
        process = await join(str(contender.role), url, BATCH)
    else:
        program = ("-m", f"benchmarks.peers.{contender.peer.module}", url, str(contender.peer.jobs))
        process = await asyncio.create_subprocess_exec(
            contender.python, *program, stdin=PIPE, stdout=PIPE, cwd=ROOT
        )
    try:
        async with asyncio.timeout(START_S):
            while not await counted([process]):  # noqa: ASYNC110 - It is another process.
                await asyncio.sleep(POLL_S)
    except BaseException:
        end(process)
        raise
    return process


async def one_lap(cluster: Cluster, contender: Contender, number: int, options: Options) -> Lap:
    """A lap of one contender, on a database of its own."""
    if contender.peer is not None:
        url = await empty_database(cluster, f"{contender.peer.module}_{number}")
    else:
        url = await new_database(cluster, f"{contender.role}_{number}")
        await fill("worker" if contender.name == OURS else "ceiling", url, options.endpoints)
    process = await start(contender, url)
    try:
        measured = await lap(cluster, url, [process], options.seconds)
        await leave(process)
    finally:
        end(process)
    return measured


def end(process: Process) -> None:
    """End a process, however it is."""
    with suppress(ProcessLookupError):
        process.kill()


class DidNotRun(Exception):
    """A peer was started, and runs nothing."""


async def lap_of_peer(cluster: Cluster, contender: Contender, number: int, options: Options) -> Lap:
    """A lap of one contender; DidNotRun if it is a peer that ends or never begins."""
    try:
        return await one_lap(cluster, contender, number, options)
    except (OSError, ValueError, TimeoutError, AssertionError) as problem:
        if contender.peer is None:
            raise
        raise DidNotRun(f"{contender.name} is left out: it did not run ({problem!r}).") from problem


async def one_round(
    cluster: Cluster, found: list[Contender], number: int, options: Options
) -> dict[str, Lap]:
    """A lap of each contender; one that does not run is taken off the list."""
    laps = {}
    for one in list(found):
        try:
            laps[one.name] = await lap_of_peer(cluster, one, number, options)
        except DidNotRun as problem:
            print(problem, file=sys.stderr)
            found.remove(one)
    return laps


async def measure(options: Options, names: list[str]) -> dict[str, object]:
    """Rounds of laps; of each contender the cheapest lap and the median of the ratios."""
    found = contenders(names)
    with a_server() as cluster:
        rounds = [await one_round(cluster, found, number, options) for number in range(options.rounds)]
    return {
        "contenders": {one.name: summary(one.name, rounds) for one in found},
        "load": round(os.getloadavg()[0], 1),
    }


def summary(name: str, rounds: list[dict[str, Lap]]) -> dict[str, float]:
    """The figures of one contender, and how many times as many cycles the product completes."""
    best = min((laps[name] for laps in rounds), key=lambda one: one.cpu_us)
    return {
        "per_second": round(median(laps[name].per_second for laps in rounds)),
        "cpu_us": round(best.cpu_us),
        "ours_to_it": round(median(laps[OURS].per_second / laps[name].per_second for laps in rounds), 2),
        "its_cpu_to_ours": round(median(laps[name].cpu_us / laps[OURS].cpu_us for laps in rounds), 2),
    }


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.peers")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--endpoints", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peer", action="append", default=[], choices=[peer.name for peer in PEERS])
    given = parser.parse_args()
    options = Options(given.endpoints, given.seconds, given.rounds)
    results = asyncio.run(measure(options, given.peer))
    print(json.dumps(results, indent=None if given.json else 2))


if __name__ == "__main__":
    main()
