"""Rates: never more than the window allows, and few draws from the shared counter."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.access import rate_limiter as rates_module
from cadenza.adapters.access.rate_limiter import RequestRateLimiter, SharedRateLimiter, TrialRateLimiter
from cadenza.adapters.stores.memory.access.keys_tenants import MemoryRates
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.domain.scheduling.endpoint import EndpointKey
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


async def test_while_the_counter_cannot_be_written_each_process_counts_for_itself() -> None:
    limiter = RateLimitFixture(600, processes=2)
    assert await limiter.send_requests(7) == 7
    limiter.store.is_away = True
    assert [await limiter.send_requests(500, process=one) for one in (0, 1)] == [100 - 7, 100]
    draws = limiter.store.draws
    limiter.store.is_away = False
    assert await limiter.send_requests(500) == 0
    assert limiter.store.draws == draws, "it is asked again in the next window"
    limiter.clock.jump(10 * SECOND)
    assert sum([await limiter.send_requests(500, process=one) for one in (0, 1)]) == 100


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


async def test_trials_are_counted_for_each_endpoint_and_for_its_tenant_over_all_processes() -> None:
    store, clock = WatchedRates(), FakeClock()
    processes = [TrialRateLimiter(store, clock) for _ in range(2)]
    ours = [EndpointKey("north", f"endpoint-{number}") for number in range(10)]
    tried = [await process.take(ours[0]) for process in processes for _ in range(10)]
    assert tried.count(None) == 5
    assert all(wait is None or 0 < wait <= 10 for wait in tried)
    all_of_tenant = [await process.take(key) for key in ours[1:] for process in processes for _ in range(3)]
    assert tried.count(None) + all_of_tenant.count(None) == 20
    assert await processes[0].take(EndpointKey("south", "endpoint-0")) is None
    clock.jump(10 * SECOND)
    assert await processes[1].take(ours[0]) is None


def a_caller(origin: str, tenant_id: str = "north") -> Caller:
    return Caller(tenant_id, frozenset({Scope.READ}), origin)


async def let_in(limiter: RequestRateLimiter, *callers: Caller) -> int:
    """How many of these requests are let in."""
    return [await limiter.take(caller) for caller in callers].count(None)


async def test_keys_of_a_tenant_share_a_rate_beside_their_own() -> None:
    limiter = RequestRateLimiter(WatchedRates(), FakeClock(), per_minute=60, of_tenant_per_minute=150)
    assert await let_in(limiter, *[a_caller("key:a")] * 20) == 10
    assert await let_in(limiter, *(a_caller(f"key:{number}") for number in range(100))) == 15
    assert await let_in(limiter, *[a_caller("key:z", "south")] * 20) == 10


async def test_a_tenant_may_do_at_least_what_one_key_may() -> None:
    limiter = RequestRateLimiter(WatchedRates(), FakeClock(), per_minute=60, of_tenant_per_minute=6)
    assert await let_in(limiter, *[a_caller("key:a")] * 20) == 10


async def test_without_a_limit_of_tenants_only_keys_are_limited() -> None:
    limiter = RequestRateLimiter(WatchedRates(), FakeClock(), per_minute=60, of_tenant_per_minute=None)
    assert await let_in(limiter, *(a_caller(f"key:{number}") for number in range(100))) == 100


async def test_tenants_do_not_share_the_rate_of_an_origin_that_all_have() -> None:
    limiter = RequestRateLimiter(WatchedRates(), FakeClock(), per_minute=60, of_tenant_per_minute=None)
    assert await let_in(limiter, *[a_caller("dashboard")] * 20) == 10
    assert await let_in(limiter, a_caller("dashboard", "south")) == 1
