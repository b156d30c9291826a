"""Rates: never more than the window allows, and few draws from the shared counter."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.access import rate_limiter as rates_module
from cadenza.adapters.access.rate_limiter import SharedRateLimiter
from cadenza.adapters.stores.memory.access import MemoryRates
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.testing import FakeClock, FakeIds

SECOND = 1_000


class WatchedRates(MemoryRates):
    """Counts the draws, and can be away."""

    def __init__(self) -> None:
        super().__init__(MemoryTables(ids=FakeIds()))
        self.draws = 0
        self.is_away = False

    async def draw(self, subject: str, *, window: int, amount: int) -> int:
        self.draws += 1
        await asyncio.sleep(0)
        if self.is_away:
            raise Unavailable("The store is away.")
        return await super().draw(subject, window=window, amount=amount)


class RateLimitFixture:
    """A store, a clock, and processes that let callers in."""

    def __init__(self, per_minute: int = 600, *, processes: int = 1) -> None:
        self.store = WatchedRates()
        self.clock = FakeClock()
        self.rates = [
            SharedRateLimiter(self.store, self.clock, per_minute=per_minute) for _ in range(processes)
        ]

    async def send_requests(self, times: int = 1, *, subject: str = "caller", process: int = 0) -> int:
        """How many of these are let in."""
        taken = [await self.rates[process].take(subject) for _ in range(times)]
        return taken.count(None)


async def test_a_window_lets_in_a_sixth_of_a_minute() -> None:
    limiter = RateLimitFixture(600)
    assert await limiter.send_requests(500) == 100


async def test_what_does_not_divide_is_rounded_down() -> None:
    limiter = RateLimitFixture(6 * 7 + 5)
    assert await limiter.send_requests(20) == 7


async def test_whoever_is_refused_is_told_when_the_next_window_begins() -> None:
    limiter = RateLimitFixture(6)
    limiter.clock.jump(2.5 * SECOND)
    assert await limiter.rates[0].take("caller") is None
    assert await limiter.rates[0].take("caller") == pytest.approx(7.5)


async def test_whoever_comes_back_then_is_let_in() -> None:
    limiter = RateLimitFixture(6)
    for _ in range(5):
        assert await limiter.rates[0].take("caller") is None
        wait = await limiter.rates[0].take("caller")
        assert wait is not None
        limiter.clock.jump(wait * SECOND)


async def test_subjects_do_not_pay_for_each_other() -> None:
    limiter = RateLimitFixture(60)
    assert await limiter.send_requests(20, subject="greedy") == 10
    assert await limiter.send_requests(10, subject="modest") == 10


async def test_most_requests_touch_no_database() -> None:
    limiter = RateLimitFixture(600)
    await limiter.send_requests(500)
    assert limiter.store.draws == 20


async def test_a_small_allowance_is_drawn_one_by_one() -> None:
    limiter = RateLimitFixture(30, processes=2)
    await limiter.send_requests(1, process=0)
    assert await limiter.send_requests(10, process=1) == 4


async def test_processes_share_one_allowance() -> None:
    limiter = RateLimitFixture(600, processes=3)
    let_in = [await limiter.send_requests(process=number % 3) for number in range(600)]
    assert sum(let_in) == 100


async def test_requests_at_the_same_time_share_a_draw() -> None:
    limiter = RateLimitFixture(600)
    taken = await asyncio.gather(*(limiter.rates[0].take("caller") for _ in range(500)))
    assert taken.count(None) == 100
    assert limiter.store.draws == 20


@given(
    per_minute=st.integers(6, 900),
    knocks=st.lists(st.tuples(st.integers(0, 2), st.integers(1, 60), st.integers(0, 4_000)), max_size=30),
)
async def test_no_window_ever_lets_in_more_than_it_may(
    per_minute: int, knocks: list[tuple[int, int, int]]
) -> None:
    limiter = RateLimitFixture(per_minute, processes=3)
    let_in: dict[int, int] = {}
    for process, times, passed in knocks:
        window = int(limiter.clock.now().timestamp()) // 10
        let_in[window] = let_in.get(window, 0) + await limiter.send_requests(times, process=process)
        limiter.clock.jump(passed)
    assert all(count <= per_minute / 6 for count in let_in.values())


async def test_what_was_drawn_in_one_window_is_not_spent_in_the_next() -> None:
    limiter = RateLimitFixture(600)
    await limiter.send_requests(1)
    limiter.clock.jump(10 * SECOND)
    assert await limiter.send_requests(500) == 100


async def test_a_clock_that_was_set_back_opens_no_new_window() -> None:
    limiter = RateLimitFixture(60)
    await limiter.send_requests(10)
    limiter.clock.jump(10 * SECOND)
    await limiter.send_requests(10)
    limiter.clock.jump(-10 * SECOND)
    assert await limiter.send_requests(10) == 0


async def test_a_store_that_is_away_is_said_to_be() -> None:
    limiter = RateLimitFixture(60)
    limiter.store.is_away = True
    with pytest.raises(Unavailable):
        await limiter.send_requests()
    limiter.store.is_away = False
    assert await limiter.send_requests(20) == 10


async def test_only_so_many_subjects_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rates_module, "SUBJECTS", 2)
    limiter = RateLimitFixture(600)
    for subject in ("a", "b", "a", "c", "a", "b"):
        await limiter.send_requests(subject=subject)
    assert limiter.store.draws == 4


async def test_a_subject_that_was_forgotten_gets_no_more_than_its_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rates_module, "SUBJECTS", 1)
    limiter = RateLimitFixture(600)
    let_in = 0
    for _ in range(200):
        let_in += await limiter.send_requests(subject="greedy")
        await limiter.send_requests(subject="other")
    assert 0 < let_in <= 100


@pytest.mark.parametrize("per_minute", [5, 0, -1])
def test_a_rate_that_no_window_can_keep_is_refused(per_minute: int) -> None:
    with pytest.raises(InvalidRequest, match="per_minute must be a whole number from 6"):
        RateLimitFixture(per_minute)
