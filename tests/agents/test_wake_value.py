"""Tokens under a price: what a wake is worth, and what is done where it is not."""

from datetime import UTC, datetime, timedelta
from math import isclose
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.agent_fixtures import TENANT, AgentFixture
from tests.agents.scripted_agent import ScriptedAgent, reply
from tests.agents.test_probes import URL, Watched

from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.agents.probe import NOT_WORTH
from cadenza.domain.agents.wake_value import (
    Pricing,
    Spending,
    WakeRecord,
    Wakes,
    kind_of_wake,
    wakes_from_note,
)
from cadenza.domain.json_values import FoundValue
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.target import CallableTarget, Probe
from cadenza.ports.agents import Reply

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
OUTCOMES = st.lists(st.tuples(st.booleans(), st.integers(0, 50_000)), max_size=40)


def record(outcomes: Any) -> WakeRecord:
    known = WakeRecord()
    for paid, tokens in outcomes:
        known = known.after(paid=paid, tokens=tokens)
    return known


class TestThePrice:
    @given(st.integers(1, 10**7), st.integers(0, 10**7), st.integers(0, 86_399))
    def test_it_grows_with_what_was_spent_ahead_of_the_day(
        self, budget: int, spent: int, second: int
    ) -> None:
        at = NOON.replace(hour=0) + timedelta(seconds=second)
        now, later, more = (
            Spending(budget, spent, at).price,
            Spending(budget, spent, at + timedelta(seconds=86_399 - second)).price,
            Spending(budget, spent + budget // 10 + 1, at).price,
        )
        assert later <= now <= more
        assert Spending(budget, 0, at).price <= Spending(budget, 1, at).price

    def test_without_a_budget_every_wake_is_worth_it(self) -> None:
        useless = Wakes({"x": record([(False, 50_000)] * 100)})
        assert useless.is_worth("x", Spending(None, 10**9, NOON))

    @given(OUTCOMES)
    def test_while_the_budget_lasts_every_wake_is_worth_it(self, outcomes: Any) -> None:
        assert Wakes({"x": record(outcomes)}).is_worth("x", Spending(100_000, 50_000, NOON))

    @given(OUTCOMES)
    def test_an_answer_makes_the_next_worth_more_and_none_makes_it_worth_less(self, outcomes: Any) -> None:
        known = record(outcomes)
        tokens = round(known.mean_tokens)
        paid, unpaid = (known.after(paid=one, tokens=tokens).value for one in (True, False))
        assert unpaid < paid
        assert known.after(paid=True, tokens=50_000).value <= known.after(paid=True, tokens=10).value

    def test_a_budget_is_spent_where_it_pays_until_the_spending_keeps_its_pace(self) -> None:
        """Two schedules that would each spend the budget twice over; one in ten wakes of the second pays."""
        wakes = {"good": Wakes(), "poor": Wakes()}
        budget, spent, woken = 200_000, 0, {"good": 0, "poor": 0}
        for minute in range(24 * 60):
            at = NOON.replace(hour=0) + timedelta(minutes=minute)
            for name, pays_every in (("good", 1), ("poor", 10)):
                if minute % 7 or not wakes[name].is_worth("x", Spending(budget, spent, at)):
                    continue
                woken[name] += 1
                messages = int(woken[name] % pays_every == 0)
                wakes[name] = wakes[name].after_wake("x", messages=messages, tokens=2_000, would_pass=False)
                spent += 2_000
        assert isclose(spent, budget, rel_tol=0.35)
        assert woken["good"] > 3 * woken["poor"] > 0


class TestWhatIsKept:
    @given(st.dictionaries(st.text(max_size=5), OUTCOMES, max_size=4))
    def test_a_note_comes_back_as_it_was(self, kinds: Any) -> None:
        wakes = Wakes({kind: record(outcomes) for kind, outcomes in kinds.items()}).after_passing("x")
        assert wakes_from_note(wakes.to_note()) == wakes

    @pytest.mark.parametrize("note", [None, 1, {}, {"kinds": []}, {"kinds": {"x": [1]}, "totals": ["a"] * 6}])
    def test_what_cannot_be_read_is_nothing(self, note: Any) -> None:
        assert wakes_from_note(note) == Wakes()

    def test_kinds_are_bounded(self) -> None:
        wakes = Wakes()
        for number in range(100):
            wakes = wakes.after_wake(str(number), messages=1, tokens=1, would_pass=False)
        assert len(wakes.kinds) == 17
        assert wakes.totals.woken == 100

    def test_wakes_are_told_apart_by_what_changed(self) -> None:
        probe = Probe(CallableTarget("stock"), changed=("$.a", "$.b"))
        assert kind_of_wake(probe, {"a": 1, "b": 2}, FoundValue({"a": 0, "b": 0})) == "$.a $.b"
        assert kind_of_wake(probe, {"a": 1, "b": 2}, FoundValue({"a": 1, "b": 0})) == "$.b"
        assert kind_of_wake(Probe(probe.target), 1, FoundValue(2)) == "anything"
        assert kind_of_wake(Probe(probe.target, "true"), 1, None) == "condition"


async def priced(pricing: Pricing, *answers: Reply) -> Watched:
    """A schedule of a user who has spent all but a little of the day's budget by the morning."""
    runtime = ScriptedAgent(*answers)
    agents = await AgentFixture(runtime, pricing=pricing).open()
    limits = Limits(schedule_tokens_per_day=100_000)
    await agents.store.tenants.put_tenant(Tenant(id=TENANT, name=TENANT, limits=limits))
    return await Watched(agents, runtime).open(URL)


SPENT = reply("A long answer.", tokens=97_000)


class TestWhenItIsAsked:
    async def test_what_is_not_worth_its_tokens_stays_new_until_it_is(self) -> None:
        stock = await priced(Pricing.ON, SPENT, reply("Two left.", tokens=10))
        await stock.look(3)
        assert (await stock.look(9)).status is RunStatus.SUCCESS
        for _ in range(2):
            run = await stock.look(2)
            assert (run.status, run.reason, run.verdict) == (RunStatus.SKIPPED, NOT_WORTH, True)
        assert len(stock.told) == 1
        await stock.agents.clock.advance(24 * 3_600_000)
        assert (await stock.look(2)).status is RunStatus.SUCCESS
        assert "2" in stock.told[-1]
        (shown,) = (await stock.agents.ask("list_wakes"))["items"]
        assert (shown["woken"], shown["paid"], shown["tokens"], shown["passed_over"]) == (2, 2, 97_010, 2)
        assert shown["saved_tokens"] > 0
        assert (shown["schedule_id"], shown["user_id"]) == (stock.id, "ada")

    async def test_in_shadow_mode_the_agent_is_woken_and_the_price_is_recorded(self) -> None:
        stock = await priced(Pricing.SHADOW, SPENT, reply("Two left.", tokens=10), reply(tokens=20))
        for items in (3, 9, 2, 1):
            await stock.look(items)
        assert len(stock.told) == 3
        (shown,) = (await stock.agents.ask("list_wakes"))["items"]
        assert (shown["passed_over"], shown["saved_tokens"], shown["lost"]) == (2, 30, 1.0)
        assert (shown["woken"], shown["paid"]) == (3, 2)

    async def test_off_nothing_is_passed_over(self) -> None:
        stock = await priced(Pricing.OFF, SPENT)
        for items in (3, 9, 2):
            await stock.look(items)
        (shown,) = (await stock.agents.ask("list_wakes"))["items"]
        assert (shown["woken"], shown["passed_over"]) == (2, 0)
        assert shown["kinds"][0]["kind"] == "anything"

    async def test_who_was_never_woken_is_not_listed(self) -> None:
        stock = await priced(Pricing.ON)
        await stock.look(3)
        assert (await stock.agents.ask("list_wakes"))["items"] == []
