"""A quota by counters: a limit holds, readings are few, and what runs is not forgotten."""

import asyncio
from collections.abc import Collection, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.worker.worker_fixtures import WorkerFixture

from cadenza.adapters.access import quota as quota_module
from cadenza.adapters.access.quota import CountedQuota
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.memory.access.keys_tenants import MemoryTenants
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.access.tenant import Limits, QuotaUsage, Tenant, next_month
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.run import RunStatus
from cadenza.engine.worker.execute import Executor
from cadenza.ports.access import QuotaKind, QuotaRequest
from cadenza.testing import FakeClock, FakeIds
from cadenza.testing.clock import NEW_YEAR

SECOND = 1_000
MINUTE = 60 * SECOND
DAY = 24 * 60 * MINUTE


class WatchedTenants(MemoryTenants):
    """Remembers which standings were asked for, and can be away."""

    def __init__(self, tables: MemoryTables) -> None:
        super().__init__(tables)
        self.asked: list[set[str]] = []
        self.is_away = False

    async def quota_usage(self, tenant_ids: Collection[str], month: str) -> Mapping[str, QuotaUsage]:
        self.asked.append(set(tenant_ids))
        await asyncio.sleep(0)
        if self.is_away:
            raise Unavailable("The store is away.")
        return await super().quota_usage(tenant_ids, month)


class QuotaFixture:
    """A tenant with limits, and processes that ask for it."""

    def __init__(self) -> None:
        self.store = MemoryStore(FakeIds())
        self.store.tenants = self.tenants = WatchedTenants(self.store.tables)
        self.clock = FakeClock()
        self.quota = CountedQuota(self.store.tenants, self.clock)

    async def limit(self, tenant_id: str = "north", **limits: int) -> None:
        await self.store.tenants.put_tenant(Tenant(id=tenant_id, name=tenant_id, limits=Limits(**limits)))

    async def ask(
        self,
        count: int = 1,
        *,
        tenant_id: str = "north",
        kind: QuotaKind = QuotaKind.AI,
        cost: int = 1,
        quota: CountedQuota | None = None,
    ) -> int:
        """How many of these are allowed."""
        answers = await (quota or self.quota).check([QuotaRequest(kind, tenant_id, cost)] * count)
        return sum(answer.allowed for answer in answers)

    async def spend(self, tokens: int, tenant_id: str = "north") -> None:
        await self.store.tenants.spend_tokens(tenant_id, tokens, self.clock.now())


@pytest.fixture
def quota() -> QuotaFixture:
    return QuotaFixture()


async def test_a_tenant_without_limits_is_allowed_everything(quota: QuotaFixture) -> None:
    assert await quota.ask(1_000, kind=QuotaKind.ENDPOINT) == 1_000
    assert await quota.ask(1_000, kind=QuotaKind.AI, cost=10_000) == 1_000


@pytest.mark.parametrize(
    ("kind", "limits"),
    [
        (QuotaKind.ENDPOINT, Limits(runs_per_month=3)),
        (QuotaKind.AI, Limits(planner_tokens_per_month=3)),
    ],
)
async def test_each_kind_of_spending_has_its_own_limit(
    quota: QuotaFixture, kind: QuotaKind, limits: Limits
) -> None:
    await quota.store.tenants.put_tenant(Tenant(id="north", name="north", limits=limits))
    assert await quota.ask(5, kind=kind) == 3
    (other,) = set(QuotaKind) - {kind}
    assert await quota.ask(5, kind=other) == 5


async def test_what_is_refused_opens_when_the_counters_begin_anew(quota: QuotaFixture) -> None:
    await quota.limit(runs_per_month=0)
    (answer,) = await quota.quota.check([QuotaRequest(QuotaKind.ENDPOINT, "north")])
    assert answer.opens_at == next_month(NEW_YEAR) == NEW_YEAR.replace(month=2)


