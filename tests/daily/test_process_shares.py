"""Three daily processes on one PostgreSQL share the work; one is killed, and nobody is skipped."""

import os
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from tests.daily.lives import Life, Note, SetClock, noted, started, until
from tests.daily.test_process_kills import ALL, Given, asked, populate
from tests.postgres import Databases, databases, newest_databases

from cadenza.domain.daily import DayStatus, Verdict
from cadenza.ports.store import Store

__all__ = ["databases", "newest_databases"]

SOAK = bool(os.environ.get("CADENZA_SOAK"))
USERS = 3_000 if SOAK else 90
MOST = 6
SPEED = 20 if SOAK else 120
BEGIN = datetime(2030, 1, 31, 23, 20, tzinfo=UTC)


def users() -> list[Given]:
    """All of them in the window, and cut off around midnight."""
    return [(f"steady-{n:05}", (23 * 60 + 50 + n % 30) % 1_440) for n in range(USERS)]


async def days(store: Store) -> list[Verdict]:
    dates = (BEGIN.date(), BEGIN.date() + timedelta(days=1))
    return [one for day in dates for one in await store.verdicts_on("default", day, ALL)]


def test_three_share_the_work_and_one_is_killed(newest_databases: Databases, tmp_path: Path) -> None:
    url = newest_databases.new()
    asked(url, partial(populate, given=users()))
    clock = SetClock(tmp_path / "clock", BEGIN, SPEED)
    life = Life(url, tmp_path, clock, job_s=0.1, max_concurrency=MOST, tick_ms=60_000)
    with started(life, life, life) as (first, *others):
        until(lambda: len({note.pid for note in noted(tmp_path)}) == 3, first, *others)
        first.kill()
        first.join()
        until(lambda: len(asked(url, days)) >= USERS, *others)
        for process in others:
            process.terminate()
        for process in others:
            process.join(timeout=30)
        assert [process.exitcode for process in others] == [0, 0]
    found, notes = asked(url, days), noted(tmp_path)
    assert {one.user_id for one in found} == {name for name, _ in users()}
    assert {one.status for one in found} == {DayStatus.SUCCESS}
    assert len(found) == USERS, "somebody has two verdicts"
    assert {first.pid, *(process.pid for process in others)} == {note.pid for note in notes}
    assert most_at_once(notes, first.pid) <= MOST
    again = [note.user_id for note in notes if note.what == "ok" and note.pid != first.pid]
    assert len(again) == len(set(again)), "a job that went well was done again, and nobody had died"


def most_at_once(notes: list[Note], killed: int | None) -> int:
    """How many jobs ran at the same time; those of the killed one ended when it last did anything."""
    last = max(note.steady for note in notes if note.pid == killed)
    ends = {(note.pid, note.user_id): note.steady for note in notes if note.what != "begin"}
    steps: list[tuple[float, int]] = []
    for note in notes:
        if note.what == "begin":
            end = ends.get((note.pid, note.user_id), last if note.pid == killed else float("inf"))
            steps += [(note.steady, 1), (end, -1)]
    running = most = 0
    for _, step in sorted(steps):
        running += step
        most = max(most, running)
    return most
