"""Daily processes on one PostgreSQL share the work; two die as lanes change hands, and nobody is skipped."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from tests.faults.daily.daily_processes import (
    TIMEOUT_S,
    CrashPoint,
    LogEntry,
    Process,
    ProcessSetup,
    SetClock,
    read_log,
    started,
    until,
)
from tests.faults.daily.test_process_kills import ALL, Given, asked, populate, with_schema
from tests.faults.engine_profiles import PROFILES, SOAK
from tests.postgres import Databases, databases, newest_databases

from cadenza.domain.daily.user import DayStatus, Verdict
from cadenza.ports.store import Store

__all__ = ["databases", "newest_databases"]

USERS = 3_000 if SOAK else 300
JOB_S = 0.5
"""Until there is haste: so there is work for everybody who comes, however long that takes."""
MOST = 6
BEGIN = datetime(2030, 1, 31, 23, 20, tzinfo=UTC)
TAKING, GIVING = CrashPoint("take", 1, after=True), CrashPoint("give", 2)
"""The first that is given away is still taken over in peace."""
SUDDEN = [CrashPoint("give", 1), CrashPoint("give", 1, after=True), CrashPoint("give", 2, after=True)]


def users() -> list[Given]:
    """All of them in the window, and cut off around midnight, which does not come."""
    return [(f"steady-{n:05}", (23 * 60 + 50 + n % 30) % 1_440) for n in range(USERS)]


async def days(store: Store) -> list[Verdict]:
    dates = (BEGIN.date(), BEGIN.date() + timedelta(days=1))
    return [one for day in dates for one in await store.daily.verdicts_on("default", day, ALL)]


@contextmanager
def at_work(setup: ProcessSetup) -> Iterator[Process]:
    """A process that has begun to serve users."""
    with started(setup) as (process,):
        until(lambda: works(process, setup.folder), process)
        yield process


def works(process: Process, folder: Path) -> bool:
    return any(entry.pid == process.pid for entry in read_log(folder))


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("giving", [GIVING, *SUDDEN] if SOAK else [GIVING], ids=repr)
def test_those_who_are_left_serve_everybody(
    newest_databases: Databases, tmp_path: Path, giving: CrashPoint, profile: str
) -> None:
    url = with_schema(newest_databases, profile)
    asked(url, partial(populate, given=users()))
    clock = SetClock(tmp_path / "clock", BEGIN, 1)
    setup = ProcessSetup(
        url, tmp_path, clock, job_s=JOB_S, max_concurrency=MOST, tick_ms=1_000, profile=profile
    )
    with (
        at_work(setup._replace(crash_point=giving)) as first,
        at_work(setup) as second,
        started(setup, setup._replace(crash_point=TAKING)) as (third, fourth),
    ):
        for process in (first, fourth):
            process.join(TIMEOUT_S)
            assert process.exitcode == -signal.SIGKILL, "it did not get as far as its death"
        until(lambda: works(third, tmp_path), second, third)
        setup.no_delay_file.touch()
        until(lambda: len(asked(url, days)) >= USERS, second, third)
        for process in (second, third):
            process.terminate()
        for process in (second, third):
            process.join(TIMEOUT_S)
        assert [process.exitcode for process in (second, third)] == [0, 0]
    found, entries = asked(url, days), read_log(tmp_path)
    assert {one.user_id for one in found} == {name for name, _ in users()}
    assert {one.status for one in found} == {DayStatus.SUCCESS}
    assert len(found) == USERS, "somebody has two verdicts"
    assert most_at_once(entries) <= MOST
    again = [entry.user_id for entry in entries if entry.what == "ok" and entry.pid != first.pid]
    assert len(again) == len(set(again)), "a job that went well was done again, and nobody had died"


def most_at_once(entries: list[LogEntry]) -> int:
    """How many jobs ran at the same time; those of a process that died ended then."""
    crash_points = {entry.pid: entry.steady for entry in entries if entry.what == "dies"}
    ends = {(entry.pid, entry.user_id): entry.steady for entry in entries if entry.what in ("ok", "failed")}
    steps: list[tuple[float, int]] = []
    for entry in entries:
        if entry.what == "begin":
            end = ends.get((entry.pid, entry.user_id), crash_points.get(entry.pid, float("inf")))
            steps += [(entry.steady, 1), (end, -1)]
    running = most = 0
    for _, step in sorted(steps):
        running += step
        most = max(most, running)
    return most