async def test_answers_come_in_the_order_of_the_requests(quota: QuotaFixture) -> None:
    await quota.limit("north", planner_tokens_per_month=1)
    await quota.limit("south", planner_tokens_per_month=0)
    wished = [QuotaRequest(QuotaKind.AI, tenant_id) for tenant_id in ("south", "north", "free", "north")]
    assert [answer.allowed for answer in await quota.quota.check(wished)] == [False, True, True, False]


async def test_nothing_asked_is_nothing_answered(quota: QuotaFixture) -> None:
    assert await quota.quota.check([]) == []
    assert quota.tenants.asked == []


async def test_a_cost_that_does_not_fit_is_refused_and_costs_nothing(quota: QuotaFixture) -> None:
    await quota.limit(planner_tokens_per_month=10)
    assert await quota.ask(cost=11) == 0
    assert await quota.ask(cost=10) == 1


async def test_what_was_spent_before_counts(quota: QuotaFixture) -> None:
    await quota.limit(planner_tokens_per_month=10)
    await quota.spend(8)
    assert await quota.ask(5) == 2


async def test_a_new_month_begins_anew(quota: QuotaFixture) -> None:
    await quota.limit(planner_tokens_per_month=2)
    quota.clock.jump(31 * DAY - 100)
    assert await quota.ask(3) == 2
    await quota.spend(2)
    quota.clock.jump(100)
    assert await quota.ask(3) == 2


async def test_a_tenant_with_a_limit_is_read_once_a_second(quota: QuotaFixture) -> None:
    await quota.limit(planner_tokens_per_month=1_000)
    for _ in range(100):
        await quota.ask()
        quota.clock.jump(SECOND / 50)
    assert len(quota.tenants.asked) == 2


async def test_a_tenant_without_a_limit_is_read_every_ten_seconds(quota: QuotaFixture) -> None:
    await quota.limit(endpoints=5)
    for _ in range(100):
        await quota.ask()
        quota.clock.jump(SECOND / 5)
    assert len(quota.tenants.asked) == 2


async def test_one_reading_serves_all_tenants_that_need_a_fresh_look(quota: QuotaFixture) -> None:
    await quota.limit("north", runs_per_month=5)
    both = [QuotaRequest(QuotaKind.AI, tenant_id) for tenant_id in ("north", "free", "north")]
    await quota.quota.check(both)
    quota.clock.jump(SECOND)
    await quota.quota.check([*both, QuotaRequest(QuotaKind.AI, "new")])
    assert quota.tenants.asked == [{"north", "free"}, {"north", "new"}]


async def test_a_changed_limit_is_seen_at_the_next_reading(quota: QuotaFixture) -> None:
    await quota.limit(planner_tokens_per_month=0)
    assert await quota.ask() == 0
    await quota.limit(planner_tokens_per_month=1)
    quota.clock.jump(SECOND)
    assert await quota.ask(2) == 1


async def test_a_clock_that_was_set_back_makes_no_old_reading_fresh(quota: QuotaFixture) -> None:
    await quota.limit(planner_tokens_per_month=5)
    await quota.ask()
    quota.clock.jump(-60 * MINUTE)
    await quota.ask()
    assert len(quota.tenants.asked) == 2


async def test_what_is_not_counted_yet_counts_across_readings(quota: QuotaFixture) -> None:
    """A run is counted when it ends, and it may take longer than a second."""
    await quota.limit(planner_tokens_per_month=10)
    assert await quota.ask(6) == 6
    quota.clock.jump(5 * SECOND)
    await quota.spend(2)
    assert await quota.ask(10) == 4
    quota.clock.jump(30 * SECOND)
    await quota.spend(8)
    quota.clock.jump(SECOND)
    assert await quota.ask(10) == 0


async def test_what_never_came_is_allowed_again_after_two_minutes(quota: QuotaFixture) -> None:
    await quota.limit(planner_tokens_per_month=10)
    assert await quota.ask(10) == 10
    quota.clock.jump(MINUTE)
    assert await quota.ask(10) == 0
    quota.clock.jump(MINUTE)
    assert await quota.ask(10) == 10


