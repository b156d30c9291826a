"""Endpoints that keep failing, and that are well again: told once each, also if their worker dies."""

from collections.abc import Awaitable, Callable, Sequence

import pytest
from tests.monitoring.alert_fixtures import FAILURE, FAILURES, SUCCESS, AlertFixture

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.memory.monitoring.conditions import MemoryConditions
from cadenza.adapters.stores.memory.scheduling.endpoints import MemoryEndpoints
from cadenza.domain.monitoring.condition import Condition, ConditionKey
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.run import Claim, Completion, Outcome
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.scheduling import Settle
from cadenza.testing import FakeIds, an_endpoint

TRAFFIC = an_endpoint("traffic")
FAILED = "Endpoint traffic has 3 consecutive failures: answered 500"
WELL = "Endpoint traffic recovered after {} consecutive failures."


class Crash(BaseException):
    """The process is gone."""


class Mortal(MemoryEndpoints):
    """Endpoints whose caller dies as soon as so many batches are settled."""

    batches: int | None = None

    async def finalize(self, completions: Sequence[Completion], settle: Settle) -> list[SettledRun | None]:
        answers = await super().finalize(completions, settle)
        if self.batches is not None:
            self.batches -= 1
            if self.batches == 0:
                raise Crash
        return answers


class ConditionsReadSlowly(MemoryConditions):
    """Conditions that are read while something else happens."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def open_conditions(self, *, after: ConditionKey | None, limit: int) -> list[Condition]:
        found = await super().open_conditions(after=after, limit=limit)
        if self.meanwhile is not None:
            await self.meanwhile()
        return found


@pytest.fixture
async def store() -> MemoryStore:
    store = MemoryStore(FakeIds())
    await store.endpoints.add(TRAFFIC)
    return store


async def test_the_third_failure_in_a_row_is_told_once_and_so_is_the_recovery(store: MemoryStore) -> None:
    fixture = AlertFixture(store)
    async with fixture.running():
        await fixture.fares(*[FAILURE] * 7, SUCCESS, SUCCESS)
        assert fixture.texts == [FAILED, WELL.format(7)]
    (failed, well) = fixture.sender.alerts
    assert (failed.facts["failures"], failed.facts["error"]) == (FAILURES, "answered 500")
    assert (well.facts["tenant_id"], well.facts["endpoint_id"]) == TRAFFIC.key


async def test_it_is_sent_at_once_and_not_only_when_somebody_looks_again(store: MemoryStore) -> None:
    fixture = AlertFixture(store)
    async with fixture.running():
        await fixture.fares(FAILURE, FAILURE)
        fixture.dispatcher.fails("traffic")
        await fixture.worker.run_once()
        await fixture.clock.advance(0)
        assert len(fixture.texts) == 1


async def test_a_recovery_of_what_nobody_was_told_is_not_told(store: MemoryStore) -> None:
    fixture = AlertFixture(store)
    async with fixture.running():
        await fixture.fares(FAILURE, FAILURE, SUCCESS)
        assert fixture.sender.sent == []


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [([FAILURE] * 3, [FAILED]), ([FAILURE] * 4 + [SUCCESS], [FAILED, WELL.format(4)])],
    ids=["at the third failure", "at the recovery"],
)
async def test_a_worker_that_dies_as_its_run_is_settled_takes_no_alert_with_it(
    store: MemoryStore, outcomes: list[Outcome], told: list[str]
) -> None:
    store.endpoints = mortal = Mortal(store.tables)
    first, second = AlertFixture(store), AlertFixture(store)
    mortal.batches = len(outcomes)
    async with first.running():
        with pytest.raises(Crash):
            await first.fares(*outcomes)
        before = first.texts
    second.clock.jump(3_600_000)
    async with second.running():
        await second.clock.advance(0)
        assert (before, [*before, *second.texts]) == (told[:-1], told)


async def test_a_failure_that_was_reset_in_mid_run_is_closed_without_a_recovery(store: MemoryStore) -> None:
    fixture = AlertFixture(store)

    async def reset(_: Claim) -> Outcome:
        await store.endpoints.amend(
            TRAFFIC.key, lambda endpoint: ChangedEndpoint(evolve(endpoint, failure_count=0))
        )
        return SUCCESS

    async with fixture.running():
        await fixture.fares(*[FAILURE] * 3)
        fixture.dispatcher.on("traffic", reset)
        await fixture.worker.run_once()
        await fixture.clock.advance(60_000)
        why = "No longer an alert: the endpoint has no consecutive failures."
        assert fixture.texts == [FAILED, f"{why} It was: {FAILED}"]


async def test_an_endpoint_that_recovers_while_conditions_are_looked_through_is_told_as_recovered(
    store: MemoryStore,
) -> None:
    store.conditions = conditions = ConditionsReadSlowly(store.tables)
    fixture = AlertFixture(store)
    async with fixture.running():
        await fixture.fares(*[FAILURE] * 3)
        fixture.dispatcher.on("traffic", lambda _: SUCCESS)
        conditions.meanwhile = fixture.worker.run_once
        await fixture.clock.advance(60_000)
        assert fixture.texts == [FAILED, WELL.format(3)]


async def test_without_a_sender_it_is_shown_and_never_sent_later(store: MemoryStore) -> None:
    fixture, later = AlertFixture(store, sends=False), AlertFixture(store)
    async with fixture.running():
        await fixture.fares(*[FAILURE] * 3)
    assert [alert.text for alert in await store.alerts.newest_alerts(TRAFFIC.tenant_id, 10)] == [FAILED]
    later.clock.jump(3_600_000)
    async with later.running():
        await later.clock.advance(0)
        assert later.sender.sent == []
