"""CPU of a command that reads a list, on a file and from a server, beside a Python that does nothing."""

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import monotonic, sleep

GOAL_S = 0.35
STARTED_WITHIN_S = 60
CADENZA = (sys.executable, "-m", "cadenza")
Words = tuple[str, ...]


def child_cpu_s(command: Words, environment: Mapping[str, str]) -> float:
    """The CPU seconds, user and system, that a process takes from its start to its end."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def a_server(environment: Mapping[str, str]) -> Iterator[str]:
    """The address of a server on the file; it ends with the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    ours = {**environment, "CADENZA_PORT": str(port)}
    process = subprocess.Popen((*CADENZA, "api"), env=ours, stderr=subprocess.DEVNULL)
    try:
        deadline = monotonic() + STARTED_WITHIN_S
        while not _listens(port):
            assert process.poll() is None, "the server has ended"
            assert monotonic() < deadline, "the server does not start"
            sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def clean_environment() -> dict[str, str]:
    """The environment without our settings, and with compiled modules, as users have them."""
    ours = ("CADENZA_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)}


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def measure(runs: int) -> dict[str, float]:
    """Runs take turns, so that a noisy moment of the machine meets all; the least of each counts."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'cadenza.db'}"
        environment = clean_environment() | {"CADENZA_DATABASE_URL": url}
        create = (*CADENZA, "keys", "create", "--name", "benchmark", "--json")
        created = subprocess.run(create, check=True, capture_output=True, env=environment)
        key = json.loads(created.stdout)["key"]
        with a_server(environment) as address:
            commands: dict[str, Words] = {
                "bare": (sys.executable, "-c", "pass"),
                "file": (*CADENZA, "jobs", "list"),
                "server": (*CADENZA, "jobs", "list", "--server", address, "--key", key),
            }
            spent: dict[str, list[float]] = {name: [] for name in commands}
            for number in range(runs + 1):
                for name, command in commands.items():
                    used = child_cpu_s(command, environment)
                    if number:  # The first may compile modules.
                        spent[name].append(used)
    return summary(spent)


def summary(spent: Mapping[str, list[float]]) -> dict[str, float]:
    """CPU seconds of each, and what that is of a bare Python in the same turn."""
    bare = spent["bare"]
    return {
        **{f"{name}_cpu_s": round(min(times), 3) for name, times in spent.items()},
        **{
            f"{name}_to_bare": round(median(one / two for one, two in zip(spent[name], bare, strict=True)), 1)
            for name in ("file", "server")
        },
        "load": round(os.getloadavg()[0], 1),
        "goal_cpu_s": GOAL_S,
    }


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    results = measure(options.runs)
    if options.json:
        print(json.dumps(results))
    else:
        print("\n".join(f"{name:>16} {value:>10,}" for name, value in results.items()))


if __name__ == "__main__":
    main()
