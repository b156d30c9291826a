"""`cadenza runs list --follow`: each run once, as it ends, until nobody watches."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner
from tests.surfaces.cli.cli_process import command, env

from cadenza.surfaces.cli.commands.runs import RunFollower, follow

QUICK = "endpoints create --job f --id quick --name quick --url http://127.0.0.1:9/ --every 200ms --start-now"
WAIT_S = 60


@contextmanager
def process(folder: Path, *words: str, **streams: Any) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(command(*words), cwd=folder, env=env(), text=True, **streams) as found:
        try:
            yield found
        finally:
            found.kill()


@pytest.fixture
def busy(local: CliRunner, tmp_path: Path) -> Iterator[Path]:
    """A folder in which a worker runs an endpoint again and again."""
    local.ok("jobs", "create", "--name", "f", "--id", "f")
    local.ok(*QUICK.split())
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with process(tmp_path, "worker", **quiet) as worker:
        yield tmp_path
        worker.terminate()
        worker.wait(WAIT_S)


def test_runs_are_told_once_as_they_end_until_somebody_interrupts(busy: Path) -> None:
    words = ("runs", "list", "--follow", "--json", "--endpoint", "quick")
    with process(busy, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        runs = [json.loads(following.stdout.readline()) for _ in range(8)]
        following.send_signal(signal.SIGINT)
        runs += [json.loads(line) for line in following.stdout.read().splitlines()]
        assert (following.wait(WAIT_S), following.stderr.read()) == (0, "")
    assert len({run["id"] for run in runs}) == len(runs)
    assert [run["finished_at"] for run in runs] == sorted(run["finished_at"] for run in runs)
    slots = [run["slot"] for run in runs]
    assert slots == sorted(slots)


def test_who_follows_stops_when_the_reader_has_left(busy: Path) -> None:
    reader, writer = os.pipe()
    with process(busy, "runs", "list", "--follow", stdout=writer, stderr=subprocess.PIPE) as following:
        os.close(writer)
        with os.fdopen(reader) as lines:
            assert " failure quick " in lines.readline()
        assert following.stderr is not None
        assert (following.wait(WAIT_S), following.stderr.read()) == (0, "")


class Feed:
    """A server whose runs are committed one after the other, whatever their times say."""

    def __init__(self) -> None:
        self.committed: list[Any] = []
        self.repeats = 0
        """So many runs before its cursor are told again."""

    def commit(self, *runs: tuple[str, str]) -> None:
        self.committed += [{"id": name, "finished_at": moment} for name, moment in runs]

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        if operation == "list_runs":
            found = [run for run in self.committed if run["finished_at"] >= arguments["since"]]
            return {"items": sorted(found, key=lambda run: run["id"], reverse=True), "next_cursor": None}
        assert operation == "follow_runs"
        end = len(self.committed)
        begin = max(int(arguments["cursor"]) - self.repeats, 0) if "cursor" in arguments else end
        items = self.committed[begin : begin + self.repeats + arguments["limit"]]
        stop = begin + len(items)
        return {"items": items, "next_cursor": str(stop), "more": stop < end}


async def told_after(feed: Feed, *runs: tuple[str, str]) -> list[str]:
    """The runs that somebody is told who followed before they were committed."""
    watch = RunFollower(feed, {})
    await watch.fresh()
    feed.commit(*runs)
    told = [run["id"] for run in await watch.fresh()]
    while watch.more:
        told += [run["id"] for run in await watch.fresh()]
    assert await watch.fresh() == []
    return told


async def test_runs_are_told_by_their_commit_whatever_their_times_say() -> None:
    feed = Feed()
    feed.commit(("z", "2040-01-01T00:00:00Z"))
    assert await told_after(feed, ("b", "2030-01-01T00:00:00Z"), ("a", "2020-01-01T00:00:00Z")) == ["b", "a"]


async def test_more_runs_than_a_page_holds_are_all_told_in_their_order() -> None:
    names = [f"{number:04}" for number in range(1_300)]
    assert await told_after(Feed(), *((name, "2030-01-01T00:00:00Z") for name in names)) == names


async def test_a_run_that_the_feed_repeats_is_told_once() -> None:
    feed = Feed()
    feed.repeats = 3
    assert await told_after(feed, ("a", "2030-01-01T00:00:00Z"), ("b", "2030-01-01T00:00:01Z")) == ["a", "b"]


async def test_what_is_remembered_does_not_grow_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cadenza.surfaces.cli.commands.runs.MOST_SEEN", 10)
    feed = Feed()
    await told_after(feed, *((f"{number:04}", "2030-01-01T00:00:00Z") for number in range(100)))
    watch = RunFollower(feed, {})
    for number in range(100):
        feed.commit((f"later {number}", "2030-01-01T00:00:00Z"))
        await watch.fresh()
    assert len(watch._seen) == 10


async def test_with_since_old_runs_are_told_first_and_once() -> None:
    feed = Feed()
    feed.commit(("a", "2030-01-01T00:00:00Z"), ("b", "2030-01-03T00:00:00Z"), ("c", "2030-01-04T00:00:00Z"))
    feed.repeats = 2
    told: list[str] = []

    def print_run(run: Any) -> bool:
        told.append(run["id"])
        feed.commit((f"after {run['id']}", "2020-01-01T00:00:00Z"))
        return len(told) < 5

    await follow(feed, {"since": "2030-01-02T00:00:00Z"}, print_run)
    assert told == ["b", "c", "after b", "after c", "after after b"]
