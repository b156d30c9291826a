"""The event loop of simulations: time jumps, the order is the seed's, and processes die and stand still."""

import asyncio
from functools import partial
from typing import Any

import pytest

from cadenza.testing.simulated_process import SimulatedProcess
from cadenza.testing.virtual_time import Stalled, VirtualTimeLoop


def run(main: Any, seed: int = 0) -> Any:
    with asyncio.Runner(loop_factory=partial(VirtualTimeLoop, seed=seed)) as runner:
        return runner.run(main)


def test_time_jumps_to_the_next_timer() -> None:
    async def main() -> float:
        await asyncio.sleep(86_400)
        return asyncio.get_running_loop().time()

    assert run(main()) == 86_400


def test_timeouts_come_at_their_virtual_moment() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.sleep(3_600)
        return asyncio.get_running_loop().time()

    assert run(main()) == 5


def test_work_for_a_thread_is_done_at_once() -> None:
    async def main() -> int:
        return await asyncio.to_thread(lambda: 7)

    assert run(main()) == 7


def test_what_can_never_go_on_is_told() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    loop = VirtualTimeLoop()
    with pytest.raises(Stalled, match="no timer"):
        loop.run_until_complete(main())
    loop.close()


def test_what_never_waits_is_told() -> None:
    async def main() -> None:
        while True:  # noqa: ASYNC110 - that is what is told
            await asyncio.sleep(0)

    loop = VirtualTimeLoop()
    with pytest.raises(Stalled, match="without waiting"):
        loop.run_until_complete(main())
    loop.close()


def order_of_processes(seed: int) -> list[str]:
    seen: list[str] = []

    async def work(process: SimulatedProcess) -> None:
        for _ in range(5):
            seen.append(process.name)
            await asyncio.sleep(1)

    loop = VirtualTimeLoop(seed)
    for name in "abc":
        loop.start_process(name, work)
    loop.run_until_complete(asyncio.sleep(10))
    loop.close()
    return seen


def test_the_seed_decides_the_order_between_processes() -> None:
    assert order_of_processes(1) == order_of_processes(1)
    assert len({tuple(order_of_processes(seed)) for seed in range(10)}) > 5


@pytest.mark.parametrize("dies_at", [1, 2, 3])
def test_a_process_dies_at_an_await_and_cleans_nothing_up(dies_at: int) -> None:
    steps: list[object] = []

    async def work(_: SimulatedProcess) -> None:
        try:
            for number in range(10):
                steps.append(number)
                await asyncio.sleep(1)
        finally:
            steps.append("cleaned up")

    loop = VirtualTimeLoop()
    process = loop.start_process("worker", work)
    process.dies_at = 2 * dies_at - 1
    loop.run_until_complete(asyncio.sleep(60))
    assert steps == list(range(dies_at))
    assert not process.alive
    loop.close()


def test_a_process_that_stands_still_goes_on_where_it_was() -> None:
    seen: list[float] = []

    async def work(_: SimulatedProcess) -> None:
        while True:
            await asyncio.sleep(1)
            seen.append(asyncio.get_running_loop().time())

    async def main() -> None:
        process = loop.start_process("worker", work)
        await asyncio.sleep(2.5)
        process.freeze()
        await asyncio.sleep(10)
        process.thaw()
        await asyncio.sleep(1.5)

    loop = VirtualTimeLoop()
    loop.run_until_complete(main())
    loop.close()
    assert seen == [1, 2, 12.5, 13.5]


def test_what_is_closed_with_it_cannot_wait_again() -> None:
    refused: list[str] = []

    async def work(_: SimulatedProcess) -> None:
        try:
            await asyncio.sleep(3_600)
        finally:
            try:
                await asyncio.gather(asyncio.sleep(1))
            except RuntimeError as problem:
                refused.append(str(problem))

    loop = VirtualTimeLoop()
    loop.start_process("worker", work)
    loop.run_until_complete(asyncio.sleep(1))
    loop.close()
    assert refused == ["Event loop is closed"]
