"""Several store calls as one transaction: all of them, or nothing; and nobody else sees half of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path

import pytest
from tests.postgres import database_url, newest_databases

from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sql.store import SqlStore
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.errors import Conflict, LimitReached
from cadenza.domain.scheduling.endpoint import Job
from cadenza.ports.catalog import Admission
from cadenza.testing import FakeIds, an_endpoint
from cadenza.testing.clock import NEW_YEAR

__all__ = ["database_url", "newest_databases"]

SQLITE = "sqlite:///"
SET_HERE: ContextVar[str] = ContextVar("set_here", default="")


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"{SQLITE}{tmp_path / 'cadenza.db'}"
    return str(request.getfixturevalue("database_url"))


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlStore]:
    await migrate(url)
    opened: SqliteStore | PostgresStore
    if url.startswith(SQLITE):
        opened = SqliteStore(SqliteFile(Path(url.removeprefix(SQLITE))), FakeIds())
    else:
        opened = PostgresStore(PostgresPool(url), FakeIds())
    yield opened
    await opened.close()


async def add(store: SqlStore, *ids: str) -> None:
    for id_ in ids:
        await store.catalog.add_job(Job(id=id_, name=id_, tenant_id="north"))


async def jobs(store: SqlStore) -> list[str]:
    return [job.id for job in await store.catalog.jobs("north")]


async def test_what_raises_leaves_nothing(store: SqlStore) -> None:
    async def work() -> None:
        await add(store, "one", "two")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await store.database.in_one_commit(work)
    assert await jobs(store) == []
    await add(store, "three")
    assert await jobs(store) == ["three"], "what comes later has its own commit"


async def test_a_part_that_fails_takes_nothing_else_with_it(store: SqlStore) -> None:
    async def work() -> list[str]:
        await add(store, "one")
        with suppress(Conflict):
            await add(store, "two", "one", "never")
        with suppress(LimitReached):  # It is counted when it has been written.
            await store.endpoints.add(an_endpoint("too many"), Admission(most=0))
        return await jobs(store)

    assert await store.database.in_one_commit(work) == ["one", "two"]
    assert await jobs(store) == ["one", "two"]
    assert await store.catalog.find("default") == []


async def test_work_that_writes_nothing_just_answers(store: SqlStore) -> None:
    await add(store, "one")
    assert await store.database.in_one_commit(lambda: jobs(store)) == ["one"]


async def test_what_is_left_for_after_the_commit_waits_for_it(store: SqlStore) -> None:
    told: list[bool] = []

    async def work(*, fail: bool) -> None:
        await add(store, "one")
        store.database.after_commit(lambda: told.append(fail))
        assert told == []
        if fail:
            raise ZeroDivisionError

    with suppress(ZeroDivisionError):
        await store.database.in_one_commit(lambda: work(fail=True))
    assert told == []
    await store.database.in_one_commit(lambda: work(fail=False))
    assert told == [False]
    store.database.after_commit(lambda: told.append(True))
    assert told == [False, True], "at once, where nothing is joined"


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_on_sqlite_a_worker_wakes_up_after_the_commit(store: SqlStore) -> None:
    """PostgreSQL itself tells it with the commit."""
    wakeup = store.endpoints.listen()

    async def work(*, fail: bool) -> None:
        await store.endpoints.add(an_endpoint("due", next_run_at=NEW_YEAR))
        if fail:
            raise ZeroDivisionError

    with suppress(ZeroDivisionError):
        await store.database.in_one_commit(lambda: work(fail=True))
    waiting = asyncio.create_task(wakeup.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    await store.database.in_one_commit(lambda: work(fail=False))
    await asyncio.wait_for(waiting, 30)


async def test_a_task_that_outlives_the_work_has_commits_of_its_own(store: SqlStore) -> None:
    go_on, tasks = asyncio.Event(), []

    async def later() -> None:
        await go_on.wait()
        await add(store, "later")

    async def work() -> None:
        tasks.append(asyncio.create_task(later()))
        await add(store, "one")

    await store.database.in_one_commit(work)
    go_on.set()
    await tasks[0]
    assert await jobs(store) == ["later", "one"]


async def test_other_writers_go_on_while_the_work_has_not_written_yet(store: SqlStore) -> None:
    checked, go_on = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        checked.set()
        await go_on.wait()
        await add(store, "one")

    working = asyncio.create_task(store.database.in_one_commit(work))
    await checked.wait()
    await add(store, "other")
    go_on.set()
    await working
    assert await jobs(store) == ["one", "other"]


async def test_what_is_set_in_the_context_before_the_first_write_can_be_reset_after_it(
    store: SqlStore,
) -> None:
    async def work() -> str:
        before = SET_HERE.set("while it works")
        await add(store, "one")
        seen = SET_HERE.get()
        SET_HERE.reset(before)
        return seen

    assert await store.database.in_one_commit(work) == "while it works"


async def test_who_is_cancelled_before_the_first_write_leaves_nothing(store: SqlStore) -> None:
    waiting = asyncio.Event()

    async def work() -> None:
        waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            SET_HERE.set("")
        await add(store, "one")

    working = asyncio.create_task(store.database.in_one_commit(work))
    await waiting.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert await jobs(store) == []
    await add(store, "two")


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
async def test_on_sqlite_work_that_waits_for_something_else_is_refused(store: SqlStore) -> None:
    """The file has one writer, and everybody else would wait, too."""

    async def work() -> None:
        await add(store, "one")
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="may await its connection and nothing else"):
        await store.database.in_one_commit(work)
    assert await jobs(store) == []
