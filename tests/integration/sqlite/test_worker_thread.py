"""The thread that works on a file: in order, to the end, and for callers that still wait."""

import asyncio
import threading
from functools import partial

import pytest

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
