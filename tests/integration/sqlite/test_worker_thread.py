"""The thread that works on a file: in order, to the end, and for those who wait."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.worker_thread import Hand


async def test_work_is_done_in_order_in_one_thread() -> None:
    hand = Hand("hand")
    done: list[tuple[int, str]] = []

    def work(number: int) -> int:
        done.append((number, threading.current_thread().name))
        return number * 2

    assert await asyncio.gather(*(hand.do(partial(work, n)) for n in range(50))) == [n * 2 for n in range(50)]
    assert done == [(n, "hand") for n in range(50)]
    hand.stop()


async def test_what_work_raises_reaches_whoever_waits() -> None:
    hand = Hand("hand")

    def fail() -> None:
        raise KeyError("no")

    with pytest.raises(KeyError):
        await hand.do(fail)
    assert await hand.do(lambda: "goes on") == "goes on"
    hand.stop()


async def test_work_that_nobody_waits_for_is_not_begun() -> None:
    hand, gate = Hand("hand"), threading.Event()
    done: list[str] = []
    first = asyncio.create_task(hand.do(gate.wait))
    second = asyncio.create_task(hand.do(lambda: done.append("second")))
    third = asyncio.create_task(hand.do(lambda: done.append("third")))
    await asyncio.sleep(0.05)
    second.cancel()
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(first, third)
    assert done == ["third"]
    hand.stop()


async def test_stopping_waits_for_what_was_asked_for() -> None:
    hand = Hand("hand")
    done: list[int] = []
    asked = [asyncio.create_task(hand.do(partial(done.append, n))) for n in range(20)]
    await asyncio.sleep(0)
    hand.stop()
    assert done == list(range(20))
    await asyncio.gather(*asked)
    assert await hand.do(lambda: "again") == "again"
    hand.stop()


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


async def test_a_look_sees_what_was_written_before(file: SqliteFile) -> None:
    for word in ("one", "two"):
        await file.write(partial(add, word=word))
        assert (await file.look(words))[-1] == word


async def test_a_look_does_not_wait_for_a_lock_in_the_loop(file: SqliteFile) -> None:
    """With the file locked, it goes to the thread; the loop goes on meanwhile."""
    assert await file.look(words) == []
    threads: list[str] = []

    def noted(connection: sqlite3.Connection) -> list[str]:
        threads.append(threading.current_thread().name)
        return words(connection)

    with closing(sqlite3.connect(file.path, isolation_level=None)) as other:
        await file.close()
        other.execute("PRAGMA journal_mode = DELETE")
        fresh = SqliteFile(file.path)
        fresh._looking = sqlite3.connect(file.path, timeout=0, check_same_thread=False)
        fresh._reading = sqlite3.connect(file.path, timeout=10, check_same_thread=False)
        other.execute("BEGIN EXCLUSIVE")
        looking = asyncio.create_task(fresh.look(noted))
        await asyncio.sleep(0.1)
        assert not looking.done()
        other.execute("COMMIT")
        assert await looking == []
        await fresh.close()
    assert threads == [threading.main_thread().name, "cadenza-sqlite-reader"]