async def test_a_month_of_quiet_leaves_nothing_on_top(quota: QuotaFixture) -> None:
    await quota.limit(planner_tokens_per_month=10)
    await quota.ask(10)
    quota.clock.jump(10 * MINUTE)
    assert await quota.ask(20) == 10


@given(
    limit=st.integers(0, 30),
    steps=st.lists(
        st.tuples(st.integers(1, 8), st.integers(0, 8), st.integers(0, 2 * SECOND)), min_size=1, max_size=25
    ),
)
async def test_one_process_alone_spends_its_limit_exactly(
    limit: int, steps: list[tuple[int, int, int]]
) -> None:
    """Whatever is asked, however long it runs, and whenever it ends."""
    quota = QuotaFixture()
    await quota.limit(planner_tokens_per_month=limit)
    asked = allowed = running = 0
    for wished, ended, passed in steps:
        got = await quota.ask(wished)
        asked, allowed, running = asked + wished, allowed + got, running + got
        await quota.spend(min(ended, running))
        running -= min(ended, running)
        quota.clock.jump(passed)
        assert allowed == min(asked, limit)


async def test_another_process_is_seen_within_a_second(quota: QuotaFixture) -> None:
    await quota.limit(planner_tokens_per_month=10)
    other = CountedQuota(quota.store.tenants, quota.clock)
    assert await quota.ask(2) + await quota.ask(6, quota=other) == 8
    await quota.spend(8)
    quota.clock.jump(SECOND)
    assert await quota.ask(10) + await quota.ask(10, quota=other) <= 4
    assert await quota.ask(10) == 0


async def test_checks_at_the_same_time_share_one_reading_and_one_limit(quota: QuotaFixture) -> None:
    await quota.limit(planner_tokens_per_month=10)
    assert sum(await asyncio.gather(*(quota.ask(3) for _ in range(8)))) == 10
    assert len(quota.tenants.asked) == 1


async def test_a_store_that_is_away_is_said_to_be_and_nothing_is_charged(quota: QuotaFixture) -> None:
    await quota.limit(planner_tokens_per_month=3)
    quota.tenants.is_away = True
    with pytest.raises(Unavailable):
        await quota.ask(3)
    quota.tenants.is_away = False
    assert await quota.ask(3) == 3


async def test_what_was_read_lately_does_for_a_short_absence(quota: QuotaFixture) -> None:
    await quota.ask()
    quota.tenants.is_away = True
    quota.clock.jump(9 * SECOND)
    assert await quota.ask() == 1


async def test_only_so_many_tenants_are_remembered(
    quota: QuotaFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota_module, "TENANTS", 2)
    for tenant_id in ("a", "b", "a", "c", "a", "b"):
        await quota.ask(tenant_id=tenant_id)
    assert quota.tenants.asked == [{"a"}, {"b"}, {"c"}, {"b"}]
    many = [QuotaRequest(QuotaKind.AI, f"{number}") for number in range(5)]
    assert all(answer.allowed for answer in await quota.quota.check(many))


async def test_an_endpoint_beyond_its_limit_is_skipped_until_next_month() -> None:
    fixture = WorkerFixture()
    tenants = fixture.store.port.tenants
    await tenants.put_tenant(Tenant(id="default", name="default", limits=Limits(runs_per_month=2)))
    await fixture.add()
    executor = Executor(
        dispatcher=fixture.dispatcher, quota=CountedQuota(tenants, fixture.clock), clock=fixture.clock
    )
    worker = fixture.loop(executor=executor)
    for _ in range(4):
        await worker.run_once()
        await fixture.clock.sleep(MINUTE)
    assert [run.status for run in await fixture.runs()] == ["success", "success", RunStatus.SKIPPED]
    assert (await fixture.endpoint()).next_run_at == NEW_YEAR.replace(month=2)
