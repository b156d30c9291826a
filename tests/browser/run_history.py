"""A past that is worth looking at: a surge with hints, clamps, a pause and failures, and planners at work."""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from tests.browser.database_seed import ADD

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sql.rows import write_run
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint, HintRecord

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def in_store(path: Path, work: Callable[[SqliteStore], Awaitable[None]]) -> None:
    """Do something with the store of a file, before the program opens it."""

    async def errand() -> None:
        store = SqliteStore(SqliteFile(path, synchronous="OFF"), TimeOrderedIds())
        await work(store)
        await store.close()

    with ThreadPoolExecutor(1) as thread:  # The browser has a loop of its own in this one.
        thread.submit(asyncio.run, errand()).result()


TRACEBACK = 'Traceback (most recent call last):\n  File "shop.py", line 7, in check\n<b>'


def write_runs(path: Path, runs: Iterator[Run]) -> None:
    """Keep runs as they are."""
    with sqlite3.connect(path) as file:
        file.executemany(ADD, (in_micros(write_run(run)) for run in runs))
    file.close()


def a_surge(endpoint: Endpoint, now: datetime, response: Json) -> Iterator[Run]:
    """Every five minutes, then for a while every thirty seconds, at times clamped, and calm again."""
    moments = [(minutes * 60, Source.BASELINE_INTERVAL) for minutes in range(55, 24, -5)]
    moments += [(1_490 - place * 30, Source.AI_INTERVAL) for place in range(24)]
    moments += [(770 - place * 20, Source.CLAMPED_MIN) for place in range(4)]
    moments += [(600, Source.AI_ONESHOT), (300, Source.BASELINE_INTERVAL), (20, Source.BASELINE_INTERVAL)]
    for place, (ago, source) in enumerate(moments):
        status = RunStatus.FAILURE if place in (16, 17) else RunStatus.TIMEOUT if place == 25 else None
        yield _run(endpoint, now - ago * SECOND, source, place=place, status=status, response=response)


def _run(
    endpoint: Endpoint,
    due: datetime,
    source: Source,
    *,
    place: int,
    status: RunStatus | None,
    response: Json,
) -> Run:
    return Run(
        id=f"{place:032x}",
        tenant_id=endpoint.tenant_id,
        job_id=endpoint.job_id,
        endpoint_id=endpoint.id,
        slot=due,
        due_at=due,
        attempt=1,
        source=source,
        claimed_at=due,
        started_at=due,
        finished_at=due + timedelta(milliseconds=120 + place),
        status=status or RunStatus.SUCCESS,
        duration_ms=120 + place,
        late_ms=place % 5,
        coalesced=0,
        verdict=True,
        error="it answered 503 Service Unavailable" if status else None,
        response=response,
        traceback=TRACEBACK if status is RunStatus.FAILURE else None,
    )


def steered(reason: str, now: datetime) -> list[HintRecord]:
    """What a planner and a person asked for meanwhile."""
    surge = now - 25 * MINUTE
    return [
        HintRecord(HintKind.INTERVAL, surge, "rule:rush", reason, surge + 13 * MINUTE, interval_ms=30_000),
        HintRecord(
            HintKind.ONE_SHOT,
            now - 11 * MINUTE,
            "planner:llm",
            "look once more",
            now + 19 * MINUTE,
            at=now - 10 * MINUTE,
        ),
        HintRecord(HintKind.PAUSE, now - 9 * MINUTE, "key:ops", "deploy", now - 6 * MINUTE),
    ]


def _with_hint(endpoint: Endpoint, record: HintRecord) -> ChangedEndpoint:
    return ChangedEndpoint(endpoint, record=record)


def write_hints(path: Path, endpoint: Endpoint, records: list[HintRecord]) -> None:
    """Keep lines of the hint history as they are."""

    async def work(store: SqliteStore) -> None:
        for record in records:
            await store.endpoints.amend(endpoint.key, partial(_with_hint, record=record))

    in_store(path, work)


def right_now() -> datetime:
    """This moment."""
    return datetime.now(UTC)
