"""The thread that works on a file: in order, to the end, and for callers that still wait."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.worker_thread import WorkerThread


async def test_work_is_done_in_order_in_one_thread() -> None:
    thread = WorkerThread("worker")
    done: list[tuple[int, str]] = []

    def work(number: int) -> int:
        done.append((number, threading.current_thread().name))
        return number * 2

    assert await asyncio.gather(*(thread.run(partial(work, n)) for n in range(50))) == [
        n * 2 for n in range(50)
    ]
    assert done == [(n, "worker") for n in range(50)]
    thread.stop()


async def test_what_work_raises_reaches_its_caller() -> None:
    thread = WorkerThread("worker")

    def fail() -> None:
        raise KeyError("no")

    with pytest.raises(KeyError):
        await thread.run(fail)
    assert await thread.run(lambda: "goes on") == "goes on"
    thread.stop()


async def test_work_of_a_cancelled_caller_is_not_begun() -> None:
    thread, gate = WorkerThread("worker"), threading.Event()
    done: list[str] = []
    first = asyncio.create_task(thread.run(gate.wait))
    second = asyncio.create_task(thread.run(lambda: done.append("second")))
    third = asyncio.create_task(thread.run(lambda: done.append("third")))
    await asyncio.sleep(0.05)
    second.cancel()
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(first, third)
    assert done == ["third"]
    thread.stop()


async def test_stopping_waits_for_what_was_asked_for() -> None:
    thread = WorkerThread("worker")
    done: list[int] = []
    asked = [asyncio.create_task(thread.run(partial(done.append, n))) for n in range(20)]
    await asyncio.sleep(0)
    thread.stop()
    assert done == list(range(20))
    await asyncio.gather(*asked)
    assert await thread.run(lambda: "again") == "again"
    thread.stop()


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[SqliteFile]:
    file = SqliteFile(tmp_path / "file.db")
    await file.write(lambda connection: connection.execute("CREATE TABLE words (word TEXT)"))
    yield file
    await file.close()


def words(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT word FROM words")]


def add(connection: sqlite3.Connection, word: str) -> None:
    connection.execute("INSERT INTO words VALUES (?)", (word,))


async def test_an_inline_read_sees_what_was_written_before(file: SqliteFile) -> None:
    for word in ("one", "two"):
        await file.write(partial(add, word=word))
        assert (await file.read_inline(words))[-1] == word


async def test_an_inline_read_does_not_wait_for_a_lock_in_the_loop(file: SqliteFile) -> None:
    """With the file locked, it goes to the thread; the loop goes on meanwhile."""
    assert await file.read_inline(words) == []
    threads: list[str] = []

    def noted(connection: sqlite3.Connection) -> list[str]:
        threads.append(threading.current_thread().name)
        return words(connection)

    with closing(sqlite3.connect(file.path, isolation_level=None)) as other:
        await file.close()
        other.execute("PRAGMA journal_mode = DELETE")
        fresh = SqliteFile(file.path)
        fresh._inline = sqlite3.connect(file.path, timeout=0, check_same_thread=False)
        fresh._reading = sqlite3.connect(file.path, timeout=10, check_same_thread=False)
        other.execute("BEGIN EXCLUSIVE")
        reading = asyncio.create_task(fresh.read_inline(noted))
        await asyncio.sleep(0.1)
        assert not reading.done()
        other.execute("COMMIT")
        assert await reading == []
        await fresh.close()
    assert threads == [threading.main_thread().name, "cadenza-sqlite-reader"]
