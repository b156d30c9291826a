"""Reads by key in the thread of the event loop: what they share, what they see, and what they remember."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.snapshot import MOST_REMEMBERED, Rows, SharedSnapshot

WORDS = "SELECT word FROM words"


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[SqliteFile]:
    file = SqliteFile(tmp_path / "file.db")
    await file.write(lambda connection: connection.execute("CREATE TABLE words (word TEXT)"))
    yield file
    await file.close()


@pytest.fixture
def other(file: SqliteFile) -> Iterator[sqlite3.Connection]:
    """A connection of another process."""
    with closing(sqlite3.connect(file.path, isolation_level=None)) as other:
        yield other


def add(connection: sqlite3.Connection, word: str) -> None:
    connection.execute("INSERT INTO words VALUES (?)", (word,))


def as_rows(rows: Rows) -> Rows:
    return rows


async def words(file: SqliteFile) -> list[str]:
    return [word for (word,) in await file.read_by_key(WORDS, (), as_rows)]


async def test_a_read_sees_what_was_written_before(file: SqliteFile) -> None:
    for word in ("one", "two"):
        await file.write(partial(add, word=word))
        assert (await words(file))[-1] == word


async def test_reads_of_one_iteration_of_the_loop_share_a_transaction(
    file: SqliteFile, other: sqlite3.Connection
) -> None:
    assert await words(file) == []
    await asyncio.sleep(0)
    assert await words(file) == []
    add(other, "one")
    assert await file.read_by_key(f"{WORDS} ORDER BY word", (), as_rows) == []
    await asyncio.sleep(0)
    assert await words(file) == ["one"]


async def test_a_task_that_was_made_ready_after_a_commit_of_another_process_sees_it(
    file: SqliteFile, other: sqlite3.Connection
) -> None:
    assert await words(file) == []
    ready = [asyncio.create_task(words(file))]
    add(other, "one")
    ready.append(asyncio.create_task(words(file)))
    assert (await asyncio.gather(*ready))[1] == ["one"]


async def test_a_commit_of_this_process_begins_a_new_transaction_at_once(
    file: SqliteFile, other: sqlite3.Connection
) -> None:
    with closing(file.connect(busy_ms=0)) as connection:
        snapshot = SharedSnapshot(connection)
        assert snapshot.read(WORDS, (), as_rows) == []
        add(other, "one")
        snapshot.commits += 1
        assert snapshot.read(WORDS, (), as_rows) == [("one",)]
        snapshot.close()


def test_a_transaction_does_not_outlast_its_event_loop(tmp_path: Path) -> None:
    path = tmp_path / "file.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("CREATE TABLE words (word TEXT)")
        file = SqliteFile(path)
        assert asyncio.run(words(file)) == []
        add(other, "one")
        assert asyncio.run(words(file)) == ["one"]
        asyncio.run(file.close())


async def test_what_was_read_is_remembered_until_anybody_commits(
    file: SqliteFile, other: sqlite3.Connection
) -> None:
    first = await file.read_by_key(WORDS, (), as_rows)
    version = await file.data_version()
    await asyncio.sleep(0)
    assert await file.read_by_key(WORDS, (), as_rows) is first
    add(other, "one")
    await asyncio.sleep(0)
    assert await file.read_by_key(WORDS, (), as_rows) == [("one",)]
    assert await file.data_version() != version


async def test_what_was_made_of_rows_is_remembered_for_each_way_of_making_it(file: SqliteFile) -> None:
    await file.write(partial(add, word="one"))
    assert await file.read_by_key(WORDS, (), len) == 1
    assert await file.read_by_key(WORDS, (), as_rows) == [("one",)]
    await file.write(partial(add, word="two"))
    assert await file.read_by_key(WORDS, (), len) == 2


async def test_only_a_few_answers_are_remembered(file: SqliteFile) -> None:
    first = await file.read_by_key("SELECT ?", (0,), as_rows)
    for number in range(1, MOST_REMEMBERED + 1):
        await file.read_by_key("SELECT ?", (number,), as_rows)
    assert await file.read_by_key("SELECT ?", (0,), as_rows) is not first


async def test_tasks_that_read_first_at_the_same_time_share_one_connection(file: SqliteFile) -> None:
    await asyncio.gather(*(words(file) for _ in range(3)))
    first = await file.read_by_key(WORDS, (), as_rows)
    assert await file.read_by_key(WORDS, (), as_rows) is first


async def test_closing_the_file_ends_a_transaction_that_is_open(tmp_path: Path) -> None:
    problems: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, problem: problems.append(problem))
    file = SqliteFile(tmp_path / "file.db")
    assert await file.read_by_key("SELECT 1", (), as_rows) == [(1,)]
    await file.close()
    await asyncio.sleep(0)
    assert problems == []


async def test_a_read_does_not_wait_for_a_lock_in_the_loop(
    file: SqliteFile, other: sqlite3.Connection
) -> None:
    """With the file locked, it goes to the thread; the loop goes on meanwhile."""
    await file.close()
    other.execute("PRAGMA journal_mode = DELETE")
    fresh = SqliteFile(file.path)
    fresh._snapshot = SharedSnapshot(sqlite3.connect(file.path, timeout=0, isolation_level=None))
    fresh._reading = sqlite3.connect(file.path, timeout=10, check_same_thread=False)
    other.execute("BEGIN EXCLUSIVE")
    reading = asyncio.create_task(words(fresh))
    await asyncio.sleep(0.1)
    assert not reading.done()
    other.execute("COMMIT")
    assert await reading == []
    assert await words(fresh) == []
    await fresh.close()
