"""What is unavailable is a detail at first; when it lasts it is one warning, and one line when it is over."""

from cadenza.domain.errors import Unavailable
from cadenza.domain.monitoring.outage import PERSISTS_S
from cadenza.engine.async_helpers import Attempts
from cadenza.testing import FakeClock, FakeLog

SECOND_MS = 1_000


class Store:
    """Away or not."""

    away = True

    async def ask(self) -> None:
        if self.away:
            raise Unavailable("the store is away")


async def fail(attempts: Attempts, clock: FakeClock, store: Store, seconds: int) -> None:
    for _ in range(seconds):
        assert await attempts.try_once(store.ask()) is not store.away
        clock.jump(SECOND_MS)


async def test_a_short_outage_is_for_those_who_look_closely() -> None:
    clock, log, store = FakeClock(), FakeLog(), Store()
    attempts = Attempts("daily-finalizer", clock, log)
    await fail(attempts, clock, store, PERSISTS_S)
    store.away = False
    await fail(attempts, clock, store, 2)
    assert {line.level for line in log.lines} == {"debug"}
    assert len(log.lines) == PERSISTS_S
    assert log.lines[0].facts == {"part": "daily-finalizer", "problem": "the store is away"}


async def test_a_lasting_outage_is_one_warning_that_names_the_part_and_one_line_when_it_is_over() -> None:
    clock, log, store = FakeClock(), FakeLog(), Store()
    attempts = Attempts("daily-finalizer", clock, log)
    for _ in range(2):
        store.away = True
        await fail(attempts, clock, store, 60)
        store.away = False
        await fail(attempts, clock, store, 60)
    told = [line for line in log.lines if line.level != "debug"]
    assert [line.level for line in told] == ["warning", "info"] * 2
    assert {line.facts["part"] for line in told} == {"daily-finalizer"}
    assert told[0].facts["for_s"] == PERSISTS_S
    assert told[1].facts["for_s"] == 60


async def test_a_success_in_between_begins_the_count_anew() -> None:
    clock, log, store = FakeClock(), FakeLog(), Store()
    attempts = Attempts("worker/claim", clock, log)
    for _ in range(10):
        store.away = True
        await fail(attempts, clock, store, PERSISTS_S - 1)
        store.away = False
        await fail(attempts, clock, store, 1)
    assert {line.level for line in log.lines} == {"debug"}
