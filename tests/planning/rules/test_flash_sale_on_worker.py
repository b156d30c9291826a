"""The flash sale under its rules file on the real worker, over real HTTP, told by one play of it."""

import asyncio
from datetime import timedelta
from itertools import pairwise
from typing import NamedTuple

import pytest
from tests.planning.rules.flash_sale_on_worker import StoredHistory, play_for_real
from tests.planning.rules.test_flash_sale import events

from cadenza.sim.catalogue import run_product
from cadenza.sim.flash_sale.scenario import flash_sale
from cadenza.sim.recording import Recording
from cadenza.sim.world import START

TURN = timedelta(minutes=1)
"""What falls within a minute of the simulation may come in another order where time does not stand still."""
ALERTS = ("slack_operations", "slack_customer_support", "emergency_oncall_page")
COOLDOWN_S = {
    "cache_warm_up": 600,
    "scale_checkout_workers": 900,
    "slack_operations": 600,
    "slack_customer_support": 900,
    "emergency_oncall_page": 7_200,
}


class Play(NamedTuple):
    """What was really played, and the simulation to hold it against."""

    told: dict[str, StoredHistory]
    simulated: Recording

    def asked(self, name: str) -> list[str]:
        """What was asked of an endpoint."""
        return [word for _, (_, word) in events(name, self.told[name].hints)]

    def moments(self, name: str, word: str) -> list[float]:
        """When it was asked of it, in seconds."""
        asked = events(name, self.told[name].hints)
        return [(at - START).total_seconds() for at, (_, said) in asked if said == word]

    def analyses_with(self, words: str) -> list[float]:
        """When the rules about the traffic said so, in seconds."""
        reports = reversed(self.told["traffic_monitor"].analyses)
        return [(one.began_at - START).total_seconds() for one in reports if words in one.reasoning]


@pytest.fixture(scope="module")
def sale(tmp_path_factory: pytest.TempPathFactory) -> Play:
    async def both() -> Play:
        return Play(await play_for_real(tmp_path_factory.mktemp("sale")), await run_product(flash_sale()))

    return asyncio.run(both())


def test_health_endpoints_tighten_and_relax(sale: Play) -> None:
    assert sale.asked("traffic_monitor") == ["every 30000", "every 20000", "every 60000"]
    assert sale.asked("order_processor_health") == ["every 300000", "every 120000"]
    assert sale.asked("inventory_sync_check") == ["every 60000", "every 30000", "every 180000"]
    (surge,), (critical,), (calm,) = (
        sale.moments("traffic_monitor", f"every {seconds}000") for seconds in (30, 20, 60)
    )
    assert 300 <= surge < 400
    assert 780 <= critical < 880
    assert 1260 <= calm < 1360


@pytest.mark.parametrize("name", ["slow_page_analyzer", "database_query_trace"])
def test_a_paused_investigator_is_woken_and_put_to_rest(sale: Play, name: str) -> None:
    (woken,), (rested,) = sale.moments(name, "wake"), sale.moments(name, "pause")
    assert 540 <= woken < 640
    assert 1260 <= rested < 1360


@pytest.mark.parametrize("name", COOLDOWN_S)
def test_an_action_fires_once_for_each_waking_keeps_its_cooldown_and_rests(sale: Play, name: str) -> None:
    assert sale.asked(name) == ["wake", "pause"] * sale.simulated.count(name)
    assert len(sale.told[name].runs) == len(sale.moments(name, "wake"))
    fired = sale.analyses_with(f": wake of {name}.")
    assert len(fired) == len(sale.moments(name, "wake"))
    assert all(later - earlier >= COOLDOWN_S[name] for earlier, later in pairwise(fired))


def test_alerts_escalate_in_order(sale: Play) -> None:
    operations, support, oncall = (sale.moments(name, "wake")[0] for name in ALERTS)
    assert operations < support <= oncall
    first, second, third = (min(run.slot for run in sale.told[name].runs) for name in ALERTS)
    assert first < second <= third


def test_one_turn_of_the_story_comes_after_the_other_as_in_the_simulation(sale: Play) -> None:
    turns = []
    for name, hints in sale.simulated.history.hints.items():
        both = zip(events(name, hints), events(name, sale.told[name].hints), strict=True)
        for (at, expected), (really_at, said) in both:
            assert said == expected
            turns.append((really_at, (at - START) // TURN))
    in_reality = [turn for _, turn in sorted(turns)]
    assert in_reality == sorted(in_reality)


def test_every_endpoint_runs_as_often_as_in_the_simulation_within_a_tenth(sale: Play) -> None:
    counts = {name: len(told.runs) for name, told in sale.told.items()}
    expected = sale.simulated.counts()
    assert {name for name in counts if abs(counts[name] - expected[name]) > expected[name] / 10} == set(), (
        counts
    )


def test_every_step_is_on_record_with_its_rule_as_the_reason(sale: Play) -> None:
    hints = [hint for told in sale.told.values() for hint in told.hints]
    assert {hint.origin for hint in hints} == {f"rule:{hint.reason}" for hint in hints}
    assert {hint.not_applied for hint in hints} == {None}
    assert {hint.reason for hint in sale.told["cache_warm_up"].hints} == {"pages load slowly", "rest-1-cache"}
    reports = "\n".join(one.reasoning for one in sale.told["traffic_monitor"].analyses)
    assert "pages load slowly: wake of cache_warm_up." in reports
