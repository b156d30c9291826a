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

from cadenza.surfaces.cli.commands.runs import FinishedRuns

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


class History:
    """Runs in the order of their ids, newest first, as a server would list them."""

    def __init__(self) -> None:
        self.ended: dict[str, str] = {}

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        assert operation == "list_runs"
        before, since = arguments.get("cursor", "~"), arguments.get("since", "")
        found = [
            name for name in sorted(self.ended, reverse=True) if name < before and self.ended[name] >= since
        ]
        page = found[: arguments["limit"]]
        items = [{"id": name, "finished_at": self.ended[name]} for name in page]
        return {"items": items, "next_cursor": page[-1] if len(found) > len(page) else None}


def at(second: int) -> str:
    return f"2030-01-31T12:{second // 60:02}:{second % 60:02}Z"


async def test_a_run_that_began_before_others_and_ended_after_them_is_told() -> None:
    history = History()
    history.ended = {"b": at(10)}
    watch = FinishedRuns(history, {})
    assert [run["id"] for run in await watch.fresh()] == ["b"]
    history.ended["a"] = at(11)
    assert [run["id"] for run in await watch.fresh()] == ["a"]
    history.ended["c"] = at(9)
    assert [run["id"] for run in await watch.fresh()] == ["c"]
    assert await watch.fresh() == []


async def test_more_runs_than_a_page_holds_are_all_told_in_their_order() -> None:
    history = History()
    history.ended = {"0000": at(0)}
    watch = FinishedRuns(history, {})
    await watch.fresh()
    history.ended |= {f"{number:04}": at(number // 500) for number in range(1, 1_300)}
    told = await watch.fresh()
    assert [run["id"] for run in told] != []
    assert {run["id"] for run in told} == {f"{number:04}" for number in range(1, 1_300)}
    assert [run["finished_at"] for run in told] == sorted(run["finished_at"] for run in told)
    assert await watch.fresh() == []


async def test_what_is_remembered_does_not_grow_for_ever() -> None:
    history = History()
    watch = FinishedRuns(history, {})
    for second in range(100):
        history.ended = {f"{second:04}": at(second)}
        await watch.fresh()
    assert len(watch._seen) < 10
